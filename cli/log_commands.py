"""Commands about the log itself: history, verify, replay, fork, export, import."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..defaults import DEFAULT_STORE
from .access import find_run, open_log
from .inspect_commands import Json, RunName, Store
from .output import emit_json, fail, say

Overrides = Annotated[list[str] | None, typer.Option("--policy", help="Threshold key=value; may be given again.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for command in (history, verify, replay, fork, export):
        app.command()(command)
    app.command("import")(import_)


def history(
    run: RunName,
    kernel: Annotated[str, typer.Option(help="Only this kernel.")] = "",
    design: Annotated[str, typer.Option(help="Only this design, such as d0007.")] = "",
    kind: Annotated[
        str, typer.Option(help="Only kinds of events with this in their name, such as tree or judged.")
    ] = "",
    since: Annotated[str, typer.Option(help="Only from this time on (ISO 8601, UTC).")] = "",
    limit: Annotated[int, typer.Option(min=0, help="Only the last N events; 0 lists all.")] = 0,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """List what happened in a run, event by event."""
    from collections import deque

    from ..events.views.timeline import Filter, timeline

    wanted = Filter(kernel=kernel, design=design.rpartition("/")[2], kind=kind, since=_time(since, as_json=as_json))
    with open_log(store, as_json=as_json) as log:
        name = find_run(log, run, as_json=as_json).name
        lines = timeline(log, name, wanted)
        chosen = deque(lines, maxlen=limit) if limit else lines
        if as_json:
            emit_json(list(chosen))
            return
        for each in chosen:
            where = " ".join(filter(None, (each["kernel"], each["step"])))
            say(f"{each['position']:>7}  {each['at'][:23]}  {each['event']:<17} {where:<32} {each['summary']}")


def verify(
    head: Annotated[str, typer.Option(help="The digest of the whole log, as an earlier check printed it.")] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Check every event and every blob of a store; exit code 1 and the first bad one when there is any."""
    from ..events.verify import verify as check

    with open_log(store, as_json=as_json) as log:
        report = check(log)
    if head and report.head != head:
        report.findings.append(f"the whole log: its digest is {report.head}, not {head}")
    if as_json:
        emit_json(
            {
                "ok": report.ok,
                "store": report.where,
                "events": report.events,
                "blobs": report.blobs,
                "head": report.head,
                "findings": report.findings,
                "notes": report.notes,
            }
        )
    else:
        for finding in report.findings:
            say(f"BAD {finding}")
        for note in report.notes:
            say(f"note: {note}")
        say(f"{report.where}: {report.events} events and {report.blobs} blobs, {_verdict(report.findings)}")
        say(f"digest of the whole log: {report.head}")
    if not report.ok:
        raise typer.Exit(1)


def _verdict(findings: list[str]) -> str:
    return "all whole" if not findings else f"{len(findings)} bad; the first: {findings[0]}"


def replay(
    run: RunName,
    policy: Overrides = None,
    sweep: Annotated[str, typer.Option(help="Several values of one threshold: key=a,b,c.")] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Decide every recorded comparison again under another policy: what flips, and what would have followed."""
    from ..acceptance.policy import PolicyError
    from ..events.views.replay import replay_run
    from ..events.views.replay import sweep as replay_each
    from .replay_view import print_replay, print_sweep

    key, equals, values = sweep.partition("=")
    if sweep and not (equals and values):
        fail(f"--sweep {sweep!r}: expected key=a,b,c", as_json=as_json)
    with open_log(store, as_json=as_json) as log:
        name = find_run(log, run, as_json=as_json).name
        try:
            if sweep:
                rows = replay_each(log, name, policy or (), key, [each.strip() for each in values.split(",")])
            else:
                data = replay_run(log, name, policy or ())
        except PolicyError as error:
            fail(str(error), as_json=as_json)
    if sweep:
        emit_json({"run": name, "key": key, "rows": rows}) if as_json else print_sweep(key, rows)
    else:
        emit_json(data) if as_json else print_replay(data)


def fork(
    run: RunName,
    at: Annotated[str, typer.Option("--at", help="The last event to share: its reference or position, see history.")],
    policy: Overrides = None,
    name: Annotated[str | None, typer.Option(help="Name of the new run.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Its budget: minutes of activity in all.")] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Start a new run that shares another one's history up to an event, perhaps under another policy."""
    from .. import __version__
    from ..acceptance.policy import Policy, PolicyError
    from ..events.base import InvariantError
    from ..events.forking import UnknownEventError, fork_run
    from ..events.views.summary import list_runs

    with open_log(store, as_json=as_json, read_only=False) as log:
        view = find_run(log, run, as_json=as_json)
        taken = {str(each["run"]) for each in list_runs(log)}
        chosen = name or next(f"{run}-fork{n}" for n in range(1, len(taken) + 2) if f"{run}-fork{n}" not in taken)
        try:
            thresholds = Policy.from_mapping(view.policy).with_overrides(policy or ())
            budget = view.minutes if minutes is None else minutes
            made = fork_run(log, view.name, at, chosen, thresholds.as_dict(), minutes=budget, version=__version__)
        except (PolicyError, UnknownEventError, InvariantError) as error:
            fail(str(error), as_json=as_json)
    if as_json:
        emit_json({"run": chosen, "parent": view.name, "at": made.last.ref, "position": made.position})
    else:
        say(f"run {chosen} continues {view.name} after event {made.last.ref} (position {made.position})")
        say(f"  kernelwright resume {chosen}")


def export(
    run: RunName,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; standard output otherwise.")
    ] = None,
    store: Store = DEFAULT_STORE,
) -> None:
    """Write a run as lines of JSON, blobs included, to be imported into another store."""
    from ..events.transfer import export_run

    with open_log(store, as_json=False) as log:
        lines = export_run(log, find_run(log, run, as_json=False).name)
        if output is None:
            for line in lines:
                say(line)
            return
        try:
            with output.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            fail(f"{output} cannot be written: {error}", code=1)


def import_(
    file: Annotated[Path, typer.Argument(help="What `kernelwright export` wrote; - reads standard input.")],
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Bring an exported run into a store; refused, with the line, when it is not whole."""
    from ..events.transfer import Imported, ImportRefusedError, import_run

    def read(lines: Any) -> Imported:
        with open_log(store, as_json=as_json, create=True, read_only=False) as log:
            return import_run(log, lines)

    try:
        if str(file) == "-":
            found = read(sys.stdin)
        else:
            with file.open(encoding="utf-8") as lines:
                found = read(lines)
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{file} cannot be read: {error}", as_json=as_json)
    except ImportRefusedError as error:
        fail(f"{file}: {error}; nothing was recorded", as_json=as_json, code=1)
    if as_json:
        emit_json({"run": found.run, "events": found.events, "new_events": found.new_events, "blobs": found.blobs})
    else:
        say(f"run {found.run}: {found.new_events} of {found.events} events and {found.blobs} blobs recorded")


def _time(text: str, *, as_json: bool) -> Any:
    from datetime import UTC, datetime

    if not text:
        return None
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        fail(f"--since {text!r}: expected a time such as 2026-11-30T15:00", as_json=as_json)
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
