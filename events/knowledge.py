"""Events of a knowledge base (one per target, shared by runs), and the aggregate that guards it."""

from __future__ import annotations

from typing import Any, ClassVar

from .base import Aggregate, Context, Event, guarded, recorded


class KnowledgeEvent(Event):
    """Base of the events of a knowledge base."""

    AGGREGATE: ClassVar[str] = "knowledge"


@recorded
class ProbeMeasured(KnowledgeEvent):
    """A microbenchmark answered a question about the chip, under a toolchain and conditions."""

    TOPIC: ClassVar[str] = "knowledge.probe-measured"
    target: str
    run: str
    name: str
    question: str
    value: float
    unit: str
    spread: float
    repeats: int
    conditions: dict[str, str]


@guarded
class KnowledgeBase(Aggregate):
    """What is known of a target."""

    KIND: ClassVar[str] = "knowledge"

    def measured(self, context: Context, **content: Any) -> Event:
        """Record a probe; content as in :class:`ProbeMeasured`."""
        return self.trigger(ProbeMeasured, context, **content)
