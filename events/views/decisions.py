"""The decisions of the loop as functions of what was recorded: the live run, the audit and the replay all decide here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from ...acceptance.estimate import Gain, hodges_lehmann
from ...acceptance.policy import Policy
from ...acceptance.screens import plainly_slower, suspicion
from ...acceptance.sequential import Decision, decide, log_ratio
from ..tree import PairsRead


@dataclass(frozen=True)
class Screened:
    """What the short look at the device found: ``ok``, ``too-slow`` or ``suspect``."""

    outcome: str
    reason: str = ""


def differences(readings: Sequence[PairsRead]) -> list[float]:
    """Log ratios log(best / candidate) of all complete pairs, in order."""
    return [
        log_ratio(best, candidate)
        for reading in readings
        for best, candidate in zip(reading.best_seconds, reading.candidate_seconds, strict=True)
    ]


def decision(policy: Policy, readings: Sequence[PairsRead], *, cap: int | None = None) -> Decision:
    """What a policy makes of the deciding pairs of one comparison, each with the scale in force when it was read."""
    scales = [reading.scale for reading in readings for _ in reading.orders]
    return decide(policy, scales, differences(readings), cap=cap)


def screened(policy: Policy, reading: PairsRead, floor_seconds: float | None) -> Screened:
    """Whether the pairs of the short look drop a design (plainly slower) or hold it (too good to be true)."""
    best_seconds, candidate_seconds = reading.best_seconds, reading.candidate_seconds
    ratios = differences([reading])
    found = suspicion(policy, min(best_seconds), max(candidate_seconds), floor_seconds)
    if plainly_slower(policy, ratios):
        least = exp(-max(ratios))
        return Screened("too-slow", f"{least:.2f}x the time of {reading.best} or more in each of {len(ratios)} pairs")
    return Screened("ok") if found is None else Screened("suspect", found)


def claimed(policy: Policy, readings: Sequence[PairsRead]) -> Gain:
    """The gain that is claimed from fresh pairs."""
    return hodges_lehmann(differences(readings), policy.confidence)
