"""A Design Tree as a picture in text, and as data."""

from __future__ import annotations

from math import exp
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from ..events.views.explain import status_of
from ..events.views.tree import DECIDING, DesignView, TreeView
from .output import seconds_text

COLOURS = {
    "best": "bold green",
    "provisional best by estimate": "bold magenta",
    "held": "magenta",
    "accepted": "green",
    "baseline": "cyan",
    "rejected": "dim",
    "undecided": "yellow",
}


def measured_ratio(design: DesignView) -> float | None:
    """The median of best / candidate over the deciding pairs read last, or None."""
    if not design.readings:
        return None
    differences = sorted(design.differences(DECIDING, design.readings[-1].best))
    return exp(differences[len(differences) // 2]) if differences else None


def tree_data(tree: TreeView) -> dict[str, Any]:
    """The tree as JSON-ready data, in the order of registration."""
    return {
        "kernel": tree.kernel,
        "best": tree.best,
        "provisional": tree.provisional,
        "baseline": tree.baseline,
        "lineage": [each.design for each in tree.lineage],
        "designs": [
            {
                "design": d.id,
                "parent": d.proposed.parent,
                "kind": d.proposed.kind,
                "by": d.proposed.by,
                "title": d.proposed.title,
                "levers": d.proposed.levers,
                "status": status_of(tree, d),
                "ratio": measured_ratio(d),
                "estimated_seconds": d.estimated_seconds,
                "gain": d.accepted.gain if d.accepted else None,
            }
            for d in tree.designs.values()
        ],
    }


def print_tree(console: Console, tree: TreeView) -> None:
    """Print the tree; each line is a design, its title, what became of it, and how it read against the best then."""
    nodes: dict[str, Tree] = {}
    root = Tree(f"[bold]{escape(tree.kernel)}[/bold]")
    for design in tree.designs.values():
        status = status_of(tree, design)
        ratio = measured_ratio(design)
        text = f"{design.id} {escape(design.proposed.title)}  [{COLOURS.get(status, 'red')}]{status}[/]"
        if ratio is not None:
            text += f"  {ratio:.3f}x of {design.readings[-1].best}"
        elif design.estimated_seconds is not None:
            text += f"  ~{seconds_text(design.estimated_seconds)} by estimate"
        parent = nodes.get(design.proposed.parent or "", root)
        nodes[design.id] = parent.add(text)
    console.print(root)
