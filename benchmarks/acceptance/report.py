"""Markdown from rows of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


def text(value: Any) -> str:
    """As it is; yes and no for booleans."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def percent(value: float) -> str:
    """A fraction in percent, two decimals."""
    return f"{100 * value:.2f} %"


def plain(value: float) -> str:
    """Four significant digits."""
    return f"{value:.4g}"


def ratio(value: float) -> str:
    """One decimal."""
    return f"{value:.1f}"


def count(value: float | None) -> str:
    """A whole number as such, others with one decimal, none as a dash."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.1f}"


@dataclass(frozen=True)
class Column:
    """One column: the key of its values, its title, and how a value is written."""

    key: str
    title: str
    show: Callable[[Any], str]


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> str:
    """A Markdown table with a blank line after it."""
    lines = [" | ".join(column.title for column in columns), " | ".join("---" for _ in columns)]
    lines += [" | ".join(column.show(row[column.key]) for column in columns) for row in rows]
    return "".join(f"| {line} |\n" for line in lines) + "\n"


def heading(words: str) -> str:
    """A second-level heading."""
    return f"## {words}\n\n"


def bullet(words: str) -> str:
    """One item of a list."""
    return f"- {words}\n"
