"""The result of a run as plain data: what ``run``, ``status`` and ``runs`` print."""

from __future__ import annotations

from math import exp, fsum, log
from typing import Any
from uuid import UUID

from ..base import aggregate_id
from ..log import EventLog
from ..run import RunForked, RunResumed, RunStarted, RunStopped
from .run import RunView
from .tree import TreeView


def speedup(tree: TreeView) -> tuple[float | None, float | None, float | None]:
    """The speedup over the baseline and its interval.

    From the direct comparison of the best with the baseline where there is one; before that what the claimed gains say.
    """
    if tree.anchor is not None and tree.anchor.best == tree.best:
        return tree.anchor.ratio, tree.anchor.ratio_low, tree.anchor.ratio_high
    if tree.baseline is None or not tree.designs[tree.baseline].went_through("oracle"):
        return None, None, None
    return tree.claimed


def baseline_seconds(tree: TreeView) -> float | None:
    """Seconds of one call of the baseline: from its latest readings."""
    if tree.anchor is not None and tree.anchor.anchor == tree.baseline:
        return tree.anchor.anchor_seconds
    return None if tree.baseline is None else tree.seconds_of.get(tree.baseline)


def kernel_summary(tree: TreeView) -> dict[str, Any]:
    """One row of the result table."""
    ratio, low, high = speedup(tree) if tree.device else (None, None, None)
    anchored = tree.anchor is not None and tree.anchor.best == tree.best
    best_seconds = tree.anchor.best_seconds if anchored and tree.anchor is not None else tree.best_seconds
    floor = tree.floor.seconds if tree.floor is not None else None
    return {
        "name": tree.kernel,
        "baseline_seconds": baseline_seconds(tree),
        "best_seconds": best_seconds,
        "floor_seconds": floor,
        "speedup": ratio,
        "speedup_low": low,
        "speedup_high": high,
        "floor_ratio": best_seconds / floor if best_seconds and floor and tree.device else None,
        "best_design": tree.best,
        "provisional": provisional_summary(tree),
        "alarm": next((each.reason for each in (tree.anchor, tree.champion) if each is not None and each.alarm), None),
        "refused": tree.refused,
        "designs": dict(tree.counts),
    }


def provisional_summary(tree: TreeView) -> dict[str, Any] | None:
    """What is best by estimate where no device can tell, None where there is one. Nothing in it was read on a device."""
    if tree.device or tree.baseline is None:
        return None
    floor = tree.floor.seconds if tree.floor is not None else None
    before = tree.designs[tree.baseline].estimated_seconds
    name = tree.provisional or tree.baseline
    found = tree.designs[name].estimate
    seconds = tree.designs[name].estimated_seconds
    return {
        "design": name,
        "seconds": seconds,
        "baseline_seconds": before,
        "speedup": before / seconds if before and seconds else None,
        "floor_ratio": seconds / floor if seconds and floor else None,
        "limit": found.details.get("limit") or None if found is not None else None,
        "model": found.details["model"] if found is not None else None,
        "values": "right" if tree.designs[name].passed("oracle") else "unknown",
    }


def run_summary(view: RunView) -> dict[str, Any]:
    """The result of a run so far, as one JSON-ready object. Unknown numbers are None, never zero."""
    kernels = [kernel_summary(tree) for tree in view.trees.values()]
    standing = [kernel for kernel in kernels if kernel["refused"] is None]
    estimated = [kernel["provisional"] for kernel in standing if kernel["provisional"] is not None]
    candidates = sum(kernel["designs"]["proposed"] for kernel in kernels)
    return {
        "run": view.name,
        "state": view.state,
        "started": view.started_at,
        "elapsed_seconds": round(view.elapsed_seconds, 3),
        "geomean_speedup": _geomean([kernel["speedup"] for kernel in standing] if view.device else []),
        "geomean_provisional": _geomean([each["speedup"] for each in estimated]),
        "kernels": kernels,
        "device_seconds": view.device_seconds,
        "overhead_seconds_per_candidate": view.overhead_seconds / candidates if candidates else None,
    }


def _geomean(ratios: list[float | None]) -> float | None:
    """The geometric mean, None when there is nothing or something is unknown."""
    known = [ratio for ratio in ratios if ratio is not None]
    return exp(fsum(map(log, known)) / len(known)) if known and len(known) == len(ratios) else None


def list_runs(log: EventLog) -> list[dict[str, Any]]:
    """All runs of a store, newest first."""
    runs: dict[Any, dict[str, Any]] = {}
    for recorded in log.stream_listing():
        event = recorded.event
        if isinstance(event, RunStarted):
            runs[aggregate_id("run", event.run)] = {
                "run": event.run,
                "state": "running",
                "target": event.target,
                "kernels": list(event.kernels),
                "started": event.at.isoformat(timespec="seconds"),
            }
        elif isinstance(event, RunForked):
            parent = runs[UUID(event.parent_id)]
            started = event.at.isoformat(timespec="seconds")
            runs[event.originator_id] = {**parent, "run": event.run, "state": "running", "started": started}
        elif isinstance(event, RunResumed):
            runs[event.originator_id]["state"] = "running"
        elif isinstance(event, RunStopped):
            runs[event.originator_id]["state"] = event.reason
    return list(reversed(runs.values()))
