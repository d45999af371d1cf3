"""What is kept of a build: a timeline in numbers, small enough for a log, from which the estimate is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .chips import Chip
from .timeline import Part, Timeline

MODEL = "tpu-timeline-1"
"""Name and version of the arithmetic."""


@dataclass(frozen=True)
class PartSummary:
    """One operation of the graph: times in seconds, bytes, turns of its outermost loop and those that waited."""

    name: str
    runs: int
    seconds: float
    busy_seconds: float
    waiting_seconds: float
    hbm_bytes: float
    steps: int
    steps_waiting: int
    limit: str
    spill_operations: float


@dataclass(frozen=True)
class Summary:
    """A program on a chip."""

    chip: str
    seconds: float
    limit: str
    parts: tuple[PartSummary, ...]
    kernels: int
    """Calls of Pallas kernels."""
    whole: bool
    assumed_branches: int
    unmatched_waits: int
    missing: tuple[str, ...]
    memory: Mapping[str, int]

    def text(self) -> str:
        """One JSON object."""
        return json.dumps(asdict(self), indent=1, sort_keys=True)

    def lines(self) -> list[str]:
        """For people: what takes the time, the longest first."""
        told = [f"estimate {self.seconds * 1e6:.2f} us on {self.chip}, limited by {self.limit}"]
        for part in sorted(self.parts, key=lambda each: -each.seconds)[:8]:
            steps = f", {part.steps_waiting} of {part.steps} steps wait for copies" if part.steps else ""
            spills = f", {part.spill_operations:.0f} spills and refills" if part.spill_operations else ""
            told.append(
                f"  {part.name}: {part.seconds * 1e6:.2f} us ({part.waiting_seconds * 1e6:.2f} us waiting),"
                f" {part.hbm_bytes / 1e6:.2f} MB, limited by {part.limit}{steps}{spills}"
            )
        if not self.whole:
            told.append("  it does not end within what is followed: the time is a lower bound")
        if self.assumed_branches:
            told.append(f"  {self.assumed_branches} branches rest on data; they were taken to do their work once")
        if self.missing:
            told.append(f"  not in the dump, and taken to need no time: {', '.join(self.missing)}")
        return told


def read(text: str) -> Summary:
    """The summary in a text that :meth:`Summary.text` made."""
    raw: dict[str, Any] = json.loads(text)
    parts = tuple(PartSummary(**part) for part in raw.pop("parts"))
    missing = tuple(raw.pop("missing"))
    return Summary(parts=parts, missing=missing, **raw)


def summarize(timeline: Timeline, chip: Chip, operations: Mapping[str, int], memory: Mapping[str, int]) -> Summary:
    """What is kept of a timeline. The program's limit is that of the part that takes most of the time."""
    per_cycle = chip.core_bytes_per_second / chip.clock_hz
    parts = tuple(_part(part, chip, per_cycle) for part in timeline.parts)
    longest = max(parts, key=lambda part: part.seconds)
    return Summary(
        chip=chip.name,
        seconds=timeline.cycles / chip.clock_hz,
        limit=longest.limit,
        parts=parts,
        kernels=operations.get("custom_call:tpu_custom_call", 0),
        whole=timeline.whole,
        assumed_branches=timeline.assumed,
        unmatched_waits=timeline.unmatched_waits,
        missing=timeline.missing,
        memory=dict(memory),
    )


def _part(part: Part, chip: Chip, per_cycle: float) -> PartSummary:
    spills = sum(part.units.get(unit, 0.0) for unit in ("VLOAD:FILL", "VSTORE:SPILL"))
    return PartSummary(
        part.name,
        part.runs,
        part.cycles / chip.clock_hz,
        part.bundles / chip.clock_hz,
        part.waited / chip.clock_hz,
        part.hbm_bytes,
        part.steps,
        part.steps_waiting,
        part.limit(per_cycle),
        spills,
    )
