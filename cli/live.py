"""Live progress of a run: a table that is redrawn on a terminal, one line per event of note elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..events.views.run import RunView
from ..events.views.summary import kernel_summary
from ..graph.runner import Observer
from ..graph.step import Step
from .output import ratio_text, seconds_text

LINE_EVERY_SECONDS = 10.0
"""Without a terminal a line is written at least this often, and at each acceptance."""


def progress_table(view: RunView, step: Step | None) -> Group:
    """What is going on, what is best so far, how far from the floor, and what it has cost."""
    table = Table(box=None, pad_edge=False)
    for heading in (
        "kernel",
        "best",
        "speedup",
        "to floor",
        "proposed",
        "screened",
        "accepted",
        "rejected",
        "undecided",
        "held",
    ):
        table.add_column(heading, justify="left" if heading == "kernel" else "right")
    for tree in view.trees.values():
        row = kernel_summary(tree)
        counts = row["designs"]
        table.add_row(
            tree.kernel,
            *_so_far(row),
            str(counts["proposed"]),
            str(sum(counts["screened"].values())),
            str(counts["accepted"]),
            str(counts["rejected"]),
            str(counts["undecided"]),
            str(counts["held"]),
        )
    return Group(table, Text(status_line(view, step)))


def _so_far(row: dict[str, Any]) -> tuple[str, str, str]:
    """Best, speedup, ratio to the floor; estimates are marked with a tilde."""
    guess = row["provisional"]
    if guess is None:
        return seconds_text(row["best_seconds"]), ratio_text(row["speedup"]), ratio_text(row["floor_ratio"])
    texts = seconds_text(guess["seconds"]), ratio_text(guess["speedup"]), ratio_text(guess["floor_ratio"])
    best, gained, far = (f"~{text}" for text in texts)
    return best, gained, far


def status_line(view: RunView, step: Step | None) -> str:
    """One line: the step, the device time, the time left."""
    doing = "at rest" if step is None else " ".join(filter(None, (step.name, step.kernel, step.design)))
    minutes = view.elapsed_seconds / 60
    return f"{doing} | {minutes:.1f} of {view.minutes:g} min | device {view.device_seconds:.1f} s"


@contextmanager
def progress(console: Console, *, quiet: bool) -> Iterator[Observer]:
    """An observer that shows progress on ``console`` while the context lasts."""
    if quiet:
        yield lambda _view, _step, _outcome: None
    elif console.is_terminal:
        with Live(console=console, refresh_per_second=4, transient=True) as live:

            def redraw(view: RunView, step: Step | None, _outcome: str) -> None:
                live.update(progress_table(view, step))

            yield redraw
    else:
        yield Lines(console)


class Lines:
    """Progress as plain lines."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = 0.0

    def __call__(self, view: RunView, step: Step | None, outcome: str) -> None:
        """Write a line when something was accepted or refused, or when the last one is old."""
        if step is None or not outcome:
            return
        notable = (step.name in ("accept", "anchor", "calibrate") and outcome == "ok") or outcome in (
            "refused",
            "alarm",
        )
        now = time.monotonic()
        if not notable and now - self._last < LINE_EVERY_SECONDS:
            return
        self._last = now
        text = status_line(view, step) + f" -> {outcome}"
        tree = view.trees.get(step.kernel)
        if tree is not None:
            best, gained, far = _so_far(kernel_summary(tree))
            text += f" | best {best} {gained}, {far} floor"
        self._console.print(text, highlight=False, soft_wrap=True)
        sys.stderr.flush()
