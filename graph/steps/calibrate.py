"""A/A calibration: the best is read against itself, to learn what one reading should be and what can be told apart."""

from __future__ import annotations

from math import isfinite

import numpy as np

from ...acceptance.calibration import MIN_PAIRS, SameReadings, calibrate
from ...acceptance.sequential import log_ratio
from ...events.tree import NoiseCalibrated, TreeRefused
from ...hardware.outcome import Outcome
from ..step import Step
from ..workbench import Workbench
from .compare import LONGEST_READING_SECONDS, MOST_CALLS, read_pairs

CALLS = (1, 4, MOST_CALLS)
"""Numbers of calls that a reading may consist of."""
KINDS = 3
"""How many of them are tried, the longest that fit."""
TRIES = 3
"""After so many refused calibrations the device cannot tell, and the kernel is left as it is."""


def kinds_of_reading(call_seconds: float, least: int = 1) -> tuple[int, ...]:
    """The numbers of calls to try for a kernel that takes ``call_seconds``, none below ``least``.

    The first call of a reading is a cold one. Were a reading to have fewer calls than those that the best was accepted by,
    designs would be compared by something else than what made it the best.
    """
    able = [calls for calls in CALLS if calls >= least] or list(CALLS[-1:])
    fitting = [calls for calls in able if calls * call_seconds <= LONGEST_READING_SECONDS]
    return tuple(fitting[-KINDS:]) or tuple(able[:1])


def calibrate_noise(wb: Workbench, step: Step) -> str:
    """Read the best against itself in several ways, and choose what a reading is."""
    view, tree = wb.view.trees[step.kernel], wb.trees[step.kernel]
    best = view.best or ""
    seconds = view.seconds_of.get(best) or _first_seconds(wb, step, best)
    readings: list[SameReadings] = []
    evidence: list[str] = []
    before = view.noise.calls if view.noise is not None and not view.noise.refused else 1
    for index, calls in enumerate(kinds_of_reading(seconds, before)):
        turn = step.turn * len(CALLS) + index + 1
        taken = read_pairs(wb, step, "calibrate", best, best, MIN_PAIRS, turn, calls=calls)
        evidence.append(tree.latest_evidence)
        if taken.outcome is not Outcome.OK:
            return taken.outcome
        differences = tuple(log_ratio(pair.best_seconds, pair.candidate_seconds) for pair in taken.pairs)
        readings.append(SameReadings(calls, differences, taken.device_seconds))
        seconds = float(np.median([pair.best_seconds for pair in taken.pairs]))
    with wb.timed("values"):
        found = calibrate(wb.policy, readings, np.random.default_rng(wb.secret("calibrate", step.kernel, step.turn)))
    tree.note(
        wb.context,
        NoiseCalibrated,
        design=best,
        seconds=seconds,
        calls=found.calls_per_reading,
        scale=found.scale,
        minimum_effect=found.minimum_detectable_effect if isfinite(found.minimum_detectable_effect) else None,
        refused=found.refused,
        reason=found.reason,
        evidence=tuple(evidence),
    )
    if found.refused and view.refused_calibrations + 1 >= TRIES:
        tree.note(wb.context, TreeRefused, reason=f"the device cannot tell two designs apart: {found.reason}")
    return "refused" if found.refused else "ok"


def _first_seconds(wb: Workbench, step: Step, best: str) -> float:
    """How long one call of a design takes that has not been read before."""
    taken = read_pairs(wb, step, "calibrate", best, best, 1, step.turn * len(CALLS), calls=1)
    if not taken.pairs:
        return LONGEST_READING_SECONDS
    return taken.pairs[0].best_seconds
