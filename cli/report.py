"""The result table of a run, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from .output import counts_text, ratio_text, seconds_text, store_option
from .references import reference_lines


def result_table(summary: dict[str, Any]) -> Table:
    """One row for each kernel."""
    if any(kernel["provisional"] is not None for kernel in summary["kernels"]):
        return provisional_table(summary)
    table = Table(title=f"run {summary['run']} ({summary['state']})", title_justify="left")
    for heading in (
        "kernel",
        "baseline",
        "best",
        "speedup",
        "to floor",
        "proposed",
        "screened out",
        "compared",
        "accepted",
    ):
        table.add_column(heading, justify="left" if heading in ("kernel", "screened out") else "right", overflow="fold")
    for kernel in summary["kernels"]:
        designs = kernel["designs"]
        table.add_row(
            kernel["name"],
            seconds_text(kernel["baseline_seconds"]),
            seconds_text(kernel["best_seconds"]),
            interval_text(kernel),
            ratio_text(kernel["floor_ratio"]),
            str(designs["proposed"]),
            counts_text(designs["screened"]),
            str(designs["compared"]),
            str(designs["accepted"]),
        )
    return table


def provisional_table(summary: dict[str, Any]) -> Table:
    """One row for each kernel of a target that has no device here: everything in it is an estimate."""
    title = f"run {summary['run']} ({summary['state']}): provisional, by estimate; no device, so nothing is accepted"
    table = Table(title=title, title_justify="left")
    for heading in (
        "kernel",
        "baseline est.",
        "best est.",
        "est. speedup",
        "to floor",
        "limit",
        "values",
        "proposed",
        "screened out",
        "held",
    ):
        left = heading in ("kernel", "limit", "values", "screened out")
        table.add_column(heading, justify="left" if left else "right", overflow="fold")
    for kernel in summary["kernels"]:
        found, designs = kernel["provisional"] or {}, kernel["designs"]
        table.add_row(
            kernel["name"],
            seconds_text(found.get("baseline_seconds")),
            seconds_text(found.get("seconds")),
            ratio_text(found.get("speedup")),
            ratio_text(found.get("floor_ratio")),
            found.get("limit") or "-",
            found.get("values") or "-",
            str(designs["proposed"]),
            counts_text(designs["screened"]),
            str(designs["held"]),
        )
    return table


def interval_text(kernel: dict[str, Any]) -> str:
    """The speedup with its interval."""
    if kernel["speedup"] is None:
        return "-"
    return f"{kernel['speedup']:.2f}x ({kernel['speedup_low']:.2f} to {kernel['speedup_high']:.2f})"


def print_result(console: Console, summary: dict[str, Any], store: str, parts: Mapping[str, str] | None = None) -> None:
    """The table, the geomean, alarms, and where to look closer. ``parts`` are those of the run's toolchain."""
    console.print(result_table(summary))
    for line in reference_lines(summary, parts):
        console.print(line, highlight=False)
    if summary["geomean_speedup"] is not None:
        console.print(f"geomean speedup over the baselines: [bold]{summary['geomean_speedup']:.2f}x[/bold]")
    if summary["geomean_provisional"] is not None:
        console.print(f"geomean over the baselines, by estimate: [bold]{summary['geomean_provisional']:.2f}x[/bold]")
    for kernel in summary["kernels"]:
        if kernel["refused"]:
            console.print(f"[bold red]left out[/bold red] {kernel['name']}: {kernel['refused']}")
        if kernel["alarm"]:
            console.print(f"[bold red]alarm[/bold red] {kernel['name']}: {kernel['alarm']}")
    overhead = summary["overhead_seconds_per_candidate"]
    if overhead is not None:
        console.print(
            f"device {summary['device_seconds']:.1f} s, elapsed {summary['elapsed_seconds']:.0f} s, "
            f"loop overhead {overhead * 1e3:.0f} ms for each candidate"
        )
    run, option = summary["run"], store_option(store)
    first = next((k for k in summary["kernels"] if k["best_design"]), None)
    console.print("\nlook closer:")
    if summary["state"] != "finished":
        console.print(f"  kernelwright resume {run}{option}")
    if first is not None:
        console.print(f"  kernelwright tree {run} {first['name']}{option}")
        best = first["provisional"]["design"] if first["provisional"] is not None else first["best_design"]
        console.print(f"  kernelwright explain {run} {first['name']}/{best}{option}")
        console.print(f"  kernelwright source {run} {first['name']}/{best}{option}")
