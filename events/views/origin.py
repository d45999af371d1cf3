"""Where a design came from: which specialist, what it was asked and shown, what it answered, what that cost."""

from __future__ import annotations

import json
from typing import Any

from ..answers import DesignAttributed, ModelAnswered
from ..base import Event, aggregate_id
from ..log import EventLog
from ..run import SpecialistAnswered
from .run import RunView
from .tree import DesignView, TreeView

REACH = 24
"""How many positions around a proposal its save may span."""
KNOWLEDGE_FIELDS = ("probes", "claims", "rules", "lessons", "closures", "documents", "knowledge", "card", "analysis")
"""Fields of a request that show knowledge to a specialist."""


def origin_of(log: EventLog, view: RunView, tree: TreeView, design: DesignView) -> dict[str, Any]:
    """Who proposed a design, on what request, and what it cost; unknown things are None."""
    proposed, position = design.proposed, design.positions[0]
    # What was recorded with the proposal lies beside it: one save has consecutive positions.
    beside = log.at_positions(list(range(max(1, position - REACH), position + REACH)))
    events = [recorded.event for recorded in beside if recorded.event.cause == proposed.cause]
    answers = [event for event in events if isinstance(event, SpecialistAnswered)]
    # Where one stood in for another, both were asked in the same step.
    by = proposed.by.partition("/")[0]
    answered = next((each for each in answers if by in (each.model, each.specialist)), answers[0] if answers else None)
    attributed = next((event for event in events if _names(event, tree.kernel, design.id)), None)
    request = answered.request if answered is not None else None
    answer = answered.answer if answered is not None else None
    origin: dict[str, Any] = {
        "specialist": answered.specialist if answered is not None else proposed.by,
        "role": answered.role if answered is not None else None,
        "request": request,
        "answer": answer,
        "seconds": answered.seconds if answered is not None else None,
        "model": answered.model if answered is not None else None,
        "tokens_in": answered.tokens_in if answered is not None else None,
        "tokens_out": answered.tokens_out if answered is not None else None,
        "cost": answered.cost if answered is not None else None,
        "mechanism": None,
        "repairs": None,
    }
    if isinstance(attributed, DesignAttributed):
        origin |= _model_call(log, view, attributed)
    origin["knowledge"] = _shown(log, origin["request"])
    return origin


def _names(event: Event, kernel: str, design: str) -> bool:
    return isinstance(event, DesignAttributed) and (event.kernel, event.design) == (kernel, design)


def _model_call(log: EventLog, view: RunView, attributed: DesignAttributed) -> dict[str, Any]:
    """The model's call that the design came from; every attempt at it was paid for."""
    calls = [
        recorded.event
        for recorded in log.stream([aggregate_id("answers", view.name)])
        if isinstance(recorded.event, ModelAnswered) and recorded.event.request == attributed.request
    ]
    answers = [call.answer for call in calls if call.answer is not None]
    return {
        "role": attributed.role,
        "model": attributed.model,
        "request": attributed.request,
        "answer": answers[-1] if answers else None,
        "seconds": sum(call.seconds for call in calls),
        "tokens_in": _total([call.tokens_in for call in calls]),
        "tokens_out": _total([call.tokens_out for call in calls]),
        "cost": _total([call.cost for call in calls]),
        "mechanism": attributed.mechanism,
        "repairs": attributed.repairs,
    }


def _total(values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _shown(log: EventLog, request: str | None) -> dict[str, Any]:
    """The parts of a request that were knowledge, wherever they lie in it."""
    if not request:
        return {}
    try:
        content = json.loads(log.blobs.get(request))
    except ValueError:
        return {}  # a request need not be JSON; its digest names it all the same
    found: dict[str, Any] = {}
    parts = [content]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            found |= {name: part[name] for name in KNOWLEDGE_FIELDS if part.get(name)}
            parts += [value for name, value in part.items() if name not in KNOWLEDGE_FIELDS]
        elif isinstance(part, list):
            parts += part
    return found
