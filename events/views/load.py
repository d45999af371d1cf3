"""Folding a run from the log: its own events after those that it shares with the run it was forked from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from ..base import aggregate_id
from ..log import EventLog, Recorded
from ..run import RunForked, RunStarted
from .run import RunView, run_originators
from .snapshot import restore_view


class UnknownRunError(Exception):
    """There is no such run."""


@dataclass(frozen=True)
class Segment:
    """Events of one run that belong to a history: its aggregates, and up to which version, when not all."""

    run: str
    originators: tuple[UUID, ...]
    limits: dict[UUID, int] | None = None


def segments(log: EventLog, run: str) -> list[Segment]:
    """What a run consists of, oldest first: the shared prefix of the run it was forked from, if it was, then its own.

    Raises UnknownRunError.
    """
    first = log.event(aggregate_id("run", run), 1)
    if isinstance(first, RunStarted):
        return [Segment(run, tuple(run_originators(run, first.kernels)))]
    if not isinstance(first, RunForked):
        raise UnknownRunError(run)
    before = segments(log, first.parent)
    limits = {UUID(first.parent_id): first.parent_version}
    limits |= {UUID(tree): version for tree, (version, _) in first.trees.items()}
    shared = Segment(first.parent, before[-1].originators, limits)
    return [*before[:-1], shared, Segment(run, tuple(run_originators(run, kernels_of(log, run))))]


def kernels_of(log: EventLog, run: str) -> tuple[str, ...]:
    """The kernels of a run; raises UnknownRunError."""
    first = log.event(aggregate_id("run", run), 1)
    if isinstance(first, RunForked):
        return kernels_of(log, first.parent)
    if not isinstance(first, RunStarted):
        raise UnknownRunError(run)
    return first.kernels


def history(log: EventLog, run: str, *, after: int = 0, until: int | None = None) -> Iterator[Recorded]:
    """The events of a run in order, those that it shares with its ancestors first, of positions above ``after`` and up
    to ``until``; raises UnknownRunError.
    """
    for segment in segments(log, run):
        for recorded in log.stream(segment.originators, after, until):
            event = recorded.event
            if segment.limits is None or event.originator_version <= segment.limits.get(event.originator_id, 0):
                yield recorded


def load_run(log: EventLog, run: str, *, until: int | None = None, from_snapshot: bool = True) -> RunView:
    """Fold a run from the log, up to the position ``until`` when given; raises UnknownRunError.

    Starts from a snapshot where there is one that the log bears out.
    """
    view = restore_view(log, run) if from_snapshot and until is None else None
    if view is None:
        view = RunView(fetch=log.at_positions)
        after = 0
    else:
        after = view.position
    for recorded in history(log, run, after=after, until=until):
        view.apply(recorded)
    if view.started is None:
        raise UnknownRunError(run)
    return view
