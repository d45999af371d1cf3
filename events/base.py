"""What every event carries, and how aggregates make them.

Events are frozen pydantic models. The bytes that are stored are fixed when an event is made: canonical JSON, ending in a
digest that covers the topic, the aggregate, the version, the digest of the event before it, and all the content. So each
aggregate's events form a chain in which no byte can change unnoticed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Self, TypeVar
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict, PrivateAttr

NAMESPACE = UUID("6f0c3a52-5c3e-5d6b-9f4e-3b1d8a7c2e10")
"""Aggregates have ids derived from their names under this namespace, so that any process finds them."""

DIGEST_SUFFIX_LENGTH = len(',"digest":""}') + 64


class InvariantError(Exception):
    """A command would break what an aggregate guards. Nothing was recorded."""


_order = itertools.count(1)


def aggregate_id(kind: str, *names: str) -> UUID:
    """The id of the aggregate of ``kind`` called ``names``."""
    return uuid5(NAMESPACE, json.dumps([kind, *names]))


def canonical(value: object) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def utc_now() -> datetime:
    """The time that events are stamped with."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Context:
    """Where a command comes from: copied into every event that it makes.

    ``cause`` is the reference (``Event.ref``) of the event that led to it, ``step`` and ``attempt`` the step that did it,
    ``toolchain`` the fingerprint that was in force.
    """

    cause: str = ""
    step: str = ""
    attempt: int = 0
    toolchain: str = ""
    clock: Callable[[], datetime] = utc_now


class Event(BaseModel):
    """One immutable fact or decision. Subclasses add the content and name their TOPIC."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    TOPIC: ClassVar[str]
    AGGREGATE: ClassVar[str]
    class_version: ClassVar[int] = 1

    originator_id: UUID
    originator_version: int
    previous: str
    at: datetime
    cause: str = ""
    step: str = ""
    attempt: int = 0
    toolchain: str = ""
    _stored: bytes = PrivateAttr(default=b"")
    _made: int = PrivateAttr(default=0)

    @property
    def made(self) -> int:
        """The order in which this process made its events, across aggregates; 0 for one that was read."""
        return self._made

    @property
    def ref(self) -> str:
        """A short name that stays valid for ever: aggregate id and version."""
        return f"{self.originator_id.hex[:12]}:{self.originator_version}"

    @property
    def stored(self) -> bytes:
        """The exact bytes that are recorded."""
        if not self._stored:
            self._stored = seal(self)
        return self._stored

    @property
    def digest(self) -> str:
        """The chained digest (sha256, 64 hex digits) at the end of the stored bytes."""
        return self.stored[-66:-2].decode()

    def content(self) -> dict[str, Any]:
        """The fields that the subclass added, as JSON-ready values."""
        return self.model_dump(mode="json", exclude=set(Event.model_fields))

    def mutate(self, aggregate: Aggregate | None) -> Aggregate:
        """Fold this event into its aggregate (made when this is the first); the protocol of the eventsourcing library."""
        if aggregate is None:
            aggregate = AGGREGATES[self.AGGREGATE](self.originator_id)
        aggregate.fold(self)
        return aggregate


def seal(event: Event) -> bytes:
    """The stored form of an event: canonical JSON whose last field is the digest."""
    state = event.model_dump(mode="json", exclude={"originator_id", "originator_version"})
    if event.class_version > 1:
        state["class_version"] = event.class_version
    body = canonical(state).encode()
    digest = chain_digest(event.TOPIC, event.originator_id, event.originator_version, body)
    return body[:-1] + b',"digest":"' + digest.encode() + b'"}'


def chain_digest(topic: str, originator_id: UUID, version: int, body: bytes) -> str:
    """The digest (sha256 hex) over everything that an event says; ``body`` holds the previous event's digest."""
    head = f"{topic}\n{originator_id.hex}\n{version}\n".encode()
    return hashlib.sha256(head + body).hexdigest()


TOPICS: dict[str, type[Event]] = {}
AGGREGATES: dict[str, type[Aggregate]] = {}
E_ = TypeVar("E_", bound=type[Event])
A_ = TypeVar("A_", bound="type[Aggregate]")


def recorded(cls: E_) -> E_:
    """Class decorator: register an event class under its TOPIC, which must be new."""
    if cls.TOPIC in TOPICS:
        raise TypeError(f"topic {cls.TOPIC!r} is taken by {TOPICS[cls.TOPIC].__name__}")
    TOPICS[cls.TOPIC] = cls
    return cls


def guarded(cls: A_) -> A_:
    """Class decorator: register an aggregate class under its KIND."""
    AGGREGATES[cls.KIND] = cls
    return cls


class Aggregate:
    """Guards the invariants of one sequence of events; holds no more state than that takes."""

    KIND: ClassVar[str]

    def __init__(self, originator_id: UUID) -> None:
        self.id = originator_id
        self.version = 0
        self.head = ""
        self._pending: list[Event] = []

    @classmethod
    def identify(cls, *names: str) -> UUID:
        """The id of the aggregate of this kind called ``names``."""
        return aggregate_id(cls.KIND, *names)

    @classmethod
    def new(cls, *names: str) -> Self:
        """An aggregate without events yet."""
        return cls(cls.identify(*names))

    def trigger(self, event_class: type[Event], context: Context, **content: Any) -> Event:
        """Make the next event of this aggregate and fold it; it is recorded when the aggregate is saved."""
        event = event_class(
            originator_id=self.id,
            originator_version=self.version + 1,
            previous=self.head,
            at=context.clock(),
            cause=context.cause,
            step=context.step,
            attempt=context.attempt,
            toolchain=context.toolchain,
            **content,
        )
        event._made = next(_order)
        self.fold(event)
        self._pending.append(event)
        return event

    def fold(self, event: Event) -> None:
        """Take in the next event of the sequence."""
        if event.originator_version != self.version + 1:
            raise InvariantError(f"event {event.ref} does not follow version {self.version} of its aggregate")
        self.apply(event)
        self.version = event.originator_version
        self.head = event.digest

    def apply(self, event: Event) -> None:
        """Change the guarded state; subclasses dispatch on the class of the event."""

    def collect_events(self) -> Sequence[Event]:
        """Hand over the events made since the last save; the protocol of the eventsourcing library."""
        pending, self._pending = self._pending, []
        return pending
