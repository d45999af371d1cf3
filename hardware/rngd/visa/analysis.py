"""What a schedule says of its kernel: which context bounds it, where the cycles go, where a context stands idle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .schedule import Node, Schedule

LIMITS = {
    "DmaEngine": "DMA",
    "MainContext": "main context",
    "SubContext": "sub context",
    "VectorEngine": "vector engine",
    "PeCore": "PE core",
}
"""A context of the schedule as a few words for people; another one keeps its own name."""
LEAST_GAP = 100
"""Cycles; a shorter idle time is not worth a line."""


@dataclass(frozen=True)
class Busy:
    """How long a context works (cycles, overlapping nodes counted once) and which share of the makespan that is."""

    context: str
    cycles: int
    share: float
    nodes: int


@dataclass(frozen=True)
class Spent:
    """Cycles of all nodes of one kind from one source line."""

    place: str
    kind: str
    cycles: int
    nodes: int


@dataclass(frozen=True)
class Gap:
    """A time in which a context does nothing; ``before`` is the node that ends it, empty at the end of the schedule."""

    context: str
    begin: int
    end: int
    before: str

    @property
    def cycles(self) -> int:
        """How long it is."""
        return self.end - self.begin


def _merged(nodes: Iterable[Node]) -> list[tuple[int, int, str]]:
    """The times in which at least one node runs, in order, each with the node that begins it."""
    found: list[tuple[int, int, str]] = []
    for node in sorted(nodes, key=lambda each: each.begin):
        if node.cycles == 0:
            continue
        if found and node.begin <= found[-1][1]:
            begin, end, first = found[-1]
            found[-1] = (begin, max(end, node.end), first)
        else:
            found.append((node.begin, node.end, node.index))
    return found


def _by_context(schedule: Schedule) -> dict[str, list[Node]]:
    contexts: dict[str, list[Node]] = defaultdict(list)
    for node in schedule.nodes:
        for context in node.contexts:
            contexts[context].append(node)
    return contexts


def busy(schedule: Schedule) -> tuple[Busy, ...]:
    """Every context with its share, the busiest first. Contexts overlap, so the shares need not add up to 1."""
    found = []
    for context, nodes in _by_context(schedule).items():
        cycles = sum(end - begin for begin, end, _ in _merged(nodes))
        found.append(Busy(context, cycles, cycles / schedule.makespan, len(nodes)))
    return tuple(sorted(found, key=lambda each: (-each.cycles, each.context)))


def bottleneck(schedule: Schedule) -> str:
    """The busiest context in a few words; empty when the dump names no context."""
    found = busy(schedule)
    return LIMITS.get(found[0].context, found[0].context) if found else ""


def longest(schedule: Schedule, count: int = 8) -> tuple[Node, ...]:
    """The nodes that take longest."""
    return tuple(sorted(schedule.nodes, key=lambda node: (-node.cycles, node.begin))[:count])


def spent(schedule: Schedule, count: int = 8) -> tuple[Spent, ...]:
    """The source lines that cost most, by kind of node."""
    totals: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for node in schedule.nodes:
        total = totals[node.place, node.kind]
        total[0] += node.cycles
        total[1] += 1
    found = [Spent(place, kind, cycles, nodes) for (place, kind), (cycles, nodes) in totals.items()]
    return tuple(sorted(found, key=lambda each: (-each.cycles, each.place, each.kind))[:count])


def gaps(schedule: Schedule, context: str, least: int = LEAST_GAP) -> tuple[Gap, ...]:
    """Idle times of a context of ``least`` cycles and more, the longest first."""
    found = []
    free_from = 0
    for begin, end, node in _merged(_by_context(schedule).get(context, ())):
        found.append(Gap(context, free_from, begin, node))
        free_from = end
    found.append(Gap(context, free_from, schedule.makespan, ""))
    return tuple(sorted((gap for gap in found if gap.cycles >= least), key=lambda gap: (-gap.cycles, gap.begin)))


def describe(schedule: Schedule, count: int = 6) -> str:
    """The findings as text for people and specialists."""
    lines = [f"makespan {schedule.makespan} cycles (static), {len(schedule.nodes)} nodes"]
    for each in busy(schedule):
        lines.append(f"  {each.context}: busy {each.cycles} cycles, {100 * each.share:.1f} %, {each.nodes} nodes")
    lines.append("longest nodes:")
    for node in longest(schedule, count):
        lines.append(f"  {node.cycles} cycles at {node.begin}: {node.kind} {node.place or f'node {node.index}'}")
    lines.append("most cycles by source line:")
    for line in spent(schedule, count):
        lines.append(f"  {line.cycles} cycles in {line.nodes} nodes: {line.kind} {line.place or 'no place given'}")
    first = busy(schedule)
    if first:
        lines.append(f"idle times of {first[0].context}:")
        for gap in gaps(schedule, first[0].context)[:count]:
            waited = f"before node {gap.before}" if gap.before else "at the end"
            lines.append(f"  {gap.cycles} cycles from {gap.begin}, {waited}")
    return "\n".join(lines)
