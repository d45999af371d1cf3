"""Working at a run: start it, take it up again, drive it to an end that the log shows."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..acceptance.policy import Policy
from ..agents.panel import Panel, panel_of
from ..agents.port import Specialist
from ..events.base import Context
from ..events.device import Device
from ..events.knowledge import KnowledgeBase, KnowledgeEvent
from ..events.log import EventLog, Recorded, RunHeldError
from ..events.run import HeldBy, Run, RunEvent, StopReason
from ..events.tree import DesignTree, TreeEvent
from ..events.views.knowledge import catch_up, load_knowledge
from ..events.views.load import load_run
from ..events.views.run import RunView
from ..events.views.snapshot import keep_view
from ..events.views.tree import TreeView
from ..hardware.target import Target, TargetError
from ..kernels.spec import KernelSpec
from .machine import machine
from .route import route
from .step import Step
from .steps.propose import register
from .watch import ToolchainWatch
from .workbench import Workbench

Observer = Callable[[RunView, Step | None, str], None]
"""Told before each step (with an empty outcome) and after it; given None when the run has come to rest."""


@dataclass(frozen=True)
class Plan:
    """What a new run is asked to do."""

    run: str
    target: str
    kernels: tuple[str, ...]
    policy: Policy
    seed: int
    minutes: float
    config: Mapping[str, Any]
    version: str


SNAPSHOT_EVERY_EVENTS = 1_000
"""How far a cached view may lie behind the log while a run goes on, at least."""
SNAPSHOT_BEHIND_SHARE = 1 / 20
"""The same as a share of the log: a snapshot takes longer the longer the log is, so that the cost of one event stays what it
is."""
SNAPSHOT_AT_STOP_EVENTS = 200
"""A run of fewer events is folded as fast as a snapshot of it is read."""


def this_process() -> HeldBy:
    """Who works at a run, as its events say it."""
    return {"host": socket.gethostname(), "pid": os.getpid()}


def start_run(log: EventLog, plan: Plan) -> None:
    """Record the start of a run; its entropy is drawn here, once."""
    run = log.load(Run, plan.run)
    run.start(
        Context(),
        run=plan.run,
        target=plan.target,
        kernels=plan.kernels,
        policy=plan.policy.as_dict(),
        seed=plan.seed,
        entropy=secrets.token_hex(16),
        minutes=plan.minutes,
        config=dict(plan.config),
        version=plan.version,
        holder=this_process(),
    )
    log.record(run)


@contextmanager
def workbench(
    log: EventLog, run: str, target: Target, specs: Mapping[str, KernelSpec], specialist: Specialist | Panel
) -> Iterator[Workbench]:
    """Fold a run and set up what its steps need; everything is closed at the end.

    Only one process at a time gets one for a run, whichever machine it is on; RunHeldError says who has it.
    """
    with log.hold(run):
        yield from _workbench(log, run, target, specs, specialist)


def _workbench(
    log: EventLog, run: str, target: Target, specs: Mapping[str, KernelSpec], specialist: Specialist | Panel
) -> Iterator[Workbench]:
    view = load_run(log, run)
    assert view.started is not None
    known = load_knowledge(log, target.name)
    wb = Workbench(
        log=log,
        view=view,
        known=known,
        policy=Policy.from_mapping(view.policy),
        target=target,
        specs=specs,
        panel=panel_of(specialist),
        run=log.load(Run, run),
        trees={kernel: log.load(DesignTree, run, kernel) for kernel in view.started.kernels},
        knowledge=log.load(KnowledgeBase, target.name),
        device=log.load(Device, target.name),
    )

    def follow(saved: Sequence[Recorded]) -> None:
        for recorded in saved:
            if isinstance(recorded.event, RunEvent | TreeEvent):
                view.apply(recorded)
        if any(isinstance(recorded.event, KnowledgeEvent) for recorded in saved):
            # Other runs may have written to the shared knowledge base just before.
            catch_up(log, known, target.name)
        behind = view.events - snapshot_at[0]
        allowed = max(SNAPSHOT_EVERY_EVENTS, int(SNAPSHOT_BEHIND_SHARE * view.events))
        if behind >= (allowed if view.stopped is None else SNAPSHOT_AT_STOP_EVENTS):
            snapshot_at[0] = view.events
            keep_view(log, view)
            log.keep_snapshot(wb.run, *wb.trees.values())

    snapshot_at = [view.events]
    log.listen(follow)
    try:
        yield wb
    finally:
        log.unlisten(follow)
        wb.close()


def resume(wb: Workbench, minutes: float, purpose: str, options: Mapping[str, Any] | None = None) -> None:
    """Record that this process takes the run up again, for at most ``minutes`` of activity in all.

    ``options`` are settings of the target that differ from before (another toolchain, say) and hold from here on.
    """
    wb.run.resume(wb.context, minutes, purpose, this_process(), dict(options or {}))  # type: ignore[arg-type]  # one of the two literals, from the caller
    wb.log.record(wb.run)


def drive(wb: Workbench, observer: Observer, *, until: Callable[[RunView], bool] | None = None) -> None:
    """Do step after step until the run stops, or until ``until`` holds."""
    perform = machine(wb)
    watch = ToolchainWatch(wb)
    while wb.view.stopped is None and not (until is not None and until(wb.view)):
        step = route(wb.view, wb.policy, wb.known)
        step = watch.step_before(step) or step
        observer(wb.view, step, "")
        outcome = perform(step)
        observer(wb.view, step, outcome)
    observer(wb.view, None, "")


def confirm_bests(wb: Workbench, observer: Observer, options: Mapping[str, Any] | None = None) -> None:
    """Take a run up until every best stands under the toolchain that is installed; leave it stopped as it was found.

    ``options`` are settings of the target that replace those of the run.
    """
    before: StopReason = wb.view.stopped.reason if wb.view.stopped is not None else "interrupted"
    resume(wb, wb.view.minutes, "submit", options)
    drive(wb, observer, until=settled)
    stop(wb, before)


def settled(view: RunView) -> bool:
    """Whether nothing but new proposals is left to do: every kernel is prepared, and no design waits."""
    trees = [tree for tree in view.trees.values() if tree.refused is None]
    waiting = any(tree.unsettled or tree.retry or tree.unlearned or not prepared(view, tree) for tree in trees)
    return view.observations >= view.starts and not waiting and view.in_flight is None


def prepared(view: RunView, tree: TreeView) -> bool:
    """Whether candidates of a kernel can be judged: its noise is known, or without a device its baseline's estimate."""
    if view.device:
        return tree.noise is not None
    return tree.baseline is not None and tree.designs[tree.baseline].passed("estimate")


def submit_design(wb: Workbench, kernel: str, source: str, title: str, observer: Observer) -> dict[str, Any]:
    """Register a person's design and put it through every check and the comparison with the best.

    Returns ``{design, verdict, outcome, reason}``. The run is left as it was found: stopped, for the same reason.
    """
    before: StopReason = wb.view.stopped.reason if wb.view.stopped is not None else "interrupted"
    resume(wb, wb.view.minutes, "submit")
    tree = wb.view.trees[kernel]
    if tree.refused is not None:
        stop(wb, before)
        raise TargetError(f"{kernel} is not being optimized in this run: {tree.refused}")
    drive(wb, observer, until=lambda view: view.observed and prepared(view, tree))
    design = register(
        wb,
        kernel,
        parent=tree.leader,
        kind="whole",
        by="person",
        title=title,
        rationale="submitted by a person",
        levers={},
        source=source,
    )
    wb.run.submitted(wb.context, kernel, design)
    wb.log.record(*wb.aggregates)
    drive(wb, observer, until=lambda view: design not in view.trees[kernel].unsettled)
    stop(wb, before)
    found = tree.designs[design]
    verdict = "accepted" if found.accepted else found.verdict.verdict if found.verdict else None
    reason = found.failed.reason if found.failed else found.verdict.reason if found.verdict else ""
    return {"design": design, "verdict": verdict, "outcome": found.outcome, "reason": reason}


def stop(wb: Workbench, reason: StopReason, detail: str = "") -> None:
    """Record that the run stops here. Whatever an unfinished step had not saved is forgotten."""
    wb.log.blobs.recorded()
    run = wb.log.load(Run, wb.view.name)
    if run.token != wb.run.token:
        raise RunHeldError(f"another process has taken run {wb.view.name} up since; nothing was recorded here")
    run.stop(Context(), reason, detail)
    wb.log.record(run)
    wb.run = run
