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

SEAL_LENGTH = len(',"seal":""}') + 64
"""Bytes at the end of a stored event that hold its seal."""


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

    # Validators are built when a class is first used: commands that only read a few kinds of events start faster.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    TOPIC: ClassVar[str]
    AGGREGATE: ClassVar[str]
    class_version: ClassVar[int] = 1
    BLOBS: ClassVar[tuple[str, ...]] = ()
    """Fields that hold the digest of a blob (or None)."""

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

    def __eq__(self, other: object) -> bool:
        """Whether both say the same at the same place of the same aggregate, made here or read."""
        return isinstance(other, Event) and self.seal == other.seal

    def __hash__(self) -> int:
        return hash(self.seal)

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
        # Asked for several times an event: straight from where pydantic keeps private attributes, not by its lookup.
        private = self.__pydantic_private__
        assert private is not None, "there are private attributes"
        if not private["_stored"]:
            private["_stored"] = sealed(self)
        found: bytes = private["_stored"]
        return found

    @property
    def seal(self) -> str:
        """The chained digest (sha256, 64 hex digits) at the end of the stored bytes."""
        return self.stored[-66:-2].decode()

    def content(self) -> dict[str, Any]:
        """The fields that the subclass added, as JSON-ready values."""
        return self.model_dump(mode="json", exclude=set(Event.model_fields))

    def blob_digests(self) -> tuple[str, ...]:
        """The blobs that this event names: they are recorded no later than the event."""
        named = (getattr(self, field) for field in self.BLOBS)
        return tuple(digest for digest in named if digest)

    def references(self) -> tuple[str, ...]:
        """References (:attr:`ref`) of the events that this one rests on: its cause and its evidence."""
        evidence: tuple[str, ...] = getattr(self, "evidence", ())
        return (*((self.cause,) if self.cause else ()), *evidence)

    def mutate(self, aggregate: Aggregate | None) -> Aggregate:
        """Fold this event into its aggregate (made when this is the first); the protocol of the eventsourcing library."""
        if aggregate is None:
            aggregate = AGGREGATES[self.AGGREGATE](self.originator_id)
        aggregate.fold(self)
        return aggregate


def sealed(event: Event) -> bytes:
    """The stored form of an event: canonical JSON whose last field is the seal."""
    state = event.model_dump(mode="json", exclude={"originator_id", "originator_version"})
    if event.class_version > 1:
        state["class_version"] = event.class_version
    body = canonical(state).encode()
    digest = chain_digest(event.TOPIC, event.originator_id, event.originator_version, body)
    return body[:-1] + b',"seal":"' + digest.encode() + b'"}'


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
    own = {
        name for each in cls.__mro__ if each is not Event and issubclass(each, Event) for name in each.__annotations__
    }
    hidden = sorted(name for name in own if hasattr(Event, name) or name in Event.model_fields)
    hidden = [name for name in hidden if name not in ("TOPIC", "AGGREGATE", "BLOBS", "class_version")]
    if hidden:
        raise TypeError(f"{cls.__name__}: the fields {', '.join(hidden)} would hide what every event has")
    TOPICS[cls.TOPIC] = cls
    return cls


def guarded(cls: A_) -> A_:
    """Class decorator: register an aggregate class under its KIND."""
    AGGREGATES[cls.KIND] = cls
    return cls


class Forked(Event):
    """Base of the first event of an aggregate that continues another one from a version of it.

    What was recorded up to there holds for the fork too; nothing is copied. The digest pins the other's history.
    """

    parent_id: str
    """Id (hex) of the aggregate that is continued."""
    parent_version: int
    parent_digest: str


class Aggregate:
    """Guards the invariants of one sequence of events; holds no more state than that takes."""

    KIND: ClassVar[str]
    STATE_SCHEMA: ClassVar[int] = 0
    """Version of what :meth:`state` gives; 0 for aggregates that are always folded from their first event."""
    SHARED: ClassVar[bool] = False
    """Whether several runs write to it. Their events do not depend on each other, so that a save which another one
    overtook is made again after the other's events instead of being refused."""

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
        if event.originator_version != self.version + 1 or event.previous != self.head:
            raise InvariantError(f"event {event.ref} does not follow version {self.version} of its aggregate")
        self.apply(event)
        self.version = event.originator_version
        self.head = event.seal

    def apply(self, event: Event) -> None:
        """Change the guarded state; subclasses dispatch on the class of the event."""

    def state(self) -> dict[str, Any]:
        """The guarded state as JSON-ready data, for a snapshot."""
        raise NotImplementedError(f"{type(self).__name__} has no snapshots")

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what :meth:`state` gave."""
        raise NotImplementedError(f"{type(self).__name__} has no snapshots")

    def inherit(self, parent: Self) -> None:
        """Begin with the guarded state of the aggregate that this one continues."""
        self.restore(parent.state())

    @property
    def origin(self) -> dict[str, Any]:
        """What the first event of an aggregate that continues this one says of it: fields of :class:`Forked`."""
        return {"parent_id": self.id.hex, "parent_version": self.version, "parent_digest": self.head}

    @property
    def pending(self) -> Sequence[Event]:
        """Events that were made since the last save."""
        return tuple(self._pending)

    def rebase(self, fresh: Self, events: Sequence[Event]) -> list[Event]:
        """Take over the state of ``fresh``, the same aggregate as others have recorded it since, and fold ``events`` that
        were made before that after it; returns them with their new places in the sequence.
        """
        self.__dict__.update(fresh.__dict__)
        moved = []
        for event in events:
            again = event.model_copy(update={"originator_version": self.version + 1, "previous": self.head})
            again._stored, again._made = b"", event.made
            self.fold(again)
            moved.append(again)
        return moved

    def collect_events(self) -> Sequence[Event]:
        """Hand over the events made since the last save; the protocol of the eventsourcing library."""
        pending, self._pending = self._pending, []
        return pending
