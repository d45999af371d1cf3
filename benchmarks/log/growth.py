"""Whether one step costs the same in a long log as in a short one: the views that a run keeps up, and the router."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kernelwright.acceptance.policy import Policy
from kernelwright.events.knowledge import KnowledgeEvent
from kernelwright.events.log import EventLog
from kernelwright.events.run import StepFinished
from kernelwright.events.tree import DesignProposed
from kernelwright.events.views.knowledge import KnowledgeView
from kernelwright.events.views.run import RunView
from kernelwright.events.views.summary import run_summary
from kernelwright.graph.route import route

STEP = "a step in all"
PARTS = ("run and trees", "knowledge", "route", "summary", STEP)
"""Microseconds for each event of the run, for each event of the knowledge base, and for each step (the last three)."""
AROUND = 600
"""Events before and after a length that count for it."""


@dataclass
class Window:
    """Costs of the candidates around one length of the log: for each its seconds and how often, by part."""

    length: int
    candidates: list[dict[str, tuple[float, int]]] = field(default_factory=list)

    def microseconds(self, part: str) -> float:
        """The median over candidates of the mean cost within one: what interrupts a few of them does not count."""
        if part == STEP:
            return statistics.median(
                1e6 * sum(seconds for seconds, _ in each.values()) / each["route"][1] for each in self.candidates
            )
        costs = [each[part] for each in self.candidates if part in each]
        return statistics.median(1e6 * seconds / count for seconds, count in costs)


def growth(log: EventLog, lengths: list[int], passes: int) -> list[str]:
    """Rows of the table: costs around each length, and beside each its ratio to that at the first length."""
    windows = [Window(length) for length in lengths]
    for _ in range(passes):
        one_pass(log, windows)
    rows = []
    for window in windows:
        cells = []
        for part in PARTS:
            cost, first = window.microseconds(part), windows[0].microseconds(part)
            cells.append(f"{cost:.1f} | {cost / first:.2f}")
        rows.append(f"| {window.length:,} | {' | '.join(cells)} |")
    return rows


def one_pass(log: EventLog, windows: list[Window]) -> None:
    """Fold the log up to the last window, measuring inside the windows."""
    view, known, policy = RunView(fetch=log.at_positions), KnowledgeView(), Policy()
    remaining = list(windows)
    costs: dict[str, tuple[float, int]] = {}

    def timed(part: str, work: Callable[..., object], *arguments: object) -> None:
        begun = time.perf_counter()
        work(*arguments)
        seconds, count = costs.get(part, (0.0, 0))
        costs[part] = (seconds + time.perf_counter() - begun, count + 1)

    inside = False
    for recorded in log.stream():
        event = recorded.event
        if isinstance(event, DesignProposed):
            while remaining and recorded.position > remaining[0].length + AROUND:
                del remaining[0]
            if not remaining:
                return
            costs = {}
            inside = recorded.position >= remaining[0].length - AROUND
            if inside:
                remaining[0].candidates.append(costs)
        if isinstance(event, KnowledgeEvent):
            timed("knowledge", known.apply, recorded)
        else:
            timed("run and trees", view.apply, recorded)
        if inside and isinstance(event, StepFinished):
            timed("route", route, view, policy, known)
            timed("summary", run_summary, view)
