"""What-if replays as text."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from .output import console, ratio_text


def print_replay(data: dict[str, Any]) -> None:
    """What flips, what would have followed, and which comparisons would have to be run."""
    out = console()
    under = ", ".join(data["overrides"]) or "the recorded policy"
    out.print(
        f"[bold]{data['run']}[/bold] under {escape(under)}: {len(data['flips'])} of {data['decisions']} decisions flip"
    )
    for flip in data["flips"]:
        out.print(
            f"  {flip['kernel']}/{flip['design']} {flip['recorded']} -> [bold]{flip['replayed']}[/bold] "
            f"({flip['label']}): {escape(flip['basis'])}",
            highlight=False,
        )
    for kernel in data["kernels"]:
        steps = " -> ".join(f"{each['design']} {_gain(each)}" for each in kernel["lineage"]) or "nothing accepted"
        out.print(f"{kernel['kernel']}: {steps}; claimed {ratio_text(kernel['claimed_gain'])}", highlight=False)
    out.print(
        f"device time: {data['device_seconds_saved']:.1f} s saved, at most {data['device_seconds_needed']:.1f} s needed"
    )
    if data["comparisons"]:
        out.print("comparisons to run:")
        for each in data["comparisons"]:
            pairs = f"up to {each['pairs']} pairs" if each["pairs"] else "from its first pair on"
            out.print(f"  {each['kernel']}: {each['design']} against {each['against']} to {each['purpose']}, {pairs}")
    first = next((flip for flip in data["flips"]), None)
    if first is not None:
        options = " ".join(f"--policy {override}" for override in data["overrides"])
        out.print(f"take them:\n  kernelwright fork {data['run']} --at {first['event']} {options}", highlight=False)
    for note in data["notes"]:
        out.print(f"note: {note}")


def print_sweep(key: str, rows: list[dict[str, Any]]) -> None:
    """One row for each value of a threshold."""
    table = Table(box=None)
    for heading in (key, "flips", "exact", "claimed gains", "device s saved", "device s needed"):
        table.add_column(heading, justify="right")
    for row in rows:
        exact = sum(flip["label"] == "exact" for flip in row["flips"])
        gains = ", ".join(ratio_text(kernel["claimed_gain"]) for kernel in row["kernels"])
        saved, needed = f"{row['device_seconds_saved']:.1f}", f"{row['device_seconds_needed']:.1f}"
        table.add_row(row["value"], str(len(row["flips"])), str(exact), gains, saved, needed)
    console().print(table)


def _gain(step: dict[str, Any]) -> str:
    return f"{step['gain']:.3f}x" if step["gain"] is not None else f"({step['label']})"
