"""Forks: a new run that continues another one from a point in its history. Nothing is copied; its events refer back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from .base import Context, Event, InvariantError
from .log import EventLog
from .run import Run, RunForked, RunStopped, StepFinished, StepStarted
from .tree import DesignTree
from .views.load import Segment, history, kernels_of, segments


class UnknownEventError(Exception):
    """The run has no such event. The message says what it has."""


@dataclass(frozen=True)
class Boundary:
    """A point between two steps: the last event before it, and how far each aggregate had come."""

    position: int
    last: Event
    heads: Mapping[UUID, tuple[int, str]]


def locate(log: EventLog, run: str, name: str) -> int:
    """The position of an event of a run, named by its reference (``1a2b3c4d5e6f:7``) or its position.

    Raises UnknownEventError, and UnknownRunError as :func:`~.views.load.segments` does.
    """
    last = 0
    for recorded in history(log, run):
        if name in (recorded.event.ref, str(recorded.position)):
            return recorded.position
        last = recorded.position
    raise UnknownEventError(
        f"run {run} has no event {name!r}; name one by reference or position (up to {last}), as `kernelwright history "
        f"{run}` lists them"
    )


def boundary_at(log: EventLog, run: str, position: int) -> Boundary:
    """The end of the step that the event at ``position`` belongs to; of the one before, if that step never ended.

    A step's events are one save, so a history that is cut elsewhere is one that no process could have left.
    """
    heads: dict[UUID, tuple[int, str]] = {}
    found: Boundary | None = None
    inside = False
    for recorded in history(log, run):
        if found is not None and recorded.position > position and not inside:
            break
        event = recorded.event
        heads[event.originator_id] = (event.originator_version, event.seal)
        if isinstance(event, StepStarted | RunForked):
            inside = True
        elif isinstance(event, StepFinished | RunStopped):
            inside = False
        if not inside:
            found = Boundary(recorded.position, event, dict(heads))
            if recorded.position >= position:
                break
    if found is None:
        raise UnknownEventError(f"run {run} has no event before the end of its first step to fork from")
    return found


def fork_run(
    log: EventLog,
    run: str,
    at: str,
    name: str,
    policy: Mapping[str, Any],
    *,
    minutes: float,
    version: str,
) -> Boundary:
    """Record a run called ``name`` that continues ``run`` from the event ``at`` under ``policy``; returns where it does.

    It is left stopped: resuming it takes what comparisons it needs. Raises UnknownEventError, UnknownRunError, and
    InvariantError when there is a run of that name.
    """
    boundary = boundary_at(log, run, locate(log, run, at))
    owner = _owner(segments(log, run), boundary)
    kernels = kernels_of(log, run)
    context = Context(cause=boundary.last.ref, toolchain=boundary.last.toolchain)
    run_id = Run.identify(owner)
    fork = log.load(Run, name)
    trees: list[DesignTree] = []
    shared: dict[str, tuple[int, str]] = {}
    for kernel in kernels:
        tree_id = DesignTree.identify(owner, kernel)
        if tree_id in boundary.heads:
            shared[tree_id.hex] = boundary.heads[tree_id]
    fork.fork(
        context,
        log.load_at(Run, run_id, boundary.heads[run_id][0]),
        run=name,
        after=boundary.last.ref,
        trees=shared,
        policy=dict(policy),
        entropy=secrets.token_hex(16),
        minutes=minutes,
        version=version,
    )
    for kernel in kernels:
        tree_id = DesignTree.identify(owner, kernel)
        if tree_id in boundary.heads:
            tree = log.load(DesignTree, name, kernel)
            tree.fork(context, log.load_at(DesignTree, tree_id, boundary.heads[tree_id][0]), name, kernel)
            trees.append(tree)
    fork.stop(context, "interrupted", f"forked from run {owner} after {boundary.last.ref}")
    log.record(fork, *trees)
    return boundary


def _owner(parts: list[Segment], boundary: Boundary) -> str:
    """The run whose aggregates hold the last event before the boundary; a fork of what is shared is one of its source."""
    for part in parts:
        if boundary.last.originator_id in part.originators:
            return part.run
    raise InvariantError(f"event {boundary.last.ref} belongs to no run")
