"""The story of a design as text, with a small plot of its pairs."""

from __future__ import annotations

from math import log
from typing import Any

from rich.console import Console
from rich.markup import escape

from .output import seconds_text

PLOT_WIDTH = 41
"""Columns of the plot; the middle one is "no difference"."""
PURPOSES = {
    "screen": "a short look, which opens the comparison",
    "decide": "decides",
    "confirm": "fresh pairs, from which the gain is claimed",
    "anchor": "against the baseline",
    "calibrate": "the design against itself",
}


def plot_line(ratio: float, reach: float) -> str:
    """One pair as a mark left (slower) or right (faster) of the middle; ``reach`` is the log ratio at the border."""
    middle = PLOT_WIDTH // 2
    column = middle + round(max(-1.0, min(1.0, log(ratio) / reach)) * middle)
    cells = ["."] * PLOT_WIDTH
    cells[middle] = "|"
    cells[column] = "o"
    return "".join(cells)


def reading_lines(reading: dict[str, Any]) -> list[str]:
    """The pairs of a reading, each with its order, its place in the plot, its ratio, its seconds and E after it."""
    ratios = [pair["best_seconds"] / pair["candidate_seconds"] for pair in reading["pairs"]]
    reach = max([abs(log(ratio)) for ratio in ratios] + [0.02])
    lines = []
    for pair, ratio in zip(reading["pairs"], ratios, strict=True):
        seconds = f"{seconds_text(pair['best_seconds'])} / {seconds_text(pair['candidate_seconds'])}"
        line = f"{pair['order']} {plot_line(ratio, reach)} {ratio:.4f}x {seconds}"
        if pair["e_accept"] is not None:
            line += f"  E {pair['e_accept']:.3g}, against a gain {pair['e_futile']:.3g}"
        lines.append(line)
    return lines


def origin_text(data: dict[str, Any]) -> str:
    """Who proposed it: specialist, model, cost, and the digests of what was asked and answered."""
    origin = data["origin"]
    parts = [str(origin["specialist"])]
    if origin["role"]:
        parts.append(f"as {origin['role']}")
    if origin["model"]:
        parts.append(f"model {origin['model']}")
    if origin["tokens_in"] is not None or origin["tokens_out"] is not None:
        parts.append(f"{origin['tokens_in'] or 0} + {origin['tokens_out'] or 0} tokens")
    if origin["cost"] is not None:
        parts.append(f"cost {origin['cost']:.4g}")
    if origin["request"]:
        parts.append(f"request {origin['request'][:12]}, answer {(origin['answer'] or '-')[:12]}")
    return ", ".join(parts)


def knowledge_text(data: dict[str, Any]) -> str:
    """What the specialist was shown, by name."""
    shown = data["origin"]["knowledge"]
    return "; ".join(f"{name}: {_brief(value)}" for name, value in shown.items()) or "nothing"


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {inner:.4g}" if isinstance(inner, float) else str(key) for key, inner in value.items())
    return f"{len(value)} of them" if isinstance(value, list) else str(value)


def print_explanation(console: Console, data: dict[str, Any]) -> None:
    """Print what the log says of a design."""

    def line(text: str) -> None:
        console.print(text, highlight=False)

    line(f"[bold]{data['kernel']}/{data['design']}[/bold] {escape(data['title'])} - [bold]{data['status']}[/bold]")
    line(f"proposed on {data['proposed_at']} from {data['parent'] or 'nothing'}: {escape(data['why'])}")
    line(f"by {escape(origin_text(data))}")
    line(f"shown: {escape(knowledge_text(data))}")
    if data["levers"]:
        line("levers: " + escape(", ".join(f"{key}={value}" for key, value in data["levers"].items())))
    for earlier in data["earlier"]:
        line(f"\n[bold]under toolchain {earlier['judged_under'] or '-'}[/bold]")
        _print_found_out(line, earlier)
    if data["earlier"]:
        line(f"\n[bold]under toolchain {data['judged_under'] or '-'}[/bold]")
    _print_found_out(line, data)
    for text in later_lines(data):
        line(escape(text))
    if data["diff"]:
        line(f"\n{escape(data['diff'])}")


def _print_found_out(line: Any, found: dict[str, Any]) -> None:
    for each in found["reopened"]:
        line(f"reopened ({each['why']}): {escape(each['reason'])}")
    identity = found["identity"]
    line(
        f"identity: source {identity['source'][:12]} -> artifact {(identity['artifact'] or '-')[:12]}"
        f" -> loaded {', '.join(each[:12] for each in identity['loaded']) or '-'}; toolchain {found['judged_under'] or '-'}"
    )
    for check in found["checks"]:
        line(f"check {check['check']}: {check['outcome']} in {check['seconds']:.2f} s {escape(check['reason'])}")
        if check["output"]:
            line(escape(check["output"].rstrip()))
    for reading in found["readings"]:
        line(
            f"{reading['purpose']} against {reading['against']} ({PURPOSES[reading['purpose']]}), {reading['calls']} "
            f"calls a reading, evidence {reading['evidence']}: {reading['outcome']} {escape(reading['reason'])}".rstrip()
        )
        for text in reading_lines(reading):
            line(f"  {text}")
    for text in decision_lines(found):
        line(escape(text))


def decision_lines(found: dict[str, Any]) -> list[str]:
    """Verdict, policy, claimed gain and revocation, a line each."""
    lines = []
    verdict, accepted = found["verdict"], found["accepted"]
    if verdict is not None:
        lines.append(
            f"verdict against {verdict['against']}: {verdict['verdict']} after {verdict['pairs']} pairs, "
            f"policy {verdict['policy']}: {verdict['reason']}"
        )
    if accepted is not None:
        lines.append(
            f"accepted over {accepted['over']} with a gain of {accepted['gain']:.4f}x "
            f"({accepted['gain_low']:.4f} to {accepted['gain_high']:.4f}, {accepted['confidence']:.0%}, fresh pairs)"
        )
    if found["revoked"]:
        lines.append(f"revoked: {found['revoked']}")
    return lines


def later_lines(data: dict[str, Any]) -> list[str]:
    """What became of it later, a line each."""
    lines = [f"superseded by {data['superseded_by']}"] if data["superseded_by"] else []
    anchor = data["anchor"]
    if anchor is not None:
        lines.append(
            f"against {anchor['against']} directly: {anchor['ratio']:.4f}x ({anchor['ratio_low']:.4f} to "
            f"{anchor['ratio_high']:.4f}), claimed {anchor['claimed']:.4f}x" + (", ALARM" if anchor["alarm"] else "")
        )
    return lines
