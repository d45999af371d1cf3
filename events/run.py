"""Events of a run, and the aggregate that guards it: steps come one at a time and a finished one is never repeated."""

from __future__ import annotations

from typing import Any, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from .base import Aggregate, Context, Event, Forked, InvariantError, guarded, recorded

HeldBy = dict[str, str | int]
"""Who works at a run: ``host`` and ``pid``. Never anything that could hold a credential."""

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
    holder: HeldBy = Field(default_factory=dict)
    """The process that began it; its lease has token 1."""

    def blob_digests(self) -> tuple[str, ...]:
        """The users' kernel files."""
        sources: dict[str, str] = self.config.get("kernel_sources") or {}
        return tuple(sources.values())


@recorded
class RunForked(RunEvent, Forked):
    """A run that continues another one from a point in its history, under a policy of its own.

    ``trees`` says how far each tree is shared, as ``[version, digest]`` by the id (hex) of the parent's tree. Further
    back the parent may itself be a fork. The entropy is new: what the fork reads is its own.
    """

    TOPIC: ClassVar[str] = "run.forked"
    run: str
    parent: str
    after: str
    """Reference of the last event that is shared."""
    trees: dict[str, tuple[int, str]]
    policy: dict[str, Any]
    entropy: str
    minutes: float
    version: str


@recorded
class RunResumed(RunEvent):
    """A process takes the run up again: to search on, perhaps with a larger budget (minutes of activity in all), or just
    to put a submitted design through.
    """

    TOPIC: ClassVar[str] = "run.resumed"
    minutes: float
    purpose: Literal["search", "submit"] = "search"
    holder: HeldBy = Field(default_factory=dict)
    token: int = 0
    """Number of this lease of the run; it only grows. A holder of an older one cannot record any more: its next save
    meets this event."""
    lost: bool = False
    """Whether the holder before never gave the run back: it was killed, or cut off."""
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Settings of the target that differ from those before, and hold from here on."""


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
    device: bool = True
    """Whether the target has a device to read on. Without one nothing is accepted: designs are held, by estimate."""


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
    BLOBS: ClassVar[tuple[str, ...]] = ("request", "answer")
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


@recorded
class DesignSubmitted(RunEvent):
    """A person handed in a design; it is registered in the kernel's tree in the same save."""

    TOPIC: ClassVar[str] = "run.design-submitted"
    kernel: str
    design: str


@guarded
class Run(Aggregate):
    """One campaign. Guards: begun once; one step in flight; a finished step never runs again; nothing after the end."""

    KIND: ClassVar[str] = "run"
    STATE_SCHEMA: ClassVar[int] = 1

    def __init__(self, originator_id: UUID) -> None:
        super().__init__(originator_id)
        self.name = ""
        self.stopped: StopReason | None = None
        self.in_flight: tuple[str, str] | None = None
        """Key and name of the step that was begun and not finished."""
        self.token = 0
        self.attempts: dict[str, int] = {}
        self.finished: set[str] = set()

    def apply(self, event: Event) -> None:
        """Fold one event."""
        match event:
            case RunStarted():
                self.name, self.token = event.run, 1
            case RunForked():
                self.name = event.run
            case RunResumed():
                self.stopped, self.token = None, event.token
            case RunStopped():
                self.stopped, self.in_flight = event.reason, None
            case StepStarted():
                self.in_flight = (event.key, event.name)
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

    def fork(self, context: Context, parent: Run, **content: Any) -> Event:
        """Begin as the continuation of ``parent`` as far as that has been read; content as in :class:`RunForked`."""
        if self.version:
            raise InvariantError(f"run {content['run']} exists already")
        if parent.in_flight is not None:
            raise InvariantError(f"run {parent.name} is in the middle of step {parent.in_flight[1]} there")
        self.inherit(parent)
        return self.trigger(RunForked, context, parent=parent.name, **content, **parent.origin)

    def resume(
        self,
        context: Context,
        minutes: float,
        purpose: Literal["search", "submit"] = "search",
        holder: HeldBy | None = None,
        options: dict[str, Any] | None = None,
    ) -> Event:
        """Take the run up again; from here on whoever held it before cannot record in it."""
        if not self.version:
            raise InvariantError("there is no run to resume")
        return self.trigger(
            RunResumed,
            context,
            minutes=minutes,
            purpose=purpose,
            holder=holder or {},
            token=self.token + 1,
            lost=self.stopped is None,
            options=options or {},
        )

    def state(self) -> dict[str, Any]:
        """The guarded state as JSON-ready data."""
        return {
            "name": self.name,
            "stopped": self.stopped,
            "in_flight": self.in_flight,
            "token": self.token,
            "attempts": self.attempts,
            "finished": sorted(self.finished),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what :meth:`state` gave."""
        self.name, self.stopped, self.token = state["name"], state["stopped"], state["token"]
        self.in_flight = None if state["in_flight"] is None else (state["in_flight"][0], state["in_flight"][1])
        self.attempts = dict(state["attempts"])
        self.finished = set(state["finished"])

    def stop(self, context: Context, reason: StopReason, detail: str = "") -> Event:
        """Stop the run."""
        return self.trigger(RunStopped, context, reason=reason, detail=detail)

    def observe(
        self,
        context: Context,
        fingerprint: str,
        parts: dict[str, str],
        changed: tuple[str, ...],
        *,
        device: bool = True,
    ) -> Event:
        """Note which toolchain is in force, and whether there is a device."""
        content = {"fingerprint": fingerprint, "parts": parts, "changed": changed, "device": device}
        return self.trigger(ToolchainObserved, context, **content)

    def begin_step(self, context: Context, key: str, name: str, subject: dict[str, str]) -> StepStarted:
        """State the intent of a step; its attempt number counts the intents with this key that had no outcome."""
        if self.stopped is not None:
            raise InvariantError(f"run {self.name} is stopped ({self.stopped})")
        if key in self.finished:
            raise InvariantError(f"step {name} ({key}) has finished already; its effect is never repeated")
        attempt = self.attempts.get(key, 0) + 1
        own = Context(cause=context.cause, step=name, attempt=attempt, toolchain=context.toolchain, clock=context.clock)
        event = self.trigger(StepStarted, own, key=key, name=name, subject=subject)
        assert isinstance(event, StepStarted)
        return event

    def finish_step(self, context: Context, key: str, outcome: str, seconds: dict[str, float]) -> Event:
        """State the outcome of the step in flight."""
        if self.in_flight is None or self.in_flight[0] != key:
            raise InvariantError(f"step {key} is not in flight")
        return self.trigger(StepFinished, context, key=key, name=self.in_flight[1], outcome=outcome, seconds=seconds)

    def submitted(self, context: Context, kernel: str, design: str) -> Event:
        """Note that a person handed in a design."""
        return self.trigger(DesignSubmitted, context, kernel=kernel, design=design)

    def answered(self, context: Context, **content: Any) -> Event:
        """Record what a specialist was asked and said; content as in :class:`SpecialistAnswered`."""
        return self.trigger(SpecialistAnswered, context, **content)
