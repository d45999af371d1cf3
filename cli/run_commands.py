"""Commands that work at a run: run, resume, submit."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..defaults import DEFAULT_STORE
from .access import find_run, find_tree, open_log
from .guard import explained, interruptible, tell_who_waits
from .inspect_commands import Json, RunName, Store
from .options import TargetOptions, ToolchainName
from .output import console, emit_json, fail, say, store_option, warn
from .settings import load_settings, settings_and_policy, target_options

if TYPE_CHECKING:
    from ..events.log import EventLog
    from .assemble import Parts


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for command in (run, resume, submit):
        app.command()(command)


def run(
    target: Annotated[
        str | None, typer.Option(help="The accelerator: cpu, tpu, rngd, or one that is installed.")
    ] = None,
    kernels: Annotated[str | None, typer.Option(help="Kernels to optimize: a,b.")] = None,
    kernel_file: Annotated[
        list[Path] | None, typer.Option(help="A Python file that defines a kernel of yours; may be given again.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="How long to search.")] = None,
    store: Annotated[
        str | None, typer.Option("--store", envvar="KERNELWRIGHT_STORE", help="The log: a file path or sqlite:///path.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the search; what is measured stays random.")] = None,
    sandbox: Annotated[
        str | None, typer.Option(help="Isolation of candidate code: full, or reduced where the machine allows no more.")
    ] = None,
    toolchain: ToolchainName = None,
    option: TargetOptions = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="Acceptance threshold key=value; may be given again.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A TOML file; kernelwright.toml here by default.")
    ] = None,
    replay_answers: Annotated[
        str | None,
        typer.Option(
            "--replay-answers", metavar="RUN", help="Use the recorded answers of this run's models; no network."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Optimize kernels on a target; every step is recorded, so the run can be resumed, audited and judged again."""
    overrides: dict[str, Any] = {
        "target": target,
        "kernels": tuple(filter(None, map(str.strip, kernels.split(",")))) if kernels is not None else None,
        "kernel_files": tuple(map(str, kernel_file)) if kernel_file else None,
        "store": store,
        "seed": seed,
        "budgets": {"minutes": minutes},
    }
    named = target or load_settings(config, {}, as_json=as_json).target
    own = {"sandbox": sandbox, **target_options(toolchain, option, as_json=as_json)}
    chosen = {**overrides, "targets": {named: own}}
    settings, thresholds = settings_and_policy(config, chosen, policy, as_json=as_json)
    from .. import __version__
    from ..graph.runner import Plan
    from .assemble import assemble, assemble_recorded, remember_kernel_files, start_under_new_name

    parts = assemble(settings, as_json=as_json) if replay_answers is None else None
    with open_log(settings.store, as_json=as_json, create=parts is not None, read_only=False) as log:
        if parts is not None:
            sources = remember_kernel_files(log, settings)
        else:
            view = find_run(log, replay_answers, as_json=as_json)
            changes = {"replay_answers": view.name, "budgets": settings.budgets.model_dump()}
            settings, parts = assemble_recorded(log, view, as_json=as_json, changes=changes)
            sources = dict(view.started.config.get("kernel_sources", {})) if view.started is not None else {}
        # Where the log lies is not part of the run; a URL would bring its password into the log.
        recorded = {
            **settings.model_dump(mode="json", exclude={"store"}),
            "kernel_sources": sources,
        }
        plan = Plan(
            run="",
            target=settings.target,
            kernels=parts.kernels,
            policy=thresholds,
            seed=settings.seed,
            minutes=settings.budgets.minutes,
            config=recorded,
            version=__version__,
        )
        name = start_under_new_name(log, plan)
        _work(log, name, parts, as_json=as_json)


def resume(
    run: RunName,
    minutes: Annotated[float | None, typer.Option(help="A new budget: minutes of activity in all.")] = None,
    budget: Annotated[
        list[str] | None, typer.Option(help="A new budget: tokens=N, money=N, engineer.tokens=N; may be given again.")
    ] = None,
    toolchain: ToolchainName = None,
    option: TargetOptions = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Take an interrupted run up again, exactly where its log ends."""
    with open_log(store, as_json=as_json, read_only=False) as log:
        view = find_run(log, run, as_json=as_json)
        allowed = view.minutes if minutes is None else minutes
        if view.state == "finished" and (minutes is None or allowed * 60 <= view.elapsed_seconds):
            spent = view.elapsed_seconds / 60
            fail(
                f"run {run} is finished after {spent:.1f} of {view.minutes:g} minutes; "
                f"give it more with --minutes {view.minutes * 2:g}",
                as_json=as_json,
            )
        from ..config import ConfigError
        from .assemble import assemble_recorded
        from .budgets import budgets_in_force

        try:
            changes = {"budgets": budgets_in_force(log, view, budget or ())}
            others = target_options(toolchain, option, as_json=as_json)
        except ConfigError as error:
            fail(str(error), as_json=as_json)
        _, parts = assemble_recorded(log, view, as_json=as_json, changes=changes, others=others)
        _work(log, run, parts, as_json=as_json, resume_minutes=allowed, others=others)


def submit(
    run: RunName,
    kernel: Annotated[str, typer.Option("--kernel", help="Which kernel the source is for.")],
    source: Annotated[Path, typer.Option("--source", help="The file with your design.")],
    title: Annotated[str, typer.Option(help="What the design does, in a few words.")] = "a person's design",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Put a design of your own through the same checks and the same comparison."""
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"the source {source} cannot be read: {error}", as_json=as_json)
    with open_log(store, as_json=as_json, read_only=False) as log:
        view = find_run(log, run, as_json=as_json)
        find_tree(view, kernel, as_json=as_json)
        from .assemble import assemble_recorded

        _, parts = assemble_recorded(log, view, as_json=as_json)
        from ..graph.runner import submit_design, workbench

        with workbench(log, run, parts.target, parts.specs, parts.panel) as wb:
            from .live import progress

            wb.on_wait = tell_who_waits
            with explained(as_json=as_json), interruptible(), progress(console(stderr=True), quiet=as_json) as observer:
                result = submit_design(wb, kernel, text, title, observer)
    if as_json:
        emit_json(result)
    else:
        say(f"{kernel}/{result['design']}: {result['verdict'] or result['outcome']} {result['reason']}".rstrip())
        say(f"  kernelwright explain {run} {kernel}/{result['design']}")


def _work(
    log: EventLog,
    name: str,
    parts: Parts,
    *,
    as_json: bool,
    resume_minutes: float | None = None,
    others: dict[str, Any] | None = None,
) -> None:
    """Drive a run to its end, with progress; Ctrl-C leaves a resumable log and exit code 130."""
    from ..graph import runner
    from ..hardware.target import TargetError
    from .live import progress
    from .result import tell_result

    code = 0
    with explained(as_json=as_json):
        with runner.workbench(log, name, parts.target, parts.specs, parts.panel) as wb:
            wb.on_wait = tell_who_waits
            if resume_minutes is not None:
                runner.resume(wb, resume_minutes, "search", others)
            try:
                with interruptible(), progress(console(stderr=True), quiet=as_json) as observer:
                    runner.drive(wb, observer)
            except KeyboardInterrupt as interrupt:
                code = 128 + (interrupt.args[0] if interrupt.args else signal.SIGINT)
                wb.close()
                runner.stop(wb, "interrupted", "asked to stop")
            except TargetError as error:
                runner.stop(wb, "failed", str(error))
                raise
            view = wb.view
        tell_result(view, log.where, as_json=as_json)
    if code:
        warn(f"stopped; go on with `kernelwright resume {name}{store_option(log.where)}`")
        raise typer.Exit(code)
