"""The LangGraph state machine: one invocation per step, entered where the router says.

There is no checkpointer, for the log is the only truth: a killed run is folded from it and enters here again. A step is
its intent, its effect, and its outcome; the outcome is saved together with all that the effect recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypedDict

import structlog
from langgraph.graph import END, START, StateGraph

from ..events.base import Context
from ..events.run import StepStarted
from ..hardware.effect import under
from .step import STEP_NAMES, Step
from .steps import EFFECTS, Effect
from .workbench import Workbench

logger = structlog.get_logger(__name__)

PURE = frozenset({"observe", "study", "reopen", "baseline", "propose", "review", "judge", "accept", "finish"})
"""Steps without an effect outside the log: their intent is saved together with their outcome, one fsync instead of two."""

ON_DEVICE = frozenset({"probe", "floor", "calibrate", "screen", "compare", "confirm", "anchor"})
"""Steps that take readings: they hold the device's lease, and the log says from when to when."""

ASKING = frozenset({"study", "propose", "review"})
"""Steps that ask a model where there is one; it is recorded as it is called, so their intent comes first then."""


class MachineState(TypedDict):
    """What flows through the graph: the step that the router chose, and the outcome of its node."""

    step: Step
    outcome: str


class UnknownStepError(Exception):
    """The router named a step that has no node. LangGraph alone would only warn."""


def perform(wb: Workbench, step: Step, effect: Effect) -> str:
    """Do one step: intent, effect, outcome. What it recorded and its outcome are saved in one transaction."""
    wb.seconds = {}
    context = replace(wb.context, toolchain=wb.view.toolchain.fingerprint if wb.view.toolchain else "")
    with wb.leased(context) if step.name in ON_DEVICE and wb.target.has_device else nullcontext():
        return _perform(wb, step, effect, context)


def _perform(wb: Workbench, step: Step, effect: Effect, context: Context) -> str:
    begun = time.perf_counter()
    started: StepStarted = wb.run.begin_step(context, step.key, step.name, step.subject)
    if step.name not in PURE or (step.name in ASKING and wb.panel.records_calls):
        wb.log.record(wb.device, wb.run, synced=False)
    wb.context = replace(context, cause=started.ref, step=step.name, attempt=started.attempt)
    with under(step.key, started.attempt):
        outcome = effect(wb, step)
    if wb.run.stopped is None:
        spent = time.perf_counter() - begun
        parts = dict(wb.seconds)
        parts["rest"] = max(0.0, spent - sum(parts.values()))
        wb.run.finish_step(wb.context, step.key, outcome, parts)
    wb.release()
    wb.log.record(*wb.aggregates)
    logger.debug("step", step=step.name, outcome=outcome, attempt=started.attempt, **step.subject, **wb.seconds)
    wb.context = context
    return outcome


def machine(wb: Workbench) -> Callable[[Step], str]:
    """The compiled graph over a workbench, as a function from a step to its outcome."""

    def node(name: str) -> Any:  # LangGraph's own node types are private, and no public one fits
        def run(state: MachineState) -> dict[str, str]:
            return {"outcome": perform(wb, state["step"], EFFECTS[name])}

        return run

    def entry(state: MachineState) -> str:
        name = state["step"].name
        if name not in STEP_NAMES:
            raise UnknownStepError(f"the router named {name!r}; known steps: {', '.join(STEP_NAMES)}")
        return name

    graph: StateGraph[MachineState, Any, Any, Any] = StateGraph(MachineState)
    for name in STEP_NAMES:
        graph.add_node(name, node(name))
        graph.add_edge(name, END)
    graph.add_conditional_edges(START, entry, {name: name for name in STEP_NAMES})
    compiled = graph.compile()

    def invoke(step: Step) -> str:
        outcome: str = compiled.invoke({"step": step, "outcome": ""})["outcome"]
        return outcome

    return invoke
