"""Commands about readings that were taken elsewhere: past Arena logs of a team."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..defaults import DEFAULT_STORE
from .access import open_log
from .inspect_commands import Json, Store
from .output import console, emit_json, fail, say

if TYPE_CHECKING:
    from ..hardware.rngd.visa.arena.imported import LogFile

FEW_UNUSED = 12
"""Lines that were not used and are shown; all of them are in --json."""


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("import-arena")(import_arena)


def import_arena(
    logs: Annotated[
        list[str], typer.Argument(metavar="[ARM=]LOG...", help="Logs of Arena jobs; ARM names the arm of a log.")
    ],
    name: Annotated[str | None, typer.Option(help="Name of the run that holds the readings.")] = None,
    baseline: Annotated[
        str, typer.Option(help="The arm that others are compared with; the first one if left out.")
    ] = "",
    source: Annotated[
        list[str] | None, typer.Option("--source", metavar="ARM=FILE", help="The source of an arm; may be given again.")
    ] = None,
    across_jobs: Annotated[
        bool, typer.Option("--across-jobs", help="Pair logs of one arm with logs of another, in the order given.")
    ] = False,
    scale: Annotated[
        float | None, typer.Option(min=1e-6, max=1.0, help="Standard deviation of a pair's log ratio.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option("--policy", help="Threshold key=value; may be given again.")
    ] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Take past Arena logs as readings of a run of their own, and say what the policy makes of each pair of arms."""
    from .. import __version__
    from ..acceptance.policy import Policy, PolicyError
    from ..events.base import InvariantError
    from ..graph.imported_tree import Wanted
    from ..graph.importing import UnusableLogsError
    from ..graph.importing import import_arena as take_in
    from ..hardware.rngd.visa.arena.imported import collect
    from .assemble import new_run_name

    try:
        thresholds = Policy().with_overrides(policy or ())
        files = [_log_file(each, as_json=as_json) for each in logs]
        found = collect(files, across_jobs=across_jobs)
    except (PolicyError, ValueError) as error:
        fail(str(error), as_json=as_json)
    sources = dict(_source(each, as_json=as_json) for each in source or ())
    with open_log(store, as_json=as_json, create=True, read_only=False) as log:
        run = name or f"arena-{new_run_name(log)}"
        try:
            result = take_in(log, files, found, Wanted(run, thresholds, __version__, baseline, scale, sources))
        except (UnusableLogsError, InvariantError) as error:
            fail(str(error), as_json=as_json)
    emit_json(result) if as_json else _show(result)


def _log_file(argument: str, *, as_json: bool) -> LogFile:
    from ..hardware.rngd.visa.arena.imported import LogFile

    label, equals, path = argument.partition("=")
    if not equals or Path(argument).exists():
        label, path = "", argument
    try:
        return LogFile(path, Path(path).read_text(encoding="utf-8", errors="replace"), label)
    except OSError as error:
        fail(f"the log {path} cannot be read: {error.strerror}", as_json=as_json)


def _source(argument: str, *, as_json: bool) -> tuple[str, str]:
    arm, equals, path = argument.partition("=")
    if not equals:
        fail(f"--source {argument!r}: expected ARM=FILE", as_json=as_json)
    try:
        return arm, Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"the source {path} cannot be read: {error}", as_json=as_json)


def _show(result: dict[str, Any]) -> None:
    from rich.table import Table

    screen = console()
    say(f"run {result['run']}: {result['readings']} readings")
    for kernel in result["kernels"]:
        table = Table(title=f"{kernel['kernel']}: arms", title_justify="left")
        for heading in ("arm", "design", "readings", "median cycles", "over official baseline", "to best public"):
            table.add_column(heading, justify="left" if heading in ("arm", "design") else "right")
        for arm in kernel["arms"]:
            known = arm["reference"] or {}
            speedup, ratio = known.get("speedup_over_official_baseline"), known.get("ratio_to_public_best")
            table.add_row(
                arm["arm"] + (" (wrong values)" if arm["wrong_values"] else ""),
                arm["design"],
                str(arm["readings"]),
                f"{arm['median_cycles']:,.0f}",
                "-" if speedup is None else f"{speedup:.2f}x",
                "-" if ratio is None else f"{ratio:.2f}x",
            )
        screen.print(table)
        say(f"noise: {_noise(kernel)}")
        for each in kernel["comparisons"]:
            say(
                f"{each['candidate']} against {each['best']}: {each['verdict']}; {each['ratio']:.4f}x"
                f" ({each['ratio_low']:.4f} to {each['ratio_high']:.4f}) over {each['pairs']} pairs; {each['reason']}"
            )
        if not kernel["comparisons"]:
            say("no two arms were read beside each other; --across-jobs pairs logs of different jobs")
    for line in result["unused"][:FEW_UNUSED]:
        say(f"not used: {line['file']}:{line['line']}: {line['text']}: {line['why']}")
    if len(result["unused"]) > FEW_UNUSED:
        say(f"not used: {len(result['unused']) - FEW_UNUSED} lines more (--json lists them)")
    for note in result["notes"]:
        say(f"note: {note}")
    first = result["kernels"][0]
    say(f"  kernelwright explain {result['run']} {first['kernel']}/{first['arms'][-1]['design']}")


def _noise(kernel: dict[str, Any]) -> str:
    return (
        f"{100 * kernel['scale']:.2f} % a pair, {kernel['noise']}" if kernel["scale"] is not None else kernel["noise"]
    )
