"""A change of toolchain: what it does to a tree, decided from the folded tree alone and recorded in one save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...events.base import Context
from ...events.views.design import DesignView
from ...events.views.tree import TreeView
from ...hardware.concerns import affected
from ...hardware.target import Toolchain
from ..step import Step
from ..workbench import Workbench

HELD_TO_RETRY = 3
"""How many designs that are held for want of a device are taken up first under another toolchain."""


@dataclass(frozen=True)
class Transition:
    """What happens to a tree that enters a toolchain; see ``events.tree.TreeUpgraded``."""

    standing: tuple[str, ...]
    retry: tuple[str, ...]
    restored: tuple[str, ...]
    reopened: tuple[str, ...]


def transition(tree: TreeView, toolchain: str) -> Transition:
    """How a tree enters ``toolchain``.

    What was found out there before counts again. Under a toolchain that is new nothing stands but the baseline: the bests
    of the old one are compared with it again, the latest first, until one is accepted. What was in work, and the
    baseline, begins anew.
    """
    restored = [d.id for d in tree.designs.values() if d.judged_under != toolchain and d.epoch(toolchain) is not None]
    standing = sorted(
        (accepted_at, d.id) for d in tree.designs.values() if (accepted_at := _stood_at(d, toolchain)) is not None
    )
    been_here = tree.baseline is not None and _was_judged(tree.designs[tree.baseline], toolchain)
    lineage = [each.design for each in reversed(tree.lineage)] + _most_promising(tree)
    retry = lineage[:1] if been_here else [*lineage, *tree.retry]
    again = [name for name in dict.fromkeys(retry) if not _was_judged(tree.designs[name], toolchain)]
    begin = [tree.baseline] if tree.baseline is not None else []
    in_work = [name for name in tree.unsettled if not _was_judged(tree.designs[name], toolchain)]
    reopened = [name for name in dict.fromkeys([*begin, *in_work]) if not _was_judged(tree.designs[name], toolchain)]
    return Transition(tuple(name for _, name in standing), tuple(again), tuple(restored), tuple(reopened))


def _most_promising(tree: TreeView) -> list[str]:
    """The best by estimate among the designs that are held with right values."""
    return sorted(tree.held, key=lambda name: (tree.held[name], name))[:HELD_TO_RETRY]


def _was_judged(design: DesignView, toolchain: str) -> bool:
    return design.judged_under == toolchain or design.epoch(toolchain) is not None


def _stood_at(design: DesignView, toolchain: str) -> int | None:
    """Position of the acceptance that stands under a toolchain, None when there is none."""
    found = design if design.judged_under == toolchain else design.epoch(toolchain)
    if found is None or found.accepted is None or found.revoked is not None:
        return None
    return found.accepted_at


def enter(wb: Workbench, context: Context, now: Toolchain, changed: Sequence[str]) -> None:
    """Record that every tree of the run enters the toolchain ``now``, and drop what was built with the one before."""
    before = wb.view.toolchain
    assert before is not None, "a change is one from a toolchain to another"
    wb.forget()
    context = replace(context, toolchain=now.fingerprint)
    touched = affected(wb.target, changed)
    for kernel, view in wb.view.trees.items():
        if view.started is None:
            continue
        made = transition(view, now.fingerprint)
        wb.trees[kernel].upgrade(
            context,
            standing=made.standing,
            reopened=made.reopened,
            restored=made.restored,
            retry=made.retry,
            before=before.fingerprint,
            changed=tuple(changed),
            affected=tuple(touched),
        )


def reopen(wb: Workbench, step: Step) -> str:
    """Take a design up again: a best of another toolchain, or one that only a rule had stopped (named by ``item``)."""
    tree = wb.trees[step.kernel]
    if step.item:
        reason = f"rule {step.item}, which alone had stopped it, does not hold under this toolchain"
        tree.reopen(wb.context, step.design, "rule", reason, step.item)
        return "rule"
    tree.reopen(wb.context, step.design, "confirm", "it was the best under another toolchain")
    return "confirm"
