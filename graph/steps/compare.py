"""Readings of a candidate and the best in pairs, and the decisions that follow from them alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ...acceptance.sequential import log_ratio
from ...events.tree import PairsRead, Purpose
from ...events.views.decisions import claimed, comparison, screened
from ...events.views.tree import DECIDING, TreeView
from ...hardware.outcome import Outcome
from ...hardware.target import Pairs, TargetError
from ..step import Step
from ..workbench import SessionKey, Workbench
from .estimate import drops, hold
from .floor import measure_floor

LONGEST_READING_SECONDS = 0.05
"""A reading of many calls of a slow design would only cost device time: long readings are quiet by themselves."""
MOST_CALLS = 16
LOOKS_PER_STEP = 2
"""How often the test looks within one step, before what was read is saved."""
UNLIMITED_JUMP = 1e9
PAIRS_PER_LOOK = 5
"""Pairs taken in one step. The test looks after each of them; fewer would spend the time on handing over."""


def most_calls(view: TreeView, *designs: str) -> int:
    """How many calls fit into a reading of the slower of two designs, as far as they have been read: at least one."""
    slowest = max((view.seconds_of.get(design, 0.0) for design in designs), default=0.0)
    return max(1, int(LONGEST_READING_SECONDS / slowest)) if slowest else MOST_CALLS


def read_pairs(
    wb: Workbench,
    step: Step,
    purpose: Purpose,
    best: str,
    candidate: str,
    pairs: int,
    turn: int,
    *,
    calls: int | None = None,
) -> Pairs:
    """Take pairs in random order and record them. ``turn`` counts readings of this kind for the order and the session;
    ``calls`` is how many calls make a reading, as calibrated unless given. Raises TargetError when the device is gone.
    """
    noise = wb.view.trees[step.kernel].noise
    scale = noise.scale if noise is not None else 0.0
    calls = calls or min(
        noise.calls if noise is not None else 1, most_calls(wb.view.trees[step.kernel], best, candidate)
    )
    key = SessionKey(
        step.kernel, best, candidate, purpose if purpose in ("confirm", "anchor", "calibrate") else "decide"
    )
    coins = np.random.default_rng(wb.secret("orders", purpose, step.kernel, best, candidate, turn))
    orders: list[Literal["BC", "CB"]] = ["BC" if coin else "CB" for coin in coins.integers(0, 2, pairs)]
    session = wb.session(key)
    with wb.timed("device"):
        taken = session.read(orders, calls, wb.policy.pairs_per_process)
    if taken.outcome is Outcome.NO_DEVICE:
        raise TargetError(f"the device gave no reading: {taken.reason}")
    record_pairs(wb, step, purpose, best, candidate, calls, scale, turn, taken)
    return taken


def record_pairs(
    wb: Workbench,
    step: Step,
    purpose: Purpose,
    best: str,
    candidate: str,
    calls: int,
    scale: float,
    turn: int,
    taken: Pairs,
) -> None:
    """Record what was read, complete pairs only, with the artifacts that were loaded."""
    wb.trees[step.kernel].read(
        wb.context,
        purpose=purpose,
        best=best,
        candidate=candidate,
        best_artifact=wb.build(step.kernel, best).artifact or "",
        candidate_artifact=wb.build(step.kernel, candidate).artifact or "",
        calls=calls,
        scale=scale,
        turn=turn,
        orders=tuple(pair.order for pair in taken.pairs),
        best_seconds=tuple(pair.best_seconds for pair in taken.pairs),
        candidate_seconds=tuple(pair.candidate_seconds for pair in taken.pairs),
        outcome=taken.outcome,
        reason=taken.reason,
        blamed=taken.blamed,
        device_seconds=taken.device_seconds,
    )
    if taken.outcome is not Outcome.OK:
        wb.close_session()
        _blame(wb, step, best, candidate, taken)


def _blame(wb: Workbench, step: Step, best: str, candidate: str, taken: Pairs) -> None:
    """A design that failed in a timed call is out; if it was the best, its acceptance is taken back."""
    tree, view = wb.trees[step.kernel], wb.view.trees[step.kernel]
    failed = best if taken.blamed == "best" else candidate
    reason = f"in a timed call: {taken.reason}"
    if taken.blamed == "best" and best == view.baseline:
        raise TargetError(f"the baseline of {step.kernel} failed {reason}")
    tree.check(wb.context, design=failed, check="timed", outcome=taken.outcome, reason=reason, seconds=0.0, details={})
    if view.designs[failed].accepted is not None:
        tree.revoke(wb.context, failed, reason)


def screen(wb: Workbench, step: Step) -> str:
    """A short look at the device: drop what is plainly slower, hold what is faster than the floor allows."""
    view = wb.view.trees[step.kernel]
    best = view.best or ""
    if drops(wb, step):
        return Outcome.TOO_SLOW
    taken = read_pairs(wb, step, "screen", best, step.design, wb.policy.probe_pairs, 0)
    if taken.outcome is not Outcome.OK:
        return taken.outcome
    recorded = wb.trees[step.kernel].pending[-1]
    assert isinstance(recorded, PairsRead)
    # A best of another toolchain has explained its jump there; any other design has to explain it here.
    known_jump = any(each.why == "confirm" for each in view.designs[step.design].reopened)
    policy = replace(wb.policy, suspect_jump=UNLIMITED_JUMP) if known_jump else wb.policy
    floor = view.floor.seconds if view.floor is not None else None
    found = screened(policy, recorded, floor)
    if found.outcome == Outcome.SUSPECT and floor is not None and max(recorded.candidate_seconds) < floor:
        # The machine may be less busy than when the floor was measured: a floor of now says whether it still is too fast.
        found = screened(policy, recorded, measure_floor(wb, step.kernel))
    outcome, reason = Outcome(found.outcome), found.reason
    wb.trees[step.kernel].check(
        wb.context,
        design=step.design,
        check="screen",
        outcome=outcome,
        reason=reason,
        seconds=taken.device_seconds,
        details={"pairs": len(taken.pairs), **({"known_jump": 1} if known_jump else {})},
    )
    return outcome


def compare(wb: Workbench, step: Step) -> str:
    """Take the next pairs of a comparison: a few, and as many again when they have not decided it."""
    view = wb.view.trees[step.kernel]
    best, design = view.best or "", view.designs[step.design]
    so_far = comparison(wb.policy, design, best).copy()
    scale = view.noise.scale if view.noise is not None else 0.0
    for look in range(LOOKS_PER_STEP):
        pairs = max(1, min(PAIRS_PER_LOOK, wb.policy.pair_cap - so_far.pairs))
        taken = read_pairs(wb, step, "decide", best, step.design, pairs, step.turn + look)
        if taken.outcome is not Outcome.OK:
            return taken.outcome
        for pair in taken.pairs:
            if so_far.verdict == "continue":
                so_far.add(log_ratio(pair.best_seconds, pair.candidate_seconds), scale)
        if so_far.verdict != "continue":
            break
    return Outcome.OK


def judge(wb: Workbench, step: Step) -> str:
    """Apply the policy to the recorded pairs."""
    if not wb.view.device:
        return hold(wb, step)
    view = wb.view.trees[step.kernel]
    best, design = view.best or "", view.designs[step.design]
    assert view.noise is not None, "calibrated before any comparison"
    made = comparison(wb.policy, design, best).decision()
    verdict = "undecided" if made.verdict == "continue" else made.verdict
    wb.trees[step.kernel].judge(
        wb.context,
        design=step.design,
        against=best,
        verdict=verdict,
        outcome=Outcome.OK,
        reason=made.reason,
        pairs=made.pairs,
        e_accept=made.e_accept[-1] if made.e_accept else 1.0,
        e_futile=made.e_futile[-1] if made.e_futile else 1.0,
        scale=view.noise.scale,
        policy=wb.policy.digest,
        thresholds=wb.policy.as_dict(),
        evidence=tuple(reading.ref for reading in design.evidence(DECIDING, best)),
    )
    return verdict


def confirm(wb: Workbench, step: Step) -> str:
    """Read fresh pairs, in fresh processes, that took no part in the decision."""
    best = wb.view.trees[step.kernel].best or ""
    return read_pairs(wb, step, "confirm", best, step.design, wb.policy.confirm_pairs, step.turn).outcome


def accept(wb: Workbench, step: Step) -> str:
    """Make the design the best, with the gain of the fresh pairs."""
    view = wb.view.trees[step.kernel]
    best, design = view.best or "", view.designs[step.design]
    gain = claimed(wb.policy, design.evidence(("confirm",), best))
    wb.trees[step.kernel].accept(
        wb.context,
        design=step.design,
        over=best,
        gain=gain.ratio,
        gain_low=gain.low,
        gain_high=gain.high,
        confidence=gain.confidence,
        evidence=tuple(reading.ref for reading in design.evidence(("confirm",), best)),
    )
    return "ok"
