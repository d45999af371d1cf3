"""Finding what a command names in a store; what is not there is an error with the nearest names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .output import fail, nearest

if TYPE_CHECKING:
    from ..events.log import EventLog
    from ..events.views.run import RunView
    from ..events.views.tree import DesignView, TreeView


@contextmanager
def open_log(store: str, *, as_json: bool, create: bool = False, read_only: bool = True) -> Iterator[EventLog]:
    """An open log; errors of the log end the command with one line."""
    from ..events.blobs import BlobError
    from ..events.log import EventLog, LogError
    from ..events.mapper import UnreadableEventError

    try:
        log = EventLog.open(store, create=create, read_only=read_only)
        try:
            yield log
        finally:
            log.close()
    except (LogError, BlobError, UnreadableEventError) as error:
        fail(str(error), as_json=as_json, code=1)


def find_run(log: EventLog, run: str | None, *, as_json: bool) -> RunView:
    """The run called ``run``, or the newest one."""
    from ..events.views.load import UnknownRunError, load_run
    from ..events.views.summary import list_runs

    if run is None:
        runs = list_runs(log)
        if not runs:
            fail(f"there is no run in {log.where} yet; start one with `kernelwright run`", as_json=as_json)
        run = str(runs[0]["run"])
    try:
        return load_run(log, run)
    except UnknownRunError:
        names = [str(each["run"]) for each in list_runs(log)]
        fail(f"there is no run {run!r} in {log.where}; {nearest(run, names)}", as_json=as_json)


def run_as_of(log: EventLog, view: RunView, moment: str, *, as_json: bool) -> RunView:
    """The run as of an event, a time or a toolchain; as it is now when ``moment`` is empty."""
    if not moment:
        return view
    from ..events.views.asof import UnknownMomentError, position_as_of
    from ..events.views.load import history, load_run

    try:
        until = position_as_of(history(log, view.name), moment)
    except UnknownMomentError as error:
        fail(str(error), as_json=as_json)
    return load_run(log, view.name, until=until)


def find_tree(view: RunView, kernel: str, *, as_json: bool) -> TreeView:
    """The tree of a kernel of the run."""
    if kernel not in view.trees:
        fail(f"run {view.name} has no kernel {kernel!r}; {nearest(kernel, view.trees)}", as_json=as_json)
    return view.trees[kernel]


def find_design(view: RunView, name: str, *, as_json: bool) -> tuple[TreeView, DesignView]:
    """A design named ``kernel/d0007``, or ``d0007`` where only one kernel has it."""
    kernel, slash, design = name.rpartition("/")
    trees = [find_tree(view, kernel, as_json=as_json)] if slash else list(view.trees.values())
    holders = [tree for tree in trees if design in tree.designs]
    if not holders:
        known = [
            f"{tree.kernel}/{each}" if slash or len(trees) > 1 else each for tree in trees for each in tree.designs
        ]
        fail(f"run {view.name} has no design {name!r}; {nearest(name, known)}", as_json=as_json)
    if len(holders) > 1:
        names = " or ".join(f"{tree.kernel}/{design}" for tree in holders)
        fail(f"{design!r} names one design in each of several kernels; say {names}", as_json=as_json)
    return holders[0], holders[0].designs[design]
