"""The decisions of the loop as functions of what was recorded: the live run, the audit and the replay all decide here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from ...acceptance.estimate import Gain, hodges_lehmann
from ...acceptance.policy import Policy
from ...acceptance.screens import plainly_slower, suspicion
from ...acceptance.sequential import Decision, Sequential, decide, log_ratio
from ..tree import PairsRead
from .design import DECIDING, DesignView


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


def comparison(policy: Policy, design: DesignView, best: str) -> Sequential:
    """The comparison of a design with a best as it stands by its recorded pairs: its decision is :func:`decision` of them.

    It is kept with the design and fed only what is new. Whoever adds pairs that are not recorded yet takes a copy.
    """
    readings = design.evidence(DECIDING, best)
    running = design.running
    if running is None or not running.goes_on(policy, readings):
        running = design.running = Running(policy, readings[0].scale if readings else 1.0)
    for reading in readings[len(running.taken) :]:
        running.take(reading)
    return running.sequential


class Running:
    """A comparison with the readings that it was fed."""

    def __init__(self, policy: Policy, scale: float) -> None:
        self.policy = policy
        self.sequential = Sequential(policy, scale)
        self.taken: list[PairsRead] = []

    def goes_on(self, policy: Policy, readings: Sequence[PairsRead]) -> bool:
        """Whether ``readings`` are those that were fed, and perhaps more, under the same policy."""
        taken = len(self.taken)
        same = all(a is b for a, b in zip(self.taken, readings, strict=False))
        return policy == self.policy and taken <= len(readings) and same

    def take(self, reading: PairsRead) -> None:
        """Feed one reading; pairs after the verdict play no part."""
        self.taken.append(reading)
        for difference in differences([reading]):
            if self.sequential.verdict != "continue":
                return
            self.sequential.add(difference, reading.scale)


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
