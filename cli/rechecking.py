"""Which bests a recheck confirms under the toolchain that is installed, and confirming them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .access import find_run
from .guard import explained, interruptible
from .output import warn

if TYPE_CHECKING:
    from ..events.log import EventLog
    from ..events.views.run import RunView

Bests = dict[str, dict[str, str | None]]
"""The best of each kernel, by run."""


def runs_in_use(log: EventLog, target: str, named: Sequence[str] = (), *, as_json: bool = False) -> list[RunView]:
    """The runs whose bests are worth confirming: of each kernel, the newest run that found one better than its baseline.

    Bests of older runs have been superseded; a run that is named in ``named`` is taken whatever its age, and then only
    those that are. A run whose best is the baseline has nothing to lose.
    """
    from ..events.views.load import load_run
    from ..events.views.summary import list_runs

    if named:
        return [find_run(log, name, as_json=as_json) for name in dict.fromkeys(named)]
    covered: set[str] = set()
    found = []
    for listed in list_runs(log):
        if listed["target"] != target or covered.issuperset(listed["kernels"]):
            continue
        view = load_run(log, str(listed["run"]))
        own = {tree.kernel for tree in view.trees.values() if tree.leader not in (None, tree.baseline)}
        if own - covered:
            found.append(view)
            covered |= own
    return found


def open_bests(views: Sequence[RunView], toolchain: str) -> Bests:
    """Bests of another toolchain than the one given: what would be rebuilt, verified and measured again."""
    return {
        view.name: leaders(view)
        for view in views
        if view.toolchain is not None and view.toolchain.fingerprint != toolchain and leaders(view)
    }


def leaders(view: RunView) -> dict[str, str | None]:
    """The best of each kernel of a run."""
    return {tree.kernel: tree.leader for tree in view.trees.values() if tree.leader is not None}


def confirm(log: EventLog, views: Sequence[RunView], others: dict[str, Any], *, as_json: bool) -> Bests:
    """Take runs up just far enough that their bests stand under the toolchain that is installed; what the bests are then.

    A run that another process is working at is left to that process, which sees the change itself. ``others`` are settings
    of the target that replace the runs' own.
    """
    from ..events.log import RunHeldError
    from ..graph import runner
    from .assemble import assemble_recorded

    bests: Bests = {}
    for view in views:
        if view.toolchain is None:
            continue
        _, parts = assemble_recorded(log, view, as_json=as_json, others=others)
        if parts.target.toolchain().fingerprint == view.toolchain.fingerprint:
            bests[view.name] = leaders(view)
            continue
        warn(f"confirming the bests of run {view.name} under the toolchain that is installed")
        with explained(as_json=as_json), interruptible():
            try:
                with runner.workbench(log, view.name, parts.target, parts.specs, parts.panel) as wb:
                    runner.confirm_bests(wb, lambda *_: None, others)
                    bests[view.name] = leaders(wb.view)
            except RunHeldError as error:
                warn(f"{error}; it rechecks its own bests before its next proposal")
    return bests
