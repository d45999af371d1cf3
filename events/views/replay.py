"""What-if: every recorded comparison decided again under another policy, from the recorded pairs alone.

Exact up to the first decision that flips. From there on the run would have gone another way: what it recorded is still
decided again, and each statement says what it rests on. Nothing is written, and nothing is read but the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import ceil, exp, fsum, log
from typing import Any

from ...acceptance.policy import Policy
from ..base import Event
from ..log import EventLog
from ..tree import (
    DesignAccepted,
    DesignChecked,
    DesignJudged,
    DesignProposed,
    DesignRestored,
    DesignRevoked,
    PairsRead,
    TreeUpgraded,
)
from .decisions import claimed, decision, screened
from .load import history
from .run import RunView
from .tree import DECIDING, DesignView, TreeView

EXACT = "exact"
OFF_POLICY = "off-policy: best differs"
CALIBRATION_KEYS = ("detect_gain", "detect_power", "calibration_e", "max_detectable_gain")
"""Thresholds that decide what a reading is; another value would have asked for other readings."""
READING_KEYS = ("probe_pairs", "pairs_per_process")
"""Thresholds that decide how readings are taken; recorded ones are used as they are."""


@dataclass
class Statement:
    """One recorded decision beside what the other policy makes of it."""

    kernel: str
    design: str
    kind: str
    """``screen``, ``verdict`` or ``open`` (a comparison that the log ends in the middle of)."""
    against: str
    recorded: str
    replayed: str
    label: str
    basis: str
    pairs: int
    """Recorded pairs that the replayed decision used."""
    event: str
    """Reference of the last event before the step of the recorded decision: where to fork from."""

    @property
    def flips(self) -> bool:
        """Whether the other policy decides otherwise."""
        return self.recorded != self.replayed


@dataclass
class Replay:
    """What would have followed, for one kernel."""

    kernel: str
    best: str = ""
    """The best under the other policy, as far as it is known."""
    unsure: list[str] = field(default_factory=list)
    """Designs that the other policy has not decided on the recorded pairs."""
    statements: list[Statement] = field(default_factory=list)
    lineage: list[dict[str, Any]] = field(default_factory=list)
    comparisons: list[dict[str, Any]] = field(default_factory=list)
    anew: bool = False
    """Whether a toolchain changed while the other policy had another best: from there on the recorded one is taken."""
    saved_seconds: float = 0.0
    needed_seconds: float = 0.0


def replay_run(log: EventLog, run: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """Decide a recorded run again, each decision under its recorded policy with ``overrides`` (``key=value``) applied.

    Returns JSON-ready data: ``flips`` (``[{design, recorded, replayed, basis, ...}]``), the statements behind them, the
    lineage and claimed gain per kernel, device seconds saved and needed, and the comparisons to run. Raises PolicyError
    for a bad override, UnknownRunError.
    """
    view = RunView()
    replays: dict[str, _TreeReplay] = {}
    last_ref = ""
    for recorded in history(log, run):
        event = recorded.event
        tree = view.tree_of(event.originator_id)
        if tree is not None:
            if tree.kernel not in replays:
                replays[tree.kernel] = _TreeReplay(tree, overrides)
            replays[tree.kernel].before(event, view.policy, last_ref)
        view.apply(recorded)
        if tree is not None and isinstance(event, TreeUpgraded | DesignRestored):
            replays[tree.kernel].upgrade()
        if view.in_flight is None:
            last_ref = event.ref
    for state in replays.values():
        state.finish(view.policy, last_ref)
    found = [state.result for state in replays.values()]
    statements = [statement for each in found for statement in each.statements]
    return {
        "run": run,
        "overrides": list(overrides),
        "decisions": len(statements),
        "flips": [asdict(statement) for statement in statements if statement.flips],
        "statements": [asdict(statement) for statement in statements],
        "kernels": [_kernel(each) for each in found],
        "comparisons": [comparison for each in found for comparison in each.comparisons],
        "device_seconds_saved": fsum(each.saved_seconds for each in found),
        "device_seconds_needed": fsum(each.needed_seconds for each in found),
        "notes": _notes(overrides),
    }


def sweep(log: EventLog, run: str, overrides: Sequence[str], key: str, values: Sequence[str]) -> list[dict[str, Any]]:
    """:func:`replay_run` for each value of one threshold."""
    return [{"value": value, **replay_run(log, run, [*overrides, f"{key}={value}"])} for value in values]


class _TreeReplay:
    """Follows the events of one kernel's tree, each before it is folded into the recorded view."""

    def __init__(self, tree: TreeView, overrides: Sequence[str]) -> None:
        self._tree = tree
        self._overrides = overrides
        self._decided: dict[str, str] = {}
        """What the other policy makes of each design: its last verdict."""
        self.result = Replay(tree.kernel)

    def before(self, event: Event, thresholds: dict[str, Any], last_ref: str) -> None:
        """Take in the next recorded event, which was decided on what the view holds now, under ``thresholds``."""
        match event:
            case DesignProposed(kind="baseline"):
                self.result.best = event.design
            case DesignChecked(check="screen"):
                self._screen(event, self._policy(thresholds), last_ref)
            case DesignJudged(verdict="held"):
                pass  # no readings, so nothing that another policy could decide
            case DesignJudged():
                self._judge(event, self._policy(event.thresholds), last_ref)
            case DesignAccepted():
                self._claim(event.design, self._policy(thresholds))
            case DesignRevoked():
                self._revoke(event.design)
            case _:
                pass

    def upgrade(self) -> None:
        """Another toolchain: every comparison begins anew, from what the log says still stands."""
        standing = {accepted.design for accepted in self._tree.lineage}
        result = self.result
        if result.unsure or result.best != self._tree.best:
            result.anew = True
        result.lineage = [each for each in result.lineage if each["design"] in standing]
        result.best, result.unsure = self._tree.best or "", []
        self._decided.clear()

    def finish(self, thresholds: dict[str, Any], last_ref: str) -> None:
        """Decide the comparison that the log ends in the middle of, if it does."""
        for name in self._tree.unsettled:
            design = self._tree.designs[name]
            readings = [reading for reading in design.readings if reading.purpose in DECIDING]
            if not readings or not design.passed("screen") or design.verdict is not None:
                continue
            recorded = decision(Policy.from_mapping(thresholds), readings).verdict
            self._state("open", design, readings, recorded, self._policy(thresholds), last_ref)

    def _policy(self, thresholds: dict[str, Any]) -> Policy:
        return Policy.from_mapping(thresholds).with_overrides(self._overrides)

    def _screen(self, event: DesignChecked, policy: Policy, last_ref: str) -> None:
        design = self._tree.designs[event.design]
        looks = [reading for reading in design.readings if reading.purpose == "screen"]
        if not looks or not looks[-1].orders:
            return
        floor = self._tree.floor.seconds if self._tree.floor is not None else None
        found = screened(policy, looks[-1], floor)
        if found.outcome == "ok" and event.outcome != "ok":
            # It would have gone on to a comparison, which has these few pairs so far.
            self._state("screen", design, looks, event.outcome, policy, last_ref)
            return
        pairs = len(looks[-1].orders)
        self._add(
            "screen",
            design.id,
            looks[-1].best,
            event.outcome,
            found.outcome,
            found.reason or "within bounds",
            pairs,
            last_ref,
        )
        if found.outcome != "ok":
            self._decided[design.id] = found.outcome

    def _judge(self, event: DesignJudged, policy: Policy, last_ref: str) -> None:
        design = self._tree.designs[event.design]
        named = set(event.evidence)
        readings = [reading for reading in design.readings if reading.ref in named]
        if self._decided.get(design.id) in ("too-slow", "suspect"):
            # The other policy had dropped it by then: all that was read for it since is saved.
            spent = [reading for reading in readings if reading.purpose != "screen"]
            self.result.saved_seconds += fsum(reading.device_seconds for reading in spent)
            return
        if Policy.from_mapping(event.thresholds).digest != event.policy:
            basis = "decided by another rule than this version's; not decided again"
            self._add("verdict", design.id, event.against, event.verdict, event.verdict, basis, event.pairs, last_ref)
            self._decided[design.id] = event.verdict
            return
        taken = max(1, ceil(event.pairs / Policy.from_mapping(event.thresholds).pair_cap))
        self._state("verdict", design, readings, event.verdict, policy, last_ref, times=taken, used=event.pairs)

    def _state(
        self,
        kind: str,
        design: DesignView,
        readings: list[PairsRead],
        recorded: str,
        policy: Policy,
        last_ref: str,
        *,
        times: int = 1,
        used: int | None = None,
    ) -> None:
        """Decide a comparison from its recorded pairs; ``times`` is how often it had been taken up, ``used`` how
        many pairs the recorded decision used (readings come several at a time, so there may be more).
        """
        cap = times * policy.pair_cap
        made = decision(policy, readings, cap=cap)
        against = readings[-1].best
        pairs = sum(len(reading.orders) for reading in readings)
        per_pair = fsum(reading.device_seconds for reading in readings) / max(1, pairs)
        if made.verdict == "continue" and recorded != "continue":
            missing = cap - pairs
            replayed, label = "needs pairs", f"needs {missing} more pairs"
            basis = f"{made.reason}; at most {missing} more pairs decide it"
            self._compare(design.id, against, missing, per_pair, "decide")
        else:
            replayed, label, basis = made.verdict, EXACT, made.reason
            self.result.saved_seconds += max(0, (pairs if used is None else used) - made.pairs) * per_pair
        self._add(kind, design.id, against, recorded, replayed, basis, made.pairs, last_ref, label)
        self._decided[design.id] = replayed
        if replayed == "needs pairs":
            self.result.unsure.append(design.id)
        if replayed == "accepted" and recorded != "accepted":
            self._take(design.id, against, None, label=f"needs {policy.confirm_pairs} more pairs")
            self._compare(design.id, against, policy.confirm_pairs, per_pair, "confirm")
        elif recorded == "accepted" and replayed != "accepted":
            confirming = [r for r in design.readings if r.purpose == "confirm" and r.best == against]
            self.result.saved_seconds += fsum(reading.device_seconds for reading in confirming)

    def _claim(self, name: str, policy: Policy) -> None:
        """A recorded acceptance: the gain from its fresh pairs, if the other policy accepts the design too."""
        design = self._tree.designs[name]
        if self._decided.get(name) != "accepted":
            return
        readings = [reading for reading in design.readings if reading.purpose == "confirm"]
        pairs = sum(len(reading.orders) for reading in readings)
        gain = claimed(policy, readings)
        over = readings[-1].best
        missing = policy.confirm_pairs - pairs
        if missing > 0:
            per_pair = fsum(reading.device_seconds for reading in readings) / max(1, pairs)
            self._compare(name, over, missing, per_pair, "confirm")
        self._take(
            name, over, (gain.ratio, gain.low, gain.high), f"needs {missing} more pairs" if missing > 0 else EXACT
        )

    def _take(self, name: str, over: str, gain: tuple[float, float, float] | None, label: str) -> None:
        """The design becomes the best under the other policy."""
        result = self.result
        if self._off(over):
            label, gain = OFF_POLICY, None
        low, high = (gain[1], gain[2]) if gain is not None else (None, None)
        ratio = gain[0] if gain is not None else None
        result.lineage.append(
            {"design": name, "over": result.best, "gain": ratio, "gain_low": low, "gain_high": high, "label": label}
        )
        result.best = name

    def _revoke(self, name: str) -> None:
        """What was found wrong is wrong under any policy."""
        result = self.result
        result.lineage = [each for each in result.lineage if each["design"] != name]
        if result.best == name:
            result.best = result.lineage[-1]["design"] if result.lineage else self._tree.baseline or ""

    def _off(self, against: str) -> bool:
        """Whether the other policy would have compared with another design than ``against``, or may have."""
        return against != self.result.best or bool(self.result.unsure)

    def _add(
        self,
        kind: str,
        name: str,
        against: str,
        recorded: str,
        replayed: str,
        basis: str,
        pairs: int,
        last_ref: str,
        label: str = EXACT,
    ) -> None:
        result = self.result
        if self._off(against):
            label = OFF_POLICY
            why = f"the best would be {result.best}" if against != result.best else f"{result.unsure[0]} is open"
            basis = f"{basis} (against {against}; under this policy {why})"
            if against != result.best and kind != "screen":
                self._compare(name, result.best, 0, 0.0, "decide")
        result.statements.append(
            Statement(result.kernel, name, kind, against, recorded, replayed, label, basis, pairs, last_ref)
        )

    def _compare(self, name: str, against: str, pairs: int, per_pair: float, purpose: str) -> None:
        """Note a comparison to run; ``pairs`` is 0 where it has none yet and the policy will say when to stop."""
        self.result.needed_seconds += pairs * per_pair
        self.result.comparisons.append(
            {
                "kernel": self.result.kernel,
                "design": name,
                "against": against,
                "purpose": purpose,
                "pairs": pairs or None,
                "device_seconds": pairs * per_pair if pairs else None,
            }
        )


def _kernel(result: Replay) -> dict[str, Any]:
    """The lineage of one kernel, and the product of its gains where all are known."""
    gains = [each["gain"] for each in result.lineage]
    whole = all(gain is not None for gain in gains)
    return {
        "kernel": result.kernel,
        "best": result.best,
        "lineage": result.lineage,
        "claimed_gain": exp(fsum(log(gain) for gain in gains)) if whole else None,
        "undecided_here": result.unsure,
        "taken_up_anew": result.anew,
    }


def _notes(overrides: Sequence[str]) -> list[str]:
    """What the replay takes as recorded although the policy would have it otherwise."""
    keys = {override.partition("=")[0].strip() for override in overrides}
    notes = []
    if keys & set(CALIBRATION_KEYS):
        names = ", ".join(sorted(keys & set(CALIBRATION_KEYS)))
        notes.append(f"{names}: calibrations are taken as recorded; another one would have to be read")
    if keys & set(READING_KEYS):
        names = ", ".join(sorted(keys & set(READING_KEYS)))
        notes.append(f"{names}: recorded readings are used as they were taken")
    return notes
