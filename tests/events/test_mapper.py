"""Between events and bytes: round trips, seals, upcasting of older versions, refusal of newer ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID, uuid4

import pytest
from eventsourcing.persistence import StoredEvent
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.events.base import TOPICS, Context, Event, chain_digest, recorded
from kernelwright.events.mapper import EventMapper, UnreadableEventError, broken_seal
from kernelwright.events.run import Run, StepFinished
from kernelwright.events.tree import PairsRead

MAPPER = EventMapper()
TEXT = st.text(max_size=30)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)


@given(TEXT, TEXT, st.dictionaries(TEXT, NUMBER, max_size=4))
def test_what_is_stored_reads_back_equal(key: str, outcome: str, seconds: dict[str, float]) -> None:
    run = Run.new("r")
    event = run.trigger(StepFinished, Context(), key=key, name="build", outcome=outcome, seconds=seconds)
    stored = MAPPER.to_stored_event(event)
    again = MAPPER.to_domain_event(stored)
    assert again == event
    assert again.model_dump() == event.model_dump()
    assert again.stored == stored.state
    assert broken_seal(stored, "") is None


@given(st.lists(st.tuples(st.sampled_from(["BC", "CB"]), NUMBER, NUMBER), max_size=5))
def test_readings_keep_every_bit(pairs: list[tuple[str, float, float]]) -> None:
    event = Run.new("r").trigger(
        PairsRead,
        Context(),
        purpose="decide",
        best="d0",
        candidate="d1",
        best_artifact="a",
        candidate_artifact="b",
        calls=1,
        scale=0.1,
        turn=0,
        orders=tuple(pair[0] for pair in pairs),
        best_seconds=tuple(pair[1] for pair in pairs),
        candidate_seconds=tuple(pair[2] for pair in pairs),
        outcome="ok",
        reason="",
        blamed="nobody",
        device_seconds=1.0,
    )
    again = MAPPER.to_domain_event(MAPPER.to_stored_event(event))
    assert isinstance(again, PairsRead)
    assert (again.best_seconds, again.candidate_seconds) == (event.best_seconds, event.candidate_seconds)  # type: ignore[attr-defined]  # the class that was triggered


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_any_other_byte_breaks_the_seal(index: int, change: int) -> None:
    event = Run.new("r").trigger(StepFinished, Context(), key="k", name="build", outcome="ok", seconds={"a": 1.5})
    state = bytearray(event.stored)
    state[index % len(state)] ^= change
    stored = StoredEvent(event.originator_id, 1, event.TOPIC, bytes(state))
    assert broken_seal(stored, "") is not None


@pytest.mark.parametrize(
    "change", [{"topic": "run.step-started"}, {"originator_version": 2}, {"originator_id": uuid4()}, {"previous": "x"}]
)
def test_an_event_moved_elsewhere_breaks_its_seal(change: dict[str, Any]) -> None:
    event = Run.new("r").trigger(StepFinished, Context(), key="k", name="build", outcome="ok", seconds={})
    parts: dict[str, Any] = {"originator_id": event.originator_id, "originator_version": 1, "topic": event.TOPIC}
    previous = change.pop("previous", "")
    stored = StoredEvent(**{**parts, "state": event.stored, **change})
    assert broken_seal(stored, previous) is not None


@pytest.fixture
def versioned() -> Iterator[type[Event]]:
    """An event class of schema version 3, whose older versions said less."""

    @recorded
    class Weighed(Event):
        """Version 1 had pounds, version 2 kilograms, version 3 names the scale."""

        TOPIC: ClassVar[str] = "test.weighed"
        AGGREGATE: ClassVar[str] = "run"
        class_version: ClassVar[int] = 3
        kilograms: float
        scale: str

        @staticmethod
        def upcast_v1_v2(state: dict[str, Any]) -> None:
            state["kilograms"] = state.pop("pounds") * 0.45359237

        @staticmethod
        def upcast_v2_v3(state: dict[str, Any]) -> None:
            state["scale"] = "unknown"

    yield Weighed
    del TOPICS["test.weighed"]


def stored_as(topic: str, content: dict[str, Any], version: int = 1) -> StoredEvent:
    """An event as a release with that schema version would have stored it."""
    originator = UUID(int=7)
    state = {
        "previous": "",
        "at": "2026-01-02T03:04:05Z",
        "cause": "",
        "step": "",
        "attempt": 0,
        "toolchain": "",
        **content,
    }
    if version > 1:
        state["class_version"] = version
    body = json.dumps(state, sort_keys=True, separators=(",", ":")).encode()
    seal = chain_digest(topic, originator, 1, body)
    return StoredEvent(originator, 1, topic, body[:-1] + f',"seal":"{seal}"}}'.encode())


def test_older_versions_are_upcast_step_by_step_and_keep_their_seal(versioned: type[Event]) -> None:
    stored = stored_as("test.weighed", {"pounds": 2.0})
    event = MAPPER.to_domain_event(stored)
    assert event.content() == {"kilograms": 0.90718474, "scale": "unknown"}
    assert event.stored == stored.state
    assert broken_seal(stored, "") is None
    second = MAPPER.to_domain_event(stored_as("test.weighed", {"kilograms": 3.0}, version=2))
    assert second.content() == {"kilograms": 3.0, "scale": "unknown"}
    third = MAPPER.to_domain_event(stored_as("test.weighed", {"kilograms": 3.0, "scale": "mine"}, version=3))
    assert third.content() == {"kilograms": 3.0, "scale": "mine"}


def test_new_events_of_a_later_version_say_so(versioned: type[Event]) -> None:
    event = Run.new("r").trigger(versioned, Context(), kilograms=1.0, scale="mine")
    assert json.loads(event.stored)["class_version"] == 3
    assert MAPPER.to_domain_event(MAPPER.to_stored_event(event)) == event


def test_a_newer_version_is_refused_with_the_version_that_is_needed(versioned: type[Event]) -> None:
    with pytest.raises(UnreadableEventError, match="schema version 4; this kernelwright reads up to 3: upgrade it"):
        MAPPER.to_domain_event(stored_as("test.weighed", {"kilograms": 3.0}, version=4))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UnreadableEventError, match=r"of a kind that this version does not know"):
        MAPPER.to_domain_event(stored_as("run.invented", {}))


@pytest.mark.parametrize("state", [b"", b"{", b"[1]", b'{"previous":""}', b"\xff\xfe" * 60])
def test_damaged_bytes_are_refused_in_words(state: bytes) -> None:
    with pytest.raises(UnreadableEventError, match="verify"):
        MAPPER.to_domain_event(StoredEvent(UUID(int=7), 1, "run.stopped", state))


def test_a_field_that_hides_what_every_event_has_is_refused() -> None:
    with pytest.raises(TypeError, match="would hide"):

        @recorded
        class Hiding(Event):
            TOPIC: ClassVar[str] = "test.hiding"
            AGGREGATE: ClassVar[str] = "run"
            at: str  # type: ignore[assignment]  # what is shown to be refused


def test_a_topic_is_taken_once() -> None:
    with pytest.raises(TypeError, match="is taken by StepFinished"):

        @recorded
        class Again(Event):
            TOPIC: ClassVar[str] = "run.step-finished"
