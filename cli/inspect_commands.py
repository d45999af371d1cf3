"""Commands that read: status, runs, tree, explain, source, doctor. They import nothing heavy."""

from __future__ import annotations

from typing import Annotated

import typer

from ..defaults import DEFAULT_STORE
from .access import find_design, find_run, find_tree, open_log, run_as_of
from .output import console, emit_json, say

Store = Annotated[str, typer.Option("--store", help="The log: a file path, sqlite:///path, or postgresql://...")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
RunName = Annotated[str, typer.Argument(help="Name of the run; `kernelwright runs` lists them.")]
DesignName = Annotated[str, typer.Argument(help="kernel/d0007, or d0007 where that is clear.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for command in (status, runs, tree, explain, source, doctor):
        app.command()(command)


def status(
    run: Annotated[str | None, typer.Argument(help="Name of the run; the newest when left out.")] = None,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Say how far a run is: best so far, ratio to the floor, verdicts, device time."""
    from .result import tell_result

    with open_log(store, as_json=as_json) as log:
        tell_result(find_run(log, run, as_json=as_json), store, as_json=as_json)


def runs(store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """List the runs of a store, newest first."""
    from ..events.opening import shown
    from ..events.views.summary import list_runs

    with open_log(store, as_json=as_json) as log:
        found = list_runs(log)
    if as_json:
        emit_json(found)
        return
    for each in found:
        say(f"{each['run']}  {each['state']:<11}  {each['started']}  {each['target']}  {', '.join(each['kernels'])}")
    if not found:
        say(f"no runs in {shown(store)} yet; start one with `kernelwright run`")


def tree(
    run: RunName,
    kernel: Annotated[str, typer.Argument(help="Name of the kernel.")],
    as_of: Annotated[str, typer.Option(help="An earlier state: an event, a time, or a toolchain's fingerprint.")] = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Show the Design Tree of a kernel: what was tried, from what, and what came of it."""
    from .tree_view import print_tree, tree_data

    with open_log(store, as_json=as_json) as log:
        found = find_run(log, run, as_json=as_json)
        view = find_tree(run_as_of(log, found, as_of, as_json=as_json), kernel, as_json=as_json)
        data = tree_data(view)
    if as_json:
        emit_json(data)
    else:
        print_tree(console(), view)


def explain(
    run: RunName,
    design: DesignName,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown for a pull request.")] = False,
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Say why a design was accepted or not, from the log alone: checks, pairs, E, policy, source diff."""
    from ..events.views.explain import explain as story

    with open_log(store, as_json=as_json) as log:
        view = find_run(log, run, as_json=as_json)
        data = story(log, view, *find_design(view, design, as_json=as_json))
    if as_json:
        emit_json(data)
    elif markdown:
        from .explain_markdown import markdown as as_markdown

        say(as_markdown(data))
    else:
        from .explain_view import print_explanation

        print_explanation(console(), data)


def source(run: RunName, design: DesignName, store: Store = DEFAULT_STORE, as_json: Json = False) -> None:
    """Print the source of a design."""
    with open_log(store, as_json=as_json) as log:
        view = find_run(log, run, as_json=as_json)
        kernel, found = find_design(view, design, as_json=as_json)
        text = log.blobs.text(found.proposed.source)
    if as_json:
        emit_json({"kernel": kernel.kernel, "design": found.id, "digest": found.proposed.source, "source": text})
    else:
        say(text)


def doctor(as_json: Json = False) -> None:
    """Say what this machine offers and what is missing, with the command that would fix it. Changes nothing."""
    from ..hardware.cpu import doctor as examine
    from ..hardware.environments import toolchain_lines

    facts = examine()
    facts["toolchains"] = toolchain_lines()
    facts["lines"] = [*facts["lines"], *facts["toolchains"]]
    if as_json:
        emit_json(facts)
        return
    for line in facts["lines"]:
        say(line)
