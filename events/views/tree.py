"""The Design Tree of one kernel in one run, folded from its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, fsum, log
from typing import Any

from ..tree import (
    AnchorCompared,
    DesignAccepted,
    DesignChecked,
    DesignJudged,
    DesignProposed,
    DesignReopened,
    DesignRestored,
    DesignRevoked,
    FloorMeasured,
    NoiseCalibrated,
    PairsRead,
    SearchExhausted,
    TreeEvent,
    TreeRefused,
    TreeStarted,
    TreeUpgraded,
)
from .design import DECIDING, DesignView, Standing, standing
from .designs import Designs

__all__ = ["DECIDING", "DesignView", "TreeView"]


@dataclass
class TreeView:
    """The state of one kernel's search."""

    kernel: str = ""
    started: TreeStarted | None = None
    refused: str | None = None
    designs: Designs = field(default_factory=Designs)
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
    """The latest direct comparison of a best with the baseline."""
    champion: AnchorCompared | None = None
    """The latest comparison of a best with the best of some acceptances before."""
    anchor_readings: list[PairsRead] = field(default_factory=list)
    exhausted: bool = False
    fruitless: int = 0
    """Designs since the latest acceptance."""
    unsettled: dict[str, None] = field(default_factory=dict)
    """Designs on which something remains to be done, in the order of their registration."""
    device_seconds: float = 0.0
    seconds_of: dict[str, float] = field(default_factory=dict)
    """Latest mean seconds of one call, by design (each from its own readings)."""

    toolchain: str = ""
    """Fingerprint of the toolchain that the tree is in; empty until it has changed for the first time."""
    standing: list[str] = field(default_factory=list)
    """The accepted designs that stood when this toolchain was entered."""
    retry: list[str] = field(default_factory=list)
    """Bests of another toolchain that are to be compared under this one, until one of them is accepted."""
    stopped: dict[str, str] = field(default_factory=dict)
    """Designs that a learned rule stopped, by a veto or because it is what their failure stands for: the rule's name."""
    unlearned: dict[str, None] = field(default_factory=dict)
    """Settled designs that teach something which has not been written down yet, in the order in which they settled."""
    by_source: dict[str, str] = field(default_factory=dict)
    """The first design with a normalized source, by the digest of that."""
    by_artifact: dict[str, str] = field(default_factory=dict)
    """The first design with an artifact."""
    core: dict[str, int] = field(default_factory=dict)
    """Positions of the events that this holds beside those of designs, by field."""
    lineage_positions: dict[str, int] = field(default_factory=dict)
    reading_positions: dict[str, list[int]] = field(default_factory=dict)
    """Positions of the readings that are of no candidate, by their purpose."""
    tally: dict[str, int] = field(default_factory=dict)
    """Counts of :meth:`counts`, kept up event by event."""
    device: bool = True
    """Whether the toolchain in force has a device to read on."""
    held: dict[str, float] = field(default_factory=dict)
    """Designs held under this toolchain whose values are right, with their estimates (seconds of one call)."""
    held_unverified: dict[str, float] = field(default_factory=dict)
    """The same for designs that could not be run for values."""
    _claimed: tuple[float, float, float] | None = field(default=None, compare=False, repr=False)
    """What :attr:`claimed` was, until the lineage changes."""

    def apply(self, event: TreeEvent, position: int) -> None:
        """Fold one event of this tree, recorded at ``position``."""
        match event:
            case TreeStarted():
                self.kernel, self.started = event.kernel, event
                self.core["started"] = position
            case TreeRefused():
                self.refused = event.reason
            case DesignProposed():
                self._propose(event, position)
            case PairsRead():
                self._read(event, position)
            case TreeUpgraded():
                self._upgrade(event)
            case (
                DesignChecked()
                | DesignJudged()
                | DesignAccepted()
                | DesignRevoked()
                | DesignReopened()
                | DesignRestored()
            ):
                self._change(self.designs[event.design], event, position)
            case FloorMeasured():
                self.floor = event
                self.core["floor"] = position
                self.floors += 1
                self.floor_with_best = self.best
            case NoiseCalibrated():
                self.noise = event
                self.core["noise"] = position
                self.refused_calibrations = self.refused_calibrations + 1 if event.refused else 0
            case AnchorCompared():
                field_name = "anchor" if event.anchor == self.baseline else "champion"
                setattr(self, field_name, event)
                self.core[field_name] = position
            case SearchExhausted():
                self.exhausted = True
            case _:
                pass

    def _propose(self, event: DesignProposed, position: int) -> None:
        self.designs.add(DesignView(event, event.ref, positions=[position]))
        self.by_source.setdefault(event.normalized, event.design)
        self.unsettled[event.design] = None
        self.exhausted = False
        self.fruitless += 1
        if event.kind == "baseline":
            self.baseline = self.best = event.design
        else:
            self.tally["proposed"] = self.tally.get("proposed", 0) + 1

    def _read(self, event: PairsRead, position: int) -> None:
        self.device_seconds += event.device_seconds
        if event.best_seconds:
            self.seconds_of[event.best] = _median(event.best_seconds)
            self.seconds_of[event.candidate] = _median(event.candidate_seconds)
        if event.purpose in ("calibrate", "anchor"):
            (self.calibration if event.purpose == "calibrate" else self.anchor_readings).append(event)
            self.reading_positions.setdefault(event.purpose, []).append(position)
        else:
            self._change(self.designs[event.candidate], event, position)

    def _change(self, design: DesignView, event: TreeEvent, position: int) -> None:
        """Fold an event into a design, and what follows from that for the tree."""
        before = standing(design)
        design.apply(event, position)
        if design.id != self.baseline:
            self._count(before, -1)
            self._count(standing(design), 1)
        if design.artifact is not None:
            self.by_artifact.setdefault(design.artifact, design.id)
        self._hold(design)
        if isinstance(event, DesignAccepted):
            self.best, self._claimed = event.design, None
            self.lineage.append(event)
            self.lineage_positions[event.design] = position
            self.fruitless = 0
            if any(each.why == "confirm" for each in design.reopened):
                self.retry = []
        elif isinstance(event, DesignJudged) and self.provisional == design.id:
            self.fruitless = 0
            if any(each.why == "confirm" for each in design.reopened):
                self.retry = []
        elif isinstance(event, DesignReopened):
            self.unsettled[design.id] = None
            self.exhausted = False
            self.retry = [each for each in self.retry if each != design.id]
        elif isinstance(event, DesignRestored):
            if design.open:
                self.unsettled[design.id] = None
            else:
                self.unsettled.pop(design.id, None)
            self._stand()
        elif isinstance(event, DesignRevoked):
            self.lineage = [each for each in self.lineage if each.design != event.design]
            self.lineage_positions.pop(event.design, None)
            self.best, self._claimed = event.best, None
        self._settle(design)

    def _hold(self, design: DesignView) -> None:
        """Keep up who is held, with which estimate."""
        self.held.pop(design.id, None)
        self.held_unverified.pop(design.id, None)
        if design.held and design.estimated_seconds is not None:
            kept = self.held if design.passed("oracle") else self.held_unverified
            kept[design.id] = design.estimated_seconds

    def _upgrade(self, event: TreeUpgraded) -> None:
        """Another toolchain is in force: what was measured under the one before holds only as far as it is not touched."""
        self.toolchain, self.retry = event.toolchain, list(event.retry)
        self.standing = list(event.standing)
        self.held, self.held_unverified = {}, {}
        for design in self.designs.values():
            if design.judged_under == event.toolchain:
                self._hold(design)
        touched = set(event.affected)
        if touched & {"chip", "runtime", "code"}:
            self.noise = self.anchor = self.champion = None
            for each in ("noise", "anchor", "champion"):
                self.core.pop(each, None)
            self.refused_calibrations = 0
            self.seconds_of = {}
        if "chip" in touched:
            self.floor, self.floor_with_best = None, None
            self.core.pop("floor", None)
        self.exhausted, self.refused = False, None
        self.fruitless = 0
        self._stand()

    def _stand(self) -> None:
        """The lineage is what stands under this toolchain, as far as the designs of it have been restored."""
        accepted = [self.designs[name] for name in self.standing]
        self.lineage = [design.accepted for design in accepted if design.accepted is not None]
        self.lineage_positions = {design.id: design.accepted_at for design in accepted if design.accepted is not None}
        self.best, self._claimed = self.lineage[-1].design if self.lineage else self.baseline, None

    def _count(self, each: Standing, sign: int) -> None:
        names = [f"screened/{each.screened_by}"] if each.screened_by is not None else []
        names += ["compared"] if each.compared else []
        names += [each.verdict] if each.verdict is not None else []
        for name in names:
            self.tally[name] = self.tally.get(name, 0) + sign

    def _settle(self, design: DesignView) -> None:
        rule = None if design.failed is None else design.failed.details.get("rule")
        if isinstance(rule, str) and rule.startswith("r-"):
            self.stopped[design.id] = rule
        else:
            self.stopped.pop(design.id, None)
        if design.open:
            self.designs.take_up(design.id)
            return
        self.designs.settle(design.id)
        if design.id in self.unsettled and design.id != self.baseline and design.teaches:
            self.unlearned[design.id] = None
        self.unsettled.pop(design.id, None)

    @property
    def claimed(self) -> tuple[float, float, float]:
        """The product of the claimed gains and its interval, whose half widths (of log gains) add in quadrature."""
        if self._claimed is None:
            total = fsum(log(each.gain) for each in self.lineage)
            below = fsum(log(each.gain / each.gain_low) ** 2 for each in self.lineage) ** 0.5
            above = fsum(log(each.gain_high / each.gain) ** 2 for each in self.lineage) ** 0.5
            self._claimed = exp(total), exp(total - below), exp(total + above)
        return self._claimed

    @property
    def working(self) -> str | None:
        """The design that is worked on now."""
        return next(iter(self.unsettled), None)

    @property
    def provisional(self) -> str | None:
        """The best by estimate among the designs that are held; one whose values are unknown only where no other is."""
        among = self.held or self.held_unverified
        return min(among, key=lambda name: (among[name], name)) if among else None

    @property
    def leader(self) -> str | None:
        """The design to build on: the best, or the provisional best where there is no device to accept anything."""
        return self.best if self.lineage or self.provisional is None else self.provisional

    @property
    def leader_seconds(self) -> float | None:
        """Seconds of one call of the leader: as read, or without a device as estimated."""
        if self.device or self.leader is None:
            return self.best_seconds
        return self.designs[self.leader].estimated_seconds

    @property
    def best_seconds(self) -> float | None:
        """Seconds of one call of the best, from its latest readings."""
        return None if self.best is None else self.seconds_of.get(self.best)

    @property
    def floor_ratio(self) -> float | None:
        """How far the leader is from its floor (1 is the floor)."""
        seconds = self.leader_seconds
        return None if self.floor is None or seconds is None else seconds / self.floor.seconds

    def anchored(self, anchor: str) -> bool:
        """Whether the best that stands was compared with ``anchor`` (the baseline or an earlier best) directly."""
        latest = (self.anchor, self.champion)
        return any(each is not None and (each.best, each.anchor) == (self.best, anchor) for each in latest)

    @property
    def counts(self) -> Mapping[str, Any]:
        """Designs proposed, screened out by check, compared, and their verdicts; the baseline is not counted."""
        screened = {
            name.removeprefix("screened/"): count
            for name, count in self.tally.items()
            if name.startswith("screened/") and count
        }
        counted = {
            name: self.tally.get(name, 0)
            for name in ("proposed", "compared", "accepted", "rejected", "undecided", "held")
        }
        proposed = counted.pop("proposed")
        return {"proposed": proposed, "screened": screened, **counted}

    def source_twin(self, design: DesignView) -> str | None:
        """An earlier design with the same normalized source, if there is one."""
        first = self.by_source[design.proposed.normalized]
        return None if first == design.id else first

    def artifact_twin(self, design: str, artifact: str | None) -> str | None:
        """Another design that gave the same artifact first, if there is one."""
        first = None if artifact is None else self.by_artifact.get(artifact)
        return None if first == design else first


def _median(values: tuple[float, ...]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
