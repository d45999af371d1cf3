"""Snapshots of a run's view: numbers, and the positions in the log of the events that it holds, never their content.

A snapshot is a cache. It is used when this version wrote it and the log still has, at the end of each aggregate that it
was folded from, the very event that it names; otherwise the run is folded from its first event.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any
from uuid import UUID

from ... import __version__
from ..log import EventLog
from ..snapshots import packed, unpacked
from .run import RunView
from .tree import TreeView

VIEW_SCHEMA = 2
"""Raise it with any change of what a fold computes."""

_RUN_NUMBERS = (
    "started_at",
    "minutes",
    "steps",
    "overhead_seconds",
    "answers",
    "position",
    "events",
    "starts",
    "observations",
    "observed",
    "finished_steps",
    "elapsed_seconds",
    "last_finish",
    "active_since",
    "active_before",
    "probed",
    "options",
)
_RUN_EVENTS = ("started", "forked", "stopped", "toolchain", "in_flight")
_TREE_NUMBERS = (
    "kernel",
    "refused",
    "baseline",
    "best",
    "floors",
    "floor_with_best",
    "refused_calibrations",
    "exhausted",
    "fruitless",
    "device_seconds",
    "seconds_of",
    "by_source",
    "by_artifact",
    "lineage_positions",
    "reading_positions",
    "tally",
    "toolchain",
    "standing",
    "retry",
    "stopped",
    "unlearned",
    "device",
    "held",
    "held_unverified",
)
_TREE_EVENTS = ("started", "floor", "noise", "anchor", "champion")

SCHEMA = [VIEW_SCHEMA, __version__, *_RUN_NUMBERS, *_RUN_EVENTS, *_TREE_NUMBERS, *_TREE_EVENTS]
"""What has to agree for a stored view to be read: naming the fields covers a field that is added or renamed."""


def view_name(run: str) -> str:
    """The name that a run's view is stored under."""
    return f"view/{run}"


def keep_view(log: EventLog, view: RunView) -> None:
    """Cache a view that has folded everything recorded of its run."""
    content = {
        "schema": SCHEMA,
        "heads": {originator.hex: list(head) for originator, head in view.heads.items()},
        "run": {name: getattr(view, name) for name in _RUN_NUMBERS},
        "events": view.core,
        "trees": [_tree_state(tree) for tree in view.trees.values()],
    }
    log.keep_content(view_name(view.name), packed(content))


def restore_view(log: EventLog, run: str) -> RunView | None:
    """The cached view of a run, or None when there is none that can be believed."""
    stored = log.kept_content(view_name(run))
    content = None if stored is None else unpacked(stored)
    if content is None or content["schema"] != SCHEMA:
        return None
    heads = {UUID(originator): (int(head[0]), str(head[1])) for originator, head in content["heads"].items()}
    for originator, (version, digest) in heads.items():
        event = log.event(originator, version)
        if event is None or event.seal != digest:
            return None
    view = RunView(fetch=log.at_positions, heads=heads, core=content["events"], **content["run"])
    _set_events(log, view, _RUN_EVENTS, view.core)
    for state in content["trees"]:
        tree = _tree(log, state)
        view.trees[tree.kernel] = tree
    view.adopt_all()
    return view


def _tree_state(tree: TreeView) -> dict[str, Any]:
    return {
        **{name: getattr(tree, name) for name in _TREE_NUMBERS},
        "unsettled": list(tree.unsettled),
        "core": tree.core,
        "designs": tree.designs.positions,
        "order": list(tree.designs),
    }


def _tree(log: EventLog, state: dict[str, Any]) -> TreeView:
    tree = TreeView(**{name: state[name] for name in _TREE_NUMBERS}, core=state["core"])
    _set_events(log, tree, _TREE_EVENTS, tree.core)
    tree.unsettled = dict.fromkeys(state["unsettled"])
    tree.designs.fetch = log.at_positions
    tree.designs.leave_in_log({name: state["designs"][name] for name in state["order"]})
    accepted = {event.design: event for event in _events(log, tree.lineage_positions.values())}
    tree.lineage = [accepted[design] for design in tree.lineage_positions]
    tree.calibration = _events(log, tree.reading_positions.get("calibrate", ()))
    tree.anchor_readings = _events(log, tree.reading_positions.get("anchor", ()))
    return tree


def _set_events(log: EventLog, holder: RunView | TreeView, names: tuple[str, ...], positions: dict[str, int]) -> None:
    assert set(names) <= {field.name for field in fields(holder)}
    for name in names:
        if name in positions:
            setattr(holder, name, log.at_positions([positions[name]])[0].event)


def _events(log: EventLog, positions: Any) -> list[Any]:
    return [recorded.event for recorded in log.at_positions(list(positions))]
