"""Between events and stored bytes: sealing, upcasting of older versions, refusal of newer ones."""

from __future__ import annotations

import importlib
import json
from typing import Any
from uuid import UUID

from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent
from pydantic import ValidationError

from .base import SEAL_LENGTH, TOPICS, Event, chain_digest

FAMILIES: dict[str, tuple[str, ...]] = {
    "run": ("run",),
    "tree": ("tree",),
    "answers": ("answers",),
    "device": ("device",),
    "knowledge": ("knowledge", "experience"),
}
"""Modules that register the events of a family (the part of a topic before its dot). They are imported when the first
such event is read: most commands meet few families."""


def event_class(topic: str) -> type[Event] | None:
    """The class of the events of a topic, or None when this version knows none."""
    if topic not in TOPICS:
        for module in FAMILIES.get(topic.partition(".")[0], ()):
            importlib.import_module(f"{__package__}.{module}")
    return TOPICS.get(topic)


class UnreadableEventError(Exception):
    """A stored event cannot be read. The message says which one, why, and what to do."""


class EventMapper(Mapper[UUID]):
    """Replaces the library's mapping by class path: topics are explicit names, and bytes are sealed by the event."""

    def __init__(self) -> None:
        super().__init__(transcoder=JSONTranscoder())
        self._given: dict[type[Event], set[str]] = {}

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        """The stored form of an event."""
        event: Event = domain_event
        return StoredEvent(event.originator_id, event.originator_version, event.TOPIC, event.stored)

    def to_domain_event(self, stored_event: StoredEvent) -> Event:
        """The event in a stored form, upcast to today's class; raises UnreadableEventError."""
        cls = event_class(stored_event.topic)
        if cls is None:
            raise UnreadableEventError(
                f"{_place(stored_event)} is of a kind that this version does not know; a newer one wrote it"
            )
        event = self._fast(cls, stored_event) or self._upcast(cls, stored_event)
        event._stored = bytes(stored_event.state)
        return event

    def _fast(self, cls: type[Event], stored: StoredEvent) -> Event | None:
        """The event straight from its bytes, when they are of today's schema; None leaves it to the careful way."""
        if cls.class_version > 1 or b'"class_version":' in stored.state or len(stored.state) <= SEAL_LENGTH:
            return None
        place = f',"originator_id":"{stored.originator_id}","originator_version":{stored.originator_version}}}'
        try:
            event = cls.model_validate_json(stored.state[:-SEAL_LENGTH] + place.encode())
        except ValidationError:
            return None
        # Pydantic gives each instance a set of the fields that it was made from: 2 KiB, the same for every stored event of
        # a class. What a view holds of a long log is a third smaller when they share it; nothing changes a frozen event.
        given = event.__pydantic_fields_set__
        shared = self._given.setdefault(cls, given)
        object.__setattr__(event, "__pydantic_fields_set__", shared if shared == given else given)
        return event

    def _upcast(self, cls: type[Event], stored: StoredEvent) -> Event:
        where = _place(stored)
        try:
            state: dict[str, Any] = json.loads(stored.state)
        except ValueError as error:
            raise UnreadableEventError(f"{where} is damaged: {error}; run `kernelwright verify`") from error
        if not isinstance(state, dict):
            raise UnreadableEventError(f"{where} is damaged: it is no object; run `kernelwright verify`")
        state.pop("seal", None)
        version = state.pop("class_version", 1)
        if not isinstance(version, int) or version > cls.class_version:
            raise UnreadableEventError(
                f"{where} has schema version {version}; this kernelwright reads up to {cls.class_version}: upgrade it"
            )
        for step in range(version, cls.class_version):
            getattr(cls, f"upcast_v{step}_v{step + 1}")(state)
        try:
            assert isinstance(stored.originator_id, UUID)
            return cls(originator_id=stored.originator_id, originator_version=stored.originator_version, **state)
        except (TypeError, ValueError) as error:
            raise UnreadableEventError(
                f"{where} does not fit its schema: {error}; run `kernelwright verify`"
            ) from error


def _place(stored: StoredEvent) -> str:
    return f"event {stored.originator_version} of aggregate {stored.originator_id} ({stored.topic})"


def broken_seal(stored: StoredEvent, previous: str) -> str | None:
    """Why a stored event is not what was recorded after the event with digest ``previous``; None when it is intact."""
    state = bytes(stored.state)
    body, suffix = state[:-SEAL_LENGTH] + b"}", state[-SEAL_LENGTH:]
    assert isinstance(stored.originator_id, UUID)
    digest = chain_digest(stored.topic, stored.originator_id, stored.originator_version, body)
    if suffix != b',"seal":"' + digest.encode() + b'"}':
        return "its content does not match its seal"
    content = json.loads(body)
    if not isinstance(content, dict) or content.get("previous") != previous:
        return "it does not continue the chain of its aggregate"
    return None
