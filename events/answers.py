"""Events of asking language models, and the aggregate that holds them: one per run.

They are recorded as they happen, each durable before the next thing is done, not at the end of a step: an answer that was
paid for survives whatever becomes of the step that asked for it. Counts and costs are None when they are not known.
"""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from .base import Aggregate, Context, Event, InvariantError, guarded, recorded


class AnswerEvent(Event):
    """Base of the events of asking language models."""

    AGGREGATE: ClassVar[str] = "answers"


@recorded
class RoundOpened(AnswerEvent):
    """A round of proposals begins: what is asked in it is made from the log up to here."""

    TOPIC: ClassVar[str] = "answers.round-opened"
    kernel: str
    ask: int


@recorded
class ModelAsked(AnswerEvent):
    """A request is about to be sent: what it says (a blob of canonical JSON, named by its digest), to whom, and what is
    set aside for it in the budgets until its answer is counted.
    """

    TOPIC: ClassVar[str] = "answers.model-asked"
    BLOBS: ClassVar[tuple[str, ...]] = ("request",)
    run: str
    call: str
    """Number of the call in this run, such as ``c0007``."""
    request: str
    role: str
    kernel: str
    ask: int
    sample: int
    model: str
    provider: str
    prompt: str
    """Digest of the role's prompt file."""
    as_of: int
    tokens_reserved: int
    cost_reserved: float | None


@recorded
class ModelAnswered(AnswerEvent):
    """One attempt at a request ended. ``outcome`` is ``ok`` or what was wrong; ``wait_seconds`` until the next attempt.

    ``answer`` is there whenever something was said, however useless: that was paid for, and is not asked for again.
    """

    TOPIC: ClassVar[str] = "answers.model-answered"
    BLOBS: ClassVar[tuple[str, ...]] = ("answer",)
    call: str
    request: str
    number: int
    """Which attempt at the request this was, from 1."""
    outcome: str
    reason: str
    answer: str | None
    finish_reason: str | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    currency: str | None
    price_dated: str | None
    seconds: float
    status: int | None
    retry_after_seconds: float | None
    wait_seconds: float | None


@recorded
class AnswerReused(AnswerEvent):
    """A request that had an answer already: it was not sent. ``source`` is the run that it was recorded in."""

    TOPIC: ClassVar[str] = "answers.answer-reused"
    BLOBS: ClassVar[tuple[str, ...]] = ("request", "answer")
    request: str
    source: str
    answer: str
    role: str
    kernel: str
    model: str


@recorded
class ToolCalled(AnswerEvent):
    """A model called a tool; arguments and result are blobs. ``outcome`` is ``ok`` or ``error``."""

    TOPIC: ClassVar[str] = "answers.tool-called"
    BLOBS: ClassVar[tuple[str, ...]] = ("arguments", "result")
    role: str
    kernel: str
    model: str
    tool: str
    arguments: str
    result: str
    outcome: str
    seconds: float


@recorded
class RoleAnswered(AnswerEvent):
    """What an answer was worth as an answer: ``ok`` with the typed answer as a blob, or why it could not be used.

    ``repair`` counts how often an answer had been sent back before. ``requests`` are the digests of the requests that led
    to it, ``seconds`` the time of all of it.
    """

    TOPIC: ClassVar[str] = "answers.role-answered"
    BLOBS: ClassVar[tuple[str, ...]] = ("answer",)
    role: str
    kernel: str
    ask: int
    sample: int
    repair: int
    model: str
    outcome: str
    reason: str
    answer: str | None
    requests: tuple[str, ...]
    prompt: str
    seconds: float


@recorded
class DesignAttributed(AnswerEvent):
    """A design of the tree came from a model's answer; recorded in the save that registers the design."""

    TOPIC: ClassVar[str] = "answers.design-attributed"
    kernel: str
    design: str
    role: str
    model: str
    request: str
    mechanism: str
    repairs: str | None
    """The design that it repairs, if it does."""


@recorded
class BudgetSet(AnswerEvent):
    """What may be used from here on: limits by name for the run, and by role. A later one replaces an earlier one."""

    TOPIC: ClassVar[str] = "answers.budget-set"
    run_limits: dict[str, float]
    role_limits: dict[str, dict[str, float]]


@recorded
class BudgetWarned(AnswerEvent):
    """A budget is used to 80 % or more; said once for each limit."""

    TOPIC: ClassVar[str] = "answers.budget-warned"
    scope: str
    resource: str
    used: float
    limit: float


@guarded
class Answers(Aggregate):
    """The calls of one run. Guards: an answer follows its question, and a request that was answered is not sent again."""

    KIND: ClassVar[str] = "answers"

    def __init__(self, originator_id: UUID) -> None:
        super().__init__(originator_id)
        self.calls = 0
        self.open: dict[str, str] = {}
        """Requests of the calls that have no answer yet, by call."""
        self.answered: set[str] = set()

    def apply(self, event: Event) -> None:
        """Fold one event."""
        match event:
            case ModelAsked():
                self.calls += 1
                self.open[event.call] = event.request
            case ModelAnswered():
                if event.wait_seconds is None:
                    self.open.pop(event.call, None)
                if event.answer is not None:
                    self.answered.add(event.request)
            case _:
                pass

    def ask(self, context: Context, **content: Any) -> ModelAsked:
        """Record that a request is about to be sent; content as in :class:`ModelAsked` without ``call``."""
        if content["request"] in self.answered:
            raise InvariantError(f"request {content['request'][:12]} has an answer; it is not sent again")
        event = self.trigger(ModelAsked, context, call=f"c{self.calls + 1:04d}", **content)
        assert isinstance(event, ModelAsked)
        return event

    def answer(self, context: Context, **content: Any) -> Event:
        """Record how an attempt ended; content as in :class:`ModelAnswered`."""
        if self.open.get(content["call"]) != content["request"]:
            raise InvariantError(f"call {content['call']} is not waiting for an answer to that request")
        return self.trigger(ModelAnswered, context, **content)

    def note(self, context: Context, event_class: type[AnswerEvent], **content: Any) -> Event:
        """Record a fact that breaks no invariant."""
        return self.trigger(event_class, context, **content)
