"""Between events and stored bytes: sealing, upcasting of older versions, refusal of newer ones."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent

from .base import DIGEST_SUFFIX_LENGTH, TOPICS, Event, chain_digest


class UnreadableEventError(Exception):
    """A stored event cannot be read. The message says which one, why, and what to do."""


class EventMapper(Mapper[UUID]):
    """Replaces the library's mapping by class path: topics are explicit names, and bytes are sealed by the event."""

    def __init__(self) -> None:
        super().__init__(transcoder=JSONTranscoder())

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        """The stored form of an event."""
        event: Event = domain_event
        return StoredEvent(event.originator_id, event.originator_version, event.TOPIC, event.stored)

    def to_domain_event(self, stored_event: StoredEvent) -> Event:
        """The event in a stored form, upcast to today's class; raises UnreadableEventError."""
        where = f"event {stored_event.originator_version} of aggregate {stored_event.originator_id} ({stored_event.topic})"
        cls = TOPICS.get(stored_event.topic)
        if cls is None:
            raise UnreadableEventError(f"{where} is of a kind that this version does not know; a newer one wrote it")
        try:
            state: dict[str, Any] = json.loads(stored_event.state)
        except ValueError as error:
            raise UnreadableEventError(f"{where} is damaged: {error}; run `kernelwright verify`") from error
        state.pop("digest", None)
        version = state.pop("class_version", 1)
        if version > cls.class_version:
            raise UnreadableEventError(
                f"{where} has schema version {version}; this kernelwright reads up to {cls.class_version}: upgrade it"
            )
        for step in range(version, cls.class_version):
            getattr(cls, f"upcast_v{step}_v{step + 1}")(state)
        try:
            event = cls(
                originator_id=stored_event.originator_id,
                originator_version=stored_event.originator_version,
                **state,
            )
        except (TypeError, ValueError) as error:
            raise UnreadableEventError(f"{where} does not fit its schema: {error}; run `kernelwright verify`") from error
        event._stored = bytes(stored_event.state)
        return event


def broken_seal(stored: StoredEvent, previous: str) -> str | None:
    """Why a stored event is not what was recorded after the event with digest ``previous``; None when it is intact."""
    state = bytes(stored.state)
    body, suffix = state[:-DIGEST_SUFFIX_LENGTH] + b"}", state[-DIGEST_SUFFIX_LENGTH:]
    assert isinstance(stored.originator_id, UUID)
    digest = chain_digest(stored.topic, stored.originator_id, stored.originator_version, body)
    if suffix != b',"digest":"' + digest.encode() + b'"}':
        return "its content does not match its digest"
    if json.loads(body).get("previous") != previous:
        return "it does not continue the chain of its aggregate"
    return None
