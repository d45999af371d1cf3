"""A digest of where a run has come to, without when and how often: equal for runs that took the same road."""

from __future__ import annotations

import hashlib
from typing import Any

from ..base import Event, canonical
from .design import DesignView
from .run import RunView
from .tree import TreeView

_WHERE = frozenset({"evidence", "seconds", "device_seconds"})
"""Fields that say where something was recorded, or how long something took that is no reading."""


def state_digest(view: RunView) -> str:
    """Digest (sha256 hex) of everything that was decided and read in a run.

    Two runs agree when they have the same designs, checks, readings, verdicts, gains and end, whatever the times, the
    attempts, the processes and the places of their events in the log.
    """
    state = {
        "run": view.name,
        "policy": view.policy,
        "toolchain": view.toolchain.fingerprint if view.toolchain is not None else None,
        "stopped": view.stopped.reason if view.stopped is not None else None,
        "trees": [_tree(tree) for tree in view.trees.values()],
    }
    return hashlib.sha256(canonical(state).encode()).hexdigest()


def _tree(tree: TreeView) -> dict[str, Any]:
    return {
        "kernel": tree.kernel,
        "refused": tree.refused,
        "best": tree.best,
        "lineage": [each.design for each in tree.lineage],
        "noise": _said(tree.noise),
        "calibration": [_said(each) for each in tree.calibration],
        "anchor": _said(tree.anchor),
        # Logs without one keep the digest that they had before there were any.
        **({} if tree.champion is None else {"champion": _said(tree.champion)}),
        "anchor_readings": [_said(each) for each in tree.anchor_readings],
        "exhausted": tree.exhausted,
        "designs": [_design(design) for design in tree.designs.values()],
    }


def _design(design: DesignView) -> dict[str, Any]:
    return {
        "proposed": _said(design.proposed),
        "checks": [_said(each) for each in design.checks],
        "readings": [_said(each) for each in design.readings],
        "verdict": _said(design.verdict),
        "accepted": _said(design.accepted),
        "revoked": _said(design.revoked),
    }


def _said(event: Event | None) -> dict[str, Any] | None:
    if event is None:
        return None
    return {name: value for name, value in event.content().items() if name not in _WHERE}
