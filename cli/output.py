"""What commands print: one JSON object or text for people, errors in one line that says what to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from ..defaults import DEFAULT_STORE

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 160
"""Columns of tables that do not go to a terminal."""


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for the tables where there is none."""
    from rich.console import Console

    made = Console(stderr=stderr)
    return made if made.is_terminal else Console(stderr=stderr, width=PIPED_WIDTH)


def emit_json(value: object) -> None:
    """Print one JSON value to standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def say(text: str = "") -> None:
    """Print a line of text to standard output."""
    sys.stdout.write(text + "\n")


def fail(message: str, *, as_json: bool = False, code: int = 2) -> NoReturn:
    """Print an error for a person (or as JSON) and leave with ``code``."""
    if as_json:
        emit_json({"error": message})
    else:
        sys.stderr.write(f"kernelwright: {message}\n")
    raise typer.Exit(code)


def warn(line: str) -> None:
    """Print a line that a person should see while a command works."""
    sys.stderr.write(f"kernelwright: {line}\n")


def store_option(store: str) -> str:
    """What a command needs beside a run's name to find its log: nothing for the default one."""
    from ..events.opening import shown

    return "" if store == DEFAULT_STORE else f" --store {shown(store)}"


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the nearest known ones, or all of them."""
    import difflib

    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names[:20])}" if names else "there are none yet"


def seconds_text(value: float | None) -> str:
    """A duration of three digits with a fitting unit, or a dash."""
    if value is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{_three(value / size)} {unit}"
    return f"{_three(value * 1e9)} ns"


def _three(value: float) -> str:
    """A number with three digits, without an exponent."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def ratio_text(value: float | None) -> str:
    """A ratio with an x, or a dash."""
    return "-" if value is None else f"{value:.2f}x"


def counts_text(counts: dict[str, Any]) -> str:
    """Screened-out counts by check."""
    return ", ".join(f"{check} {count}" for check, count in sorted(counts.items())) or "none"
