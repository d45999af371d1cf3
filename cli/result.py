"""What a run has come to, as ``run``, ``resume`` and ``status`` print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .output import console, emit_json

if TYPE_CHECKING:
    from ..events.views.run import RunView


def tell_result(view: RunView, store: str, *, as_json: bool) -> None:
    """Print a run's result: as one JSON object, or as a table with where to look closer."""
    from ..events.views.summary import run_summary

    summary = run_summary(view)
    parts = view.toolchain.parts if view.toolchain is not None else None
    if as_json:
        from .references import references

        emit_json({**summary, "references": references(summary, parts)})
    else:
        from .report import print_result

        print_result(console(), summary, store, parts)
