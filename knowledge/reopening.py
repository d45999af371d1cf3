"""Designs that only a rule had stopped, and whose rule does not hold any more: a fold over tree and knowledge base."""

from __future__ import annotations

from ..events.views.knowledge import KnowledgeView
from ..events.views.tree import TreeView


def reopenable(tree: TreeView, known: KnowledgeView, toolchain: str) -> tuple[str, str] | None:
    """The next design to open again, with the rule that had stopped it; None when there is none.

    A rule stops a design by a veto, or is what its failure stands for. A design is opened once for a rule and toolchain;
    one that failed under this very toolchain stays as it is, for its failure is the evidence.
    """
    retired = known.once(("retired", toolchain), lambda: _retired(known, toolchain))
    if not retired:
        return None
    for name, rule in tree.stopped.items():
        if rule not in retired:
            continue
        design = tree.designs[name]
        failed = design.failed
        again = any(each.rule == rule and each.toolchain == toolchain for each in design.reopened)
        if failed is not None and not again and (failed.check == "review" or failed.toolchain != toolchain):
            return name, rule
    return None


def _retired(known: KnowledgeView, toolchain: str) -> frozenset[str]:
    """The rules that do not hold under a toolchain."""
    return frozenset(
        rule.id for rule in known.rules.values() if rule.standing(toolchain, known.toolchains).status == "retired"
    )
