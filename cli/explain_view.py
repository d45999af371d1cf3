"""The story of a design as text, with a small plot of its pairs."""

from __future__ import annotations

from math import log
from typing import Any

from rich.console import Console
from rich.markup import escape

from .output import seconds_text

PLOT_WIDTH = 41
"""Columns of the plot; the middle one is "no difference"."""


def plot_line(ratio: float, reach: float) -> str:
    """One pair as a mark left (slower) or right (faster) of the middle; ``reach`` is the log ratio at the border."""
    middle = PLOT_WIDTH // 2
    column = middle + round(max(-1.0, min(1.0, log(ratio) / reach)) * middle)
    cells = ["."] * PLOT_WIDTH
    cells[middle] = "|"
    cells[column] = "o"
    return "".join(cells)


def print_explanation(console: Console, data: dict[str, Any]) -> None:
    """Print what the log says of a design."""
    console.print(
        f"[bold]{data['kernel']}/{data['design']}[/bold] {escape(data['title'])} - [bold]{data['status']}[/bold]"
    )
    console.print(
        f"proposed by {data['by']} on {data['proposed_at']}, from {data['parent'] or 'nothing'}: {escape(data['why'])}"
    )
    if data["levers"]:
        console.print("levers: " + ", ".join(f"{k}={v}" for k, v in data["levers"].items()), highlight=False)
    identity = data["identity"]
    console.print(
        f"identity: source {identity['source'][:12]} -> artifact {(identity['artifact'] or '-')[:12]}"
        f" -> loaded {', '.join(each[:12] for each in identity['loaded']) or '-'}; toolchain {data['toolchain'] or '-'}"
    )
    for check in data["checks"]:
        console.print(
            f"check {check['check']}: {check['outcome']} in {check['seconds']:.2f} s {escape(check['reason'])}"
        )
        if check["output"] and check["outcome"] != "ok":
            console.print(escape(check["output"]), highlight=False)
    for reading in data["readings"]:
        _print_reading(console, reading)
    verdict = data["verdict"]
    if verdict is not None:
        console.print(
            f"verdict against {verdict['against']}: [bold]{verdict['verdict']}[/bold]: {escape(verdict['reason'])}"
        )
        path = " ".join(f"{e:.3g}" for e in verdict["e_accept"])
        console.print(f"E after each pair: {path} (policy {verdict['policy']})", highlight=False)
    accepted = data["accepted"]
    if accepted is not None:
        console.print(
            f"accepted over {accepted['over']} with a gain of {accepted['gain']:.4f}x "
            f"({accepted['gain_low']:.4f} to {accepted['gain_high']:.4f}, {accepted['confidence']:.0%}, fresh pairs)"
        )
    for label, value in (("superseded by", data["superseded_by"]), ("revoked", data["revoked"])):
        if value:
            console.print(f"{label}: {escape(value)}")
    if data["diff"]:
        console.print(f"\n{escape(data['diff'])}", highlight=False)


def _print_reading(console: Console, reading: dict[str, Any]) -> None:
    console.print(
        f"{reading['purpose']} against {reading['against']}, {reading['calls']} calls a reading, evidence "
        f"{reading['evidence']}: {reading['outcome']}"
    )
    ratios = [pair["best_seconds"] / pair["candidate_seconds"] for pair in reading["pairs"]]
    reach = max([abs(log(ratio)) for ratio in ratios] + [0.02])
    for pair, ratio in zip(reading["pairs"], ratios, strict=True):
        console.print(
            f"  {pair['order']} {plot_line(ratio, reach)} {ratio:.4f}x"
            f" {seconds_text(pair['best_seconds'])} / {seconds_text(pair['candidate_seconds'])}",
            highlight=False,
        )
