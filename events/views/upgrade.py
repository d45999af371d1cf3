"""What an upgrade did to the trees of a store: bests before and after, and what was opened again."""

from __future__ import annotations

from collections.abc import Iterator

from ..log import EventLog
from .asof import UnknownMomentError, position_as_of
from .load import history, load_run
from .run import RunView
from .summary import list_runs

Reopened = tuple[tuple[str, str], ...]


def bests_between(
    log: EventLog, target: str, old: str, new: str
) -> Iterator[tuple[str, str, str | None, str | None, Reopened]]:
    """(run, kernel, best before, best after, designs opened again with their reason) for each tree of a target's runs
    that has been in both toolchains; both states are folded from the log as of their toolchain.
    """
    for listed in list_runs(log):
        if listed["target"] != target:
            continue
        run = str(listed["run"])
        before, after = _as_of(log, run, old), _as_of(log, run, new)
        if before is None or after is None:
            continue
        for kernel, tree in after.trees.items():
            reopened = tuple(
                (design.id, each.rule or each.why)
                for design in tree.designs.values()
                for each in design.reopened
                if each.toolchain == new and each.why != "toolchain"
            )
            yield run, kernel, before.trees[kernel].best, tree.best, reopened


def _as_of(log: EventLog, run: str, toolchain: str) -> RunView | None:
    try:
        return load_run(log, run, until=position_as_of(history(log, run), toolchain))
    except UnknownMomentError:  # the run was never in this toolchain
        return None
