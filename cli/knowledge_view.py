"""Knowledge and upgrades as tables for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

COLOURS = {"valid": "green", "stale": "yellow", "refuted": "red", "retired": "red", "unchecked": "dim"}


def _status(status: str) -> str:
    return f"[{COLOURS.get(status, 'white')}]{status}[/]"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", expand=False, show_lines=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def print_knowledge(console: Console, data: dict[str, Any]) -> None:
    """Print every item with its status and where it comes from."""
    console.print(f"toolchain {data['toolchain'] or 'not seen yet'}", highlight=False)
    claims = _table("Claims", "id", "status", "claim", "source", "found")
    for claim in data["claims"]:
        source = claim["source"]
        where = f"{source['file']}:{source['lines'][0]}-{source['lines'][1]}"
        claims.add_row(
            claim["id"], _status(claim["status"]), escape(claim["sentence"]), where, escape(claim["reason"][:80])
        )
    probes = _table("Probes", "probe", "status", "value", "95 %", "question")
    for probe in data["probes"]:
        probes.add_row(
            probe["id"].removeprefix("probe."),
            _status(probe["status"]),
            f"{probe['value']:.4g} {probe['unit']}",
            f"{probe['low']:.4g} to {probe['high']:.4g}",
            escape(probe["reason"] or probe["question"]),
        )
    rules = _table("Rules", "id", "status", "kind", "rule", "hits", "vetoes", "audits right", "wrong", "saved")
    for rule in data["rules"]:
        rules.add_row(
            rule["id"],
            _status(rule["status"]),
            rule["kind"],
            escape(rule["explanation"]),
            str(rule["hits"]),
            str(rule["vetoes"]),
            f"{rule['right']}/{rule['audits']}",
            str(rule["wrong_vetoes"]),
            f"{rule['compile_seconds_saved']:.1f} s",
        )
    lessons = _table("Lessons", "status", "kernel", "change", "effect", "ratio", "shown by")
    for lesson in data["lessons"]:
        lessons.add_row(
            _status(lesson["status"]),
            lesson["kernel"],
            escape(lesson["change"]),
            lesson["effect"],
            f"{lesson['ratio']:.3f}x ({lesson['ratio_low']:.3f} to {lesson['ratio_high']:.3f})",
            f"{lesson['run']} {lesson['design']} against {lesson['against']}",
        )
    families = _table("Closed families", "status", "kernel", "move", "assumes", "why")
    for family in data["families"]:
        assumes = (
            f"in {family['assumes']['whole']}, limited by {family['assumes']['bottleneck']}, {family['toolchain']}"
        )
        families.add_row(family["status"], family["kernel"], escape(family["move"]), assumes, escape(family["reason"]))
    estimates = _table("Trust in estimates", "change", "pairs", "right signs", "sampled", "wrongly dropped")
    for each in data["estimates"]:
        if not each["pairs"] and not each["sampled"]:
            continue  # an estimate that says nothing, as where memory binds, is neither right nor wrong
        wrong = each["wrongly_dropped"]
        estimates.add_row(
            each["change"],
            str(each["pairs"]),
            "-" if each["share"] is None else f"{each['right_signs']} ({each['share']:.0%})",
            str(each["sampled"]),
            "-" if wrong is None else f"{wrong:.0%}",
        )
    for table in (claims, probes, rules, lessons, families, estimates):
        if table.row_count:
            console.print(table)
    vetoes = data["vetoes"]
    if vetoes["hits"]:
        console.print(
            f"rules: {vetoes['hits']} hits, {vetoes['vetoes']} vetoes, {vetoes['audits']} audits, "
            f"{vetoes['wrong_vetoes']} wrong, {vetoes['compile_seconds_saved']:.1f} s of compiling saved"
        )


def print_upgrade(console: Console, data: dict[str, Any]) -> None:
    """Print what a change of toolchain changed."""
    console.print(f"from {data['from']} to {data['to']}", highlight=False)
    for name, (before, after) in data["changed"].items():
        console.print(f"  {name}: {escape(str(before))} -> {escape(str(after))}", highlight=False)
    for line in data.get("announced", ()):
        console.print(f"  announced, not tried here: {escape(line)}", highlight=False)
    for heading in ("retired", "refuted", "confirmed", "restored", "new", "waiting"):
        if data[heading]:
            table = _table(heading.capitalize(), "item", "what", "was", "found")
            for item in data[heading]:
                table.add_row(item["id"], escape(item["what"]), item["before"], escape(item["reason"]))
            console.print(table)
    if data["readings"]:
        table = _table("Readings", "probe", "before", "after", "")
        for reading in data["readings"]:
            table.add_row(
                reading["id"].removeprefix("probe."),
                _interval(reading["before"], reading["unit"]),
                _interval(reading["after"], reading["unit"]),
                "moved" if reading["moved"] else "within noise",
            )
        console.print(table)
    for best in data["bests"]:
        console.print(
            f"{best['run']} {best['kernel']}: best {best['before']} -> {best['after']} ({best['outcome']})",
            highlight=False,
        )
        for each in best["reopened"]:
            console.print(f"  opened again: {each['design']} ({each['why']})", highlight=False)


def _interval(reading: dict[str, float], unit: str) -> str:
    return f"{reading['value']:.4g} {unit} ({reading['low']:.4g} to {reading['high']:.4g})"
