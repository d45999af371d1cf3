"""Working at a run: start it, take it up again, drive it to an end that the log shows."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..acceptance.policy import Policy
from ..agents.port import Specialist
from ..events.base import Context
from ..events.device import Device
from ..events.knowledge import KnowledgeBase, KnowledgeEvent
from ..events.log import EventLog, Recorded
from ..events.run import Run, RunEvent, StopReason
from ..events.tree import DesignTree, TreeEvent
from ..events.views.knowledge import load_knowledge
from ..events.views.run import RunView, load_run
from ..hardware.target import Target, TargetError
from ..kernels.spec import KernelSpec
from .machine import machine
from .route import route
from .step import Step
from .steps.propose import register
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
    )
    log.record(run)


@contextmanager
def workbench(
    log: EventLog, run: str, target: Target, specs: Mapping[str, KernelSpec], specialist: Specialist
) -> Iterator[Workbench]:
    """Fold a run and set up what its steps need; everything is closed at the end."""
    view = load_run(log, run)
    assert view.started is not None
    known = load_knowledge(log, target.name)
    wb = Workbench(
        log=log,
        view=view,
        known=known,
        policy=Policy.from_mapping(view.started.policy),
        target=target,
        specs=specs,
        specialist=specialist,
        run=log.load(Run, run),
        trees={kernel: log.load(DesignTree, run, kernel) for kernel in view.started.kernels},
        knowledge=log.load(KnowledgeBase, target.name),
        device=log.load(Device, target.name),
    )

    def follow(saved: Sequence[Recorded]) -> None:
        for recorded in saved:
            if isinstance(recorded.event, RunEvent | TreeEvent):
                view.apply(recorded)
            elif isinstance(recorded.event, KnowledgeEvent):
                known.apply(recorded)

    log.listen(follow)
    try:
        yield wb
    finally:
        wb.close()


def resume(wb: Workbench, minutes: float, purpose: str) -> None:
    """Record that this process takes the run up again, for at most ``minutes`` of activity in all."""
    wb.run.resume(wb.context, minutes, purpose)  # type: ignore[arg-type]  # one of the two literals, from the caller
    wb.log.record(wb.run)


def drive(wb: Workbench, observer: Observer, *, until: Callable[[RunView], bool] | None = None) -> None:
    """Do step after step until the run stops, or until ``until`` holds."""
    perform = machine(wb)
    while wb.view.stopped is None and not (until is not None and until(wb.view)):
        step = route(wb.view, wb.policy)
        observer(wb.view, step, "")
        outcome = perform(step)
        observer(wb.view, step, outcome)
    observer(wb.view, None, "")


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
    drive(wb, observer, until=lambda view: tree.noise is not None and view.observations >= view.starts)
    design = register(
        wb,
        kernel,
        parent=tree.best,
        kind="whole",
        by="person",
        title=title,
        rationale="submitted by a person",
        levers={},
        source=source,
    )
    wb.log.record(*wb.aggregates)
    drive(wb, observer, until=lambda view: design not in view.trees[kernel].unsettled)
    stop(wb, before)
    found = tree.designs[design]
    verdict = "accepted" if found.accepted else found.verdict.verdict if found.verdict else None
    reason = found.failed.reason if found.failed else found.verdict.reason if found.verdict else ""
    return {"design": design, "verdict": verdict, "outcome": found.outcome, "reason": reason}


def stop(wb: Workbench, reason: StopReason, detail: str = "") -> None:
    """Record that the run stops here. Whatever an unfinished step had not saved is forgotten."""
    run = wb.log.load(Run, wb.view.name)
    run.stop(Context(), reason, detail)
    wb.log.record(run)
