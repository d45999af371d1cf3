"""Search-and-replace edits: each passage must stand exactly once in the source, or the whole answer is not used."""

from __future__ import annotations

from collections.abc import Sequence

from .quote import one_line
from .roles import Edit


class EditError(Exception):
    """An edit does not fit. The message says which one and why."""


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """``source`` with the edits made in order; raises EditError."""
    text = source
    for number, edit in enumerate(edits, 1):
        count = text.count(edit.search)
        if count != 1:
            found = "is not there" if count == 0 else f"stands there {count} times"
            raise EditError(f"edit {number}: the passage to replace {found}: {one_line(edit.search, 80)!r}")
        text = text.replace(edit.search, edit.replace)
    if text == source:
        raise EditError("the edits change nothing")
    return text
