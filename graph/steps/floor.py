"""The floor of a kernel, measured now and recorded."""

from __future__ import annotations

from ...events.tree import FloorMeasured
from ..step import Step
from ..workbench import Workbench


def measure_floor(wb: Workbench, kernel: str) -> float:
    """Measure how long (seconds) it takes just to move the kernel's weights, and record it."""
    bench = wb.bench(kernel)
    with wb.timed("device"):
        measured = bench.floor_seconds()
    wb.trees[kernel].note(
        wb.context,
        FloorMeasured,
        seconds=measured.value,
        spread_seconds=measured.spread,
        repeats=measured.repeats,
        conditions=dict(measured.conditions),
    )
    return measured.value


def floor(wb: Workbench, step: Step) -> str:
    """The step that measures a kernel's floor."""
    measure_floor(wb, step.kernel)
    return "ok"
