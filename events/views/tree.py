"""The Design Tree of one kernel in one run, folded from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...acceptance.sequential import log_ratio
from ..base import Event
from ..tree import (
    AnchorCompared,
    DesignAccepted,
    DesignChecked,
    DesignJudged,
    DesignProposed,
    DesignRevoked,
    FloorMeasured,
    NoiseCalibrated,
    PairsRead,
    SearchExhausted,
    TreeRefused,
    TreeStarted,
)

DECIDING = ("screen", "decide")
"""What a verdict rests on: the short probe's pairs open the comparison. Confirming pairs never take part."""


@dataclass
class DesignView:
    """All that is known of one design."""

    proposed: DesignProposed
    ref: str
    checks: list[DesignChecked] = field(default_factory=list)
    readings: list[PairsRead] = field(default_factory=list)
    verdict: DesignJudged | None = None
    accepted: DesignAccepted | None = None
    revoked: DesignRevoked | None = None
    artifact: str | None = None

    @property
    def id(self) -> str:
        """The design's name in its tree, such as ``d0007``."""
        return self.proposed.design

    @property
    def failed(self) -> DesignChecked | None:
        """The check that screened it out, if one did; a recheck after acceptance screens nothing out."""
        return next((c for c in self.checks if c.outcome != "ok" and c.check != "recheck"), None)

    @property
    def outcome(self) -> str:
        """The outcome that ended it, or ``ok``."""
        if self.failed is not None:
            return self.failed.outcome
        return "ok"

    @property
    def open(self) -> bool:
        """Whether something remains to be done with it before it is decided."""
        if self.failed is not None or self.accepted is not None:
            return False
        if self.proposed.kind == "baseline":
            return not self.passed("oracle")
        return self.verdict is None or self.verdict.verdict == "accepted"

    def passed(self, check: str) -> bool:
        """Whether it passed the check."""
        return any(c.check == check and c.outcome == "ok" for c in self.checks)

    def differences(self, purposes: tuple[str, ...], against: str) -> list[float]:
        """Log ratios log(best / candidate) of all complete pairs read for ``purposes`` against a best, in order."""
        return [
            log_ratio(b, c)
            for r in self.evidence(purposes, against)
            for b, c in zip(r.best_seconds, r.candidate_seconds, strict=True)
        ]

    def scales(self, purposes: tuple[str, ...], against: str) -> list[float]:
        """The calibrated scale in force when each of those pairs was read."""
        return [r.scale for r in self.evidence(purposes, against) for _ in r.orders]

    def evidence(self, purposes: tuple[str, ...], against: str) -> list[PairsRead]:
        """The readings taken for ``purposes`` against a best, in order."""
        return [r for r in self.readings if r.purpose in purposes and r.best == against]


@dataclass
class TreeView:
    """The state of one kernel's search."""

    kernel: str = ""
    started: TreeStarted | None = None
    refused: str | None = None
    designs: dict[str, DesignView] = field(default_factory=dict)
    baseline: str | None = None
    best: str | None = None
    lineage: list[DesignAccepted] = field(default_factory=list)
    floor: FloorMeasured | None = None
    floors: int = 0
    floor_with_best: str | None = None
    """The best when the floor was last measured."""
    noise: NoiseCalibrated | None = None
    refused_calibrations: int = 0
    """How many calibrations in a row the device was refused."""
    calibration: list[PairsRead] = field(default_factory=list)
    anchor: AnchorCompared | None = None
    anchor_readings: list[PairsRead] = field(default_factory=list)
    exhausted: bool = False
    fruitless: int = 0
    """Designs since the latest acceptance."""
    unsettled: dict[str, None] = field(default_factory=dict)
    """Designs on which something remains to be done, in the order of their registration."""
    device_seconds: float = 0.0
    seconds_of: dict[str, float] = field(default_factory=dict)
    """Latest mean seconds of one call, by design (each from its own readings)."""

    def apply(self, event: Event) -> None:
        """Fold one event of this tree."""
        match event:
            case TreeStarted():
                self.kernel, self.started = event.kernel, event
            case TreeRefused():
                self.refused = event.reason
            case DesignProposed():
                self.designs[event.design] = DesignView(event, event.ref)
                self.unsettled[event.design] = None
                self.exhausted = False
                self.fruitless += 1
                if event.kind == "baseline":
                    self.baseline = self.best = event.design
            case DesignChecked():
                design = self.designs[event.design]
                design.checks.append(event)
                design.artifact = event.artifact or design.artifact
                self._settle(design)
            case PairsRead():
                self._read(event)
            case DesignJudged():
                design = self.designs[event.design]
                design.verdict = event
                self._settle(design)
            case DesignAccepted():
                design = self.designs[event.design]
                design.accepted = event
                self.best = event.design
                self.lineage.append(event)
                self.fruitless = 0
                self._settle(design)
            case DesignRevoked():
                self.designs[event.design].revoked = event
                self.lineage = [each for each in self.lineage if each.design != event.design]
                self.best = event.best
            case FloorMeasured():
                self.floor = event
                self.floors += 1
                self.floor_with_best = self.best
            case NoiseCalibrated():
                self.noise = event
                self.refused_calibrations = self.refused_calibrations + 1 if event.refused else 0
            case AnchorCompared():
                self.anchor = event
            case SearchExhausted():
                self.exhausted = True
            case _:
                pass

    def _read(self, event: PairsRead) -> None:
        self.device_seconds += event.device_seconds
        if event.best_seconds:
            self.seconds_of[event.best] = _median(event.best_seconds)
            self.seconds_of[event.candidate] = _median(event.candidate_seconds)
        if event.purpose == "calibrate":
            self.calibration.append(event)
        elif event.purpose == "anchor":
            self.anchor_readings.append(event)
        else:
            self.designs[event.candidate].readings.append(event)

    def _settle(self, design: DesignView) -> None:
        if not design.open:
            self.unsettled.pop(design.id, None)

    @property
    def working(self) -> str | None:
        """The design that is worked on now."""
        return next(iter(self.unsettled), None)

    @property
    def best_seconds(self) -> float | None:
        """Seconds of one call of the best, from its latest readings."""
        return None if self.best is None else self.seconds_of.get(self.best)

    @property
    def floor_ratio(self) -> float | None:
        """How far the best is from its floor (1 is the floor)."""
        if self.floor is None or self.best_seconds is None:
            return None
        return self.best_seconds / self.floor.seconds

    @property
    def counts(self) -> Mapping[str, Any]:
        """Designs proposed, screened out by check, compared, and their verdicts; the baseline is not counted."""
        screened: dict[str, int] = {}
        verdicts = {"accepted": 0, "rejected": 0, "undecided": 0}
        compared = proposed = 0
        for design in self.designs.values():
            if design.id == self.baseline:
                continue
            proposed += 1
            if design.failed is not None:
                screened[design.failed.check] = screened.get(design.failed.check, 0) + 1
            if any(r.purpose == "decide" for r in design.readings):
                compared += 1
            if design.accepted is not None:
                verdicts["accepted"] += 1
            elif design.verdict is not None and design.verdict.verdict in ("rejected", "undecided"):
                verdicts[design.verdict.verdict] += 1
        return {"proposed": proposed, "screened": screened, "compared": compared, **verdicts}


def _median(values: tuple[float, ...]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
