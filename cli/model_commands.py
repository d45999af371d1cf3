"""Commands about language models: try them, show what they would be told, table what they used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..defaults import DEFAULT_STORE
from .access import find_design, find_run, find_tree, open_log
from .inspect_commands import Json, RunName, Store
from .output import emit_json, fail, nearest, say, seconds_text
from .settings import load_settings

if TYPE_CHECKING:
    from rich.table import Table

    from ..config import Config

models = typer.Typer(help="Language models: try the configured ones.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.add_typer(models, name="models")
    for command in (prompt, spend):
        app.command()(command)


@models.command()
def check(
    config: Annotated[
        Path | None, typer.Option("--config", help="A TOML file; kernelwright.toml here by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Try each configured model with one tiny call and say what failed; exit code 1 when one did."""
    settings = load_settings(config, {}, as_json=as_json)
    if not settings.models:
        fail("no models are configured; add [models.NAME] sections to kernelwright.toml", as_json=as_json)
    from ..agents.chat.check import check_models

    found = check_models(settings.models)
    if as_json:
        emit_json(found)
    else:
        for each in found:
            state = "ok" if each["outcome"] == "ok" else f"{each['outcome']}: {each['reason']}"
            tokens = "unknown" if each["tokens_in"] is None else f"{each['tokens_in']} + {each['tokens_out']}"
            say(f"{each['name']:<16} {each['provider']}/{each['model']}: {state}")
            held = ", ".join(_roles(settings, each)) or "-"
            say(f"{'':<16} {seconds_text(each['seconds'])}, tokens {tokens}, roles: {held}")
    if any(each["outcome"] != "ok" for each in found):
        raise typer.Exit(1)


def _roles(settings: Config, each: dict[str, Any]) -> list[str]:
    from ..agents.settings import ROLES

    return [role for role in ROLES if each["name"] in settings.roles.of(role).models]


def prompt(
    run: RunName,
    role: Annotated[str, typer.Argument(help="The role: architect, engineer, reviewer, analyst, prober, librarian.")],
    kernel: Annotated[str | None, typer.Option("--kernel", help="Which kernel; the first one when left out.")] = None,
    design: Annotated[
        str | None, typer.Option("--design", help="A design: to be repaired (engineer) or reviewed (reviewer).")
    ] = None,
    section: Annotated[
        str, typer.Option("--section", help="Part of the heading of a documents' section (librarian); else the first.")
    ] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Show exactly what a specialist would be told now."""
    from ..agents.settings import ROLES

    if role not in ROLES:
        fail(f"there is no role {role!r}; {nearest(role, ROLES)}", as_json=as_json)
    with open_log(store, as_json=as_json) as log:
        view = find_run(log, run, as_json=as_json)
        name = None
        if design is not None:
            tree, found = find_design(view, design, as_json=as_json)
            kernel, name = tree.kernel, found.id
        elif kernel is not None:
            kernel = find_tree(view, kernel, as_json=as_json).kernel
        from ..agents.desk import desk_of
        from ..agents.show import ShowError, shown
        from .assemble import assemble_recorded

        settings, parts = assemble_recorded(log, view, as_json=as_json)
        desk = desk_of(log, view.name, parts.target, parts.specs)
        try:
            told = shown(desk, role, kernel or next(iter(view.trees)), name, settings.roles, section)
        except ShowError as error:
            fail(str(error), as_json=as_json)
    if as_json:
        emit_json(told)
    else:
        say(f"--- system (prompt {told['prompt'][:12]}, version {told['version']}) ---\n{told['system']}")
        say(f"--- user ---\n{told['user']}")


def spend(run: RunName, store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """Table what language models used in a run and what came of it, and how far each budget is used."""
    from ..events.views.answers import load_answers
    from ..events.views.spend import spend_summary

    with open_log(store, as_json=as_json) as log:
        view = find_run(log, run, as_json=as_json)
        summary = spend_summary(load_answers(log, view.name), view)
    if as_json:
        emit_json(summary)
        return
    _print_spend(summary)


def _print_spend(summary: dict[str, Any]) -> None:
    if not summary["rows"]:
        say(f"no language model was asked in run {summary['run']}")
    else:
        from rich.console import Console

        Console().print(_table(summary["rows"]))
        say(f"calls of tools: {summary['tool_calls']}")
    say(f"device time: {seconds_text(summary['device_seconds'])}")
    for limit in summary["limits"]:
        share = limit["used"] / limit["limit"]
        say(
            f"budget of {limit['scope']}: {limit['used']:.6g} of {limit['limit']:.6g} {limit['resource']} ({share:.0%})"
        )


def _table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("role", "model"):
        table.add_column(heading)
    for heading in (
        "calls",
        "attempts",
        "failed",
        "reused",
        "tokens in",
        "out",
        "cost",
        "waited",
        "usable",
        "accepted",
        "gain",
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        failed = ", ".join(f"{name} {count}" for name, count in sorted(row["failed"].items())) or "-"
        table.add_row(
            row["role"],
            row["model"],
            str(row["calls"]) + (f" ({row['in_flight']} open)" if row["in_flight"] else ""),
            str(row["attempts"]),
            failed,
            str(row["reused"]),
            _count(row["tokens_in"], row["tokens_unknown_attempts"]),
            _count(row["tokens_out"], row["tokens_unknown_attempts"]),
            _money(row),
            seconds_text(row["seconds"]),
            f"{row['usable']} of {row['usable'] + row['unusable']}",
            f"{row['accepted']} of {row['proposed']}",
            f"{row['log_gain']:.4f}",
        )
    return table


def _count(value: int | None, unknown: int) -> str:
    if value is None:
        return "unknown" if unknown else "-"
    return f"{value} + unknown" if unknown else str(value)


def _money(row: dict[str, Any]) -> str:
    if row["cost"] is None:
        return "unknown" if row["cost_unknown_attempts"] else "-"
    text = f"{row['cost']:.4f} {row['currency'] or ''}".strip()
    return f"{text} + unknown" if row["cost_unknown_attempts"] else text
