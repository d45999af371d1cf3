"""Events of a run, and the aggregate that guards it: steps come one at a time and a finished one is never repeated."""

from __future__ import annotations

from typing import Any, ClassVar, Literal
from uuid import UUID

from .base import Aggregate, Context, Event, InvariantError, guarded, recorded

StopReason = Literal["finished", "budget", "interrupted", "failed"]


class RunEvent(Event):
    """Base of the events of a run."""

    AGGREGATE: ClassVar[str] = "run"


@recorded
class RunStarted(RunEvent):
    """A campaign begins: what to optimize, on what, by which rules. ``config`` is all that was asked for, normalized."""

    TOPIC: ClassVar[str] = "run.started"
    run: str
    target: str
    kernels: tuple[str, ...]
    policy: dict[str, Any]
    seed: int
    entropy: str
    """Secret of the run (hex) that inputs and placement are drawn from; candidates never see it."""
    minutes: float
    config: dict[str, Any]
    version: str


@recorded
class RunResumed(RunEvent):
    """A process takes the run up again: to search on, perhaps with a larger budget (minutes of activity in all), or just
    to put a submitted design through.
    """

    TOPIC: ClassVar[str] = "run.resumed"
    minutes: float
    purpose: Literal["search", "submit"] = "search"


@recorded
class RunStopped(RunEvent):
    """The run stops, to be resumed unless it is finished."""

    TOPIC: ClassVar[str] = "run.stopped"
    reason: StopReason
    detail: str = ""


@recorded
class ToolchainObserved(RunEvent):
    """What is installed, by named parts; ``changed`` lists those that differ from the last observation."""

    TOPIC: ClassVar[str] = "run.toolchain-observed"
    fingerprint: str
    parts: dict[str, str]
    changed: tuple[str, ...]


@recorded
class StepStarted(RunEvent):
    """The intent: a step is about to have its effect. ``subject`` says on what (kernel, design)."""

    TOPIC: ClassVar[str] = "run.step-started"
    key: str
    name: str
    subject: dict[str, str]


@recorded
class StepFinished(RunEvent):
    """The outcome: saved together with the step's own events. ``seconds`` by where the time went."""

    TOPIC: ClassVar[str] = "run.step-finished"
    key: str
    name: str
    outcome: str
    seconds: dict[str, float]


@recorded
class SpecialistAnswered(RunEvent):
    """A specialist was asked and answered. Request and answer are blobs; tokens and cost are None when unknown."""

    TOPIC: ClassVar[str] = "run.specialist-answered"
    role: str
    specialist: str
    request: str
    answer: str
    outcome: str
    seconds: float
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


@guarded
class Run(Aggregate):
    """One campaign. Guards: begun once; one step in flight; a finished step never runs again; nothing after the end."""

    KIND: ClassVar[str] = "run"

    def __init__(self, originator_id: UUID) -> None:
        super().__init__(originator_id)
        self.name = ""
        self.stopped: StopReason | None = None
        self.in_flight: StepStarted | None = None
        self.attempts: dict[str, int] = {}
        self.finished: set[str] = set()

    def apply(self, event: Event) -> None:
        """Fold one event."""
        match event:
            case RunStarted():
                self.name = event.run
            case RunResumed():
                self.stopped = None
            case RunStopped():
                self.stopped = event.reason
            case StepStarted():
                self.in_flight = event
                self.attempts[event.key] = event.attempt
            case StepFinished():
                self.in_flight = None
                self.finished.add(event.key)
                self.attempts.pop(event.key, None)
            case _:
                pass

    def start(self, context: Context, **content: Any) -> Event:
        """Begin the run; content as in :class:`RunStarted`."""
        if self.version:
            raise InvariantError(f"run {content['run']} exists already")
        return self.trigger(RunStarted, context, **content)

    def resume(self, context: Context, minutes: float, purpose: Literal["search", "submit"] = "search") -> Event:
        """Take the run up again."""
        if not self.version:
            raise InvariantError("there is no run to resume")
        return self.trigger(RunResumed, context, minutes=minutes, purpose=purpose)

    def stop(self, context: Context, reason: StopReason, detail: str = "") -> Event:
        """Stop the run."""
        return self.trigger(RunStopped, context, reason=reason, detail=detail)

    def observe(self, context: Context, fingerprint: str, parts: dict[str, str], changed: tuple[str, ...]) -> Event:
        """Note which toolchain is in force."""
        return self.trigger(ToolchainObserved, context, fingerprint=fingerprint, parts=parts, changed=changed)

    def begin_step(self, context: Context, key: str, name: str, subject: dict[str, str]) -> StepStarted:
        """State the intent of a step; its attempt number counts the intents with this key that had no outcome."""
        if self.stopped is not None:
            raise InvariantError(f"run {self.name} is stopped ({self.stopped})")
        if key in self.finished:
            raise InvariantError(f"step {name} ({key}) has finished already; its effect is never repeated")
        attempt = self.attempts.get(key, 0) + 1
        own = Context(
            cause=context.cause, step=name, attempt=attempt, toolchain=context.toolchain, clock=context.clock
        )
        event = self.trigger(StepStarted, own, key=key, name=name, subject=subject)
        assert isinstance(event, StepStarted)
        return event

    def finish_step(self, context: Context, key: str, outcome: str, seconds: dict[str, float]) -> Event:
        """State the outcome of the step in flight."""
        if self.in_flight is None or self.in_flight.key != key:
            raise InvariantError(f"step {key} is not in flight")
        return self.trigger(
            StepFinished, context, key=key, name=self.in_flight.name, outcome=outcome, seconds=seconds
        )

    def answered(self, context: Context, **content: Any) -> Event:
        """Record what a specialist was asked and said; content as in :class:`SpecialistAnswered`."""
        return self.trigger(SpecialistAnswered, context, **content)
