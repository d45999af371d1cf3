"""Commands on what is known of a target: learn, knowledge, recheck, upgrade-report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..defaults import DEFAULT_STORE
from .access import open_log
from .guard import explained, interruptible
from .inspect_commands import Json, Store
from .options import TargetOptions, ToolchainName
from .output import console, emit_json, fail, nearest, say
from .settings import load_settings, target_options

if TYPE_CHECKING:
    from ..config import Config
    from ..events.log import EventLog
    from ..events.views.knowledge import KnowledgeView
    from ..graph.relearn import Study
    from ..knowledge.due import Due
    from .rechecking import Bests

TargetName = Annotated[str, typer.Option("--target", help="The accelerator.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="A TOML file; kernelwright.toml here by default.")]
Moment = Annotated[
    str, typer.Option("--as-of", help="An event, a time such as 2026-11-30T15:00, or a toolchain's fingerprint.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command()(learn)
    app.command()(knowledge)
    app.command()(recheck)
    app.command("upgrade-report")(upgrade_report)


def learn(
    docs: Annotated[
        list[Path] | None, typer.Option("--docs", help="A folder or file of documentation; may be given again.")
    ] = None,
    more: Annotated[list[Path] | None, typer.Argument(help="Further folders or files.")] = None,
    target: TargetName = "cpu",
    toolchain: ToolchainName = None,
    option: TargetOptions = None,
    store: Store = DEFAULT_STORE,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Read documentation (Markdown, reStructuredText), write it down as claims, and check them on the toolchain.

    Without --docs the target's own documentation is read.
    """
    from ..graph.steps.knowledge import own_documents
    from ..knowledge.documents import DocumentError, read_documents

    paths = [*(docs or ()), *(more or ())]
    settings = _settings(config, target, toolchain, option, as_json=as_json)
    try:
        documents = read_documents(paths)
    except DocumentError as error:
        fail(str(error), as_json=as_json)
    with open_log(store, as_json=as_json, create=True, read_only=False) as log:
        study = _study(log, settings, as_json=as_json)
        with explained(as_json=as_json), interruptible():
            documents = documents or own_documents(study.target)
            if not documents:
                fail(f"target {target} brings no documentation; give some with --docs", as_json=as_json)
            new = study.read(documents)
            checked = study.check(_teller(study, quiet=as_json))
        counts = _counts(study.known, study.toolchain)
    result = {"documents": [d.name for d in documents], "new_claims": new, "checked": checked, "claims": counts}
    if as_json:
        emit_json(result)
        return
    say(f"{len(documents)} documents, {new} new claims, {checked} items checked")
    say("claims: " + ", ".join(f"{count} {status}" for status, count in counts.items()))
    say(f"  kernelwright knowledge {target}")


def knowledge(
    target: Annotated[str, typer.Argument(help="The accelerator.")] = "cpu",
    toolchain: Annotated[
        str, typer.Option(help="Statuses under this toolchain (first digits of its fingerprint); else the latest seen.")
    ] = "",
    as_of: Moment = "",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Show what is known of a target: claims, probes, rules, lessons, and how far estimates are trusted."""
    from ..knowledge.report import knowledge_data

    with open_log(store, as_json=as_json) as log:
        known = _known(log, target, as_of, as_json=as_json)
        data = knowledge_data(known, _toolchain(known, toolchain, as_json=as_json) or known.toolchain)
    if as_json:
        emit_json(data)
        return
    from .knowledge_view import print_knowledge

    print_knowledge(console(), data)


def recheck(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done, in which order.")] = False,
    run: Annotated[
        list[str] | None, typer.Option("--run", help="Confirm the bests of this run; may be given again.")
    ] = None,
    target: TargetName = "cpu",
    toolchain: ToolchainName = None,
    option: TargetOptions = None,
    store: Store = DEFAULT_STORE,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Check again what the installed toolchain has made stale, cheapest first; then the bests of the newest runs.

    Of each kernel, the best of the newest run that found one is confirmed, or of the runs that are named.
    """
    from .rechecking import confirm, runs_in_use

    settings = _settings(config, target, toolchain, option, as_json=as_json)
    with open_log(store, as_json=as_json, read_only=dry_run) as log:
        if dry_run:
            due, bests = _plan(log, settings, run or (), as_json=as_json)
            _tell_plan(due, bests, as_json=as_json)
            return
        study = _study(log, settings, as_json=as_json)
        with explained(as_json=as_json), interruptible():
            checked = study.check(_teller(study, quiet=as_json))
        views = runs_in_use(log, target, run or (), as_json=as_json)
        confirmed = confirm(log, views, target_options(toolchain, option, as_json=as_json), as_json=as_json)
    if as_json:
        emit_json({"checked": checked, "bests": confirmed})
        return
    say(f"{checked} items checked under toolchain {study.toolchain}")
    for name, own in confirmed.items():
        for kernel, best in own.items():
            say(f"{name} {kernel}: best is {best}")
    say("  kernelwright upgrade-report")


def upgrade_report(
    before: Annotated[
        str, typer.Option("--from", help="The old toolchain; the one before the latest when left out.")
    ] = "",
    after: Annotated[str, typer.Option("--to", help="The new toolchain; the latest when left out.")] = "",
    target: TargetName = "cpu",
    store: Store = DEFAULT_STORE,
    as_json: Json = False,
) -> None:
    """Say what a change of toolchain changed: retired, refuted, confirmed, reopened, and readings that moved."""
    from ..events.views.knowledge import load_knowledge
    from ..events.views.upgrade import bests_between
    from ..hardware.rngd.visa.upgrades import announced
    from ..knowledge.report import Best, upgrade_data

    with open_log(store, as_json=as_json) as log:
        known = load_knowledge(log, target)
        new = _toolchain(known, after, as_json=as_json) or known.toolchain
        earlier = [seen.fingerprint for seen in known.seen if seen.fingerprint != new]
        old = _toolchain(known, before, as_json=as_json) or (earlier[-1] if earlier else "")
        if not old or not new:
            fail(f"only one toolchain of {target} was ever seen in {log.where}: nothing was upgraded", as_json=as_json)
        bests = [Best(*each) for each in bests_between(log, target, old, new)]
        data = upgrade_data(known, old, new, bests)
        data["announced"] = list(announced(known.toolchains[old], known.toolchains[new]))
    if as_json:
        emit_json(data)
        return
    from .knowledge_view import print_upgrade

    print_upgrade(console(), data)


def _settings(
    config: Path | None, target: str, toolchain: str | None, option: list[str] | None, *, as_json: bool
) -> Config:
    own = target_options(toolchain, option, as_json=as_json)
    return load_settings(config, {"target": target, "targets": {target: own}}, as_json=as_json)


def _study(log: EventLog, settings: Config, *, as_json: bool) -> Study:
    from ..graph.relearn import Study
    from .assemble import assemble

    parts = assemble(settings, as_json=as_json)
    with explained(as_json=as_json):
        return Study(log, parts.target, parts.specs)


def _teller(study: Study, *, quiet: bool) -> Any:
    def tell(item: str, outcome: str, reason: str) -> None:
        if quiet:
            return
        claim = study.known.claims.get(item)
        what = claim.made.sentence if claim is not None else item
        say(f"{outcome:<7} {what[:90]}: {reason[:120]}")

    return tell


def _counts(known: KnowledgeView, toolchain: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for claim in known.claims.values():
        if claim.current:
            status = claim.standing(toolchain, known.toolchains).status
            counts[status] = counts.get(status, 0) + 1
    return counts


def _known(log: EventLog, target: str, as_of: str, *, as_json: bool) -> KnowledgeView:
    from ..events.knowledge import KnowledgeBase
    from ..events.naming import REFERENCE
    from ..events.views.asof import UnknownMomentError, position_as_of
    from ..events.views.knowledge import load_knowledge

    if REFERENCE.fullmatch(as_of):
        # Any event of the store is a moment: what was known when a design was judged, say.
        as_of = str(log.position_of(as_of) or as_of)
    try:
        until = position_as_of(log.stream([KnowledgeBase.identify(target)]), as_of) if as_of else None
    except UnknownMomentError as error:
        fail(str(error), as_json=as_json)
    known = load_knowledge(log, target, until=until)
    if not known.position:
        fail(f"nothing is known of {target!r} in {log.where} yet; `kernelwright learn` would start", as_json=as_json)
    return known


def _toolchain(known: KnowledgeView, given: str, *, as_json: bool) -> str:
    """The fingerprint that begins with ``given``; empty when nothing is given."""
    if not given:
        return ""
    found = [name for name in known.toolchains if name.startswith(given)]
    if len(found) != 1:
        fail(f"{given!r} names no toolchain that was seen; {nearest(given, known.toolchains)}", as_json=as_json)
    return found[0]


def _plan(log: EventLog, settings: Config, runs: Sequence[str], *, as_json: bool) -> tuple[list[Due], Bests]:
    """What a recheck would do, without writing a word: items that are due, and bests of another toolchain."""
    from ..graph.relearn import plan_for
    from .assemble import assemble
    from .rechecking import open_bests, runs_in_use

    parts = assemble(settings, as_json=as_json)
    with explained(as_json=as_json):
        due, fingerprint = plan_for(log, parts.target)
    return due, open_bests(runs_in_use(log, settings.target, runs, as_json=as_json), fingerprint)


def _tell_plan(due: list[Due], bests: Bests, *, as_json: bool) -> None:
    if as_json:
        items = [{"item": d.item, "kind": d.kind, "why": d.why, "seconds": d.seconds} for d in due]
        emit_json({"due": items, "bests": bests})
        return
    for each in due:
        say(f"{each.kind:<6} {each.item:<16} {each.why:<10} about {each.seconds:.1f} s")
    for run, own in bests.items():
        for kernel, best in own.items():
            say(f"best   {run} {kernel}/{best} would be rebuilt, verified and measured again")
    if not due and not bests:
        say("nothing is stale under the toolchain that is installed")
