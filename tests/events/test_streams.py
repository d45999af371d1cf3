"""Streams of several aggregates: in the order of recording, from any position to any position, whatever a page holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from eventsourcing.persistence import Notification
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.events import streams
from kernelwright.events.base import Context
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run
from kernelwright.events.tree import DesignTree, SearchExhausted
from kernelwright.events.views.load import history


@given(st.lists(st.integers(0, 3), max_size=40), st.sets(st.integers(0, 4)), st.integers(-1, 45), st.integers(0, 45))
def test_merged_is_the_log_without_the_others(writers: list[int], chosen: set[int], after: int, until: int) -> None:
    versions: dict[int, int] = {}
    log: list[Notification] = []
    for position, writer in enumerate(writers, 1):
        versions[writer] = versions.get(writer, 0) + 1
        log.append(Notification(UUID(int=writer), versions[writer], "t", b"", position))

    def page(originator: UUID, version: int, limit: int) -> list[Notification]:
        return [n for n in log if n.originator_id == originator and n.originator_version > version][:limit]

    def last(originator: UUID) -> Notification | None:
        return next((n for n in reversed(log) if n.originator_id == originator), None)

    with patch.object(streams, "PAGE", 3):
        found = list(streams.merged([UUID(int=each) for each in chosen], page, last, after, until))
    assert found == [n for n in log if n.originator_id in {UUID(int=c) for c in chosen} and after < n.id <= until]


def test_a_reader_sees_one_instant_of_a_run_that_goes_on(open_store: Callable[..., EventLog]) -> None:
    log = open_store()
    start: dict[str, Any] = {"target": "t", "policy": {}, "seed": 0, "entropy": "00", "config": {}, "version": "0"}
    run, tree = Run.new("r"), DesignTree.new("r", "k")
    run.start(Context(), run="r", kernels=("k",), minutes=1.0, **start)
    tree.start(Context(), run="r", kernel="k", spec="s", dimensions={}, streamed_bytes=8)
    log.record(run, tree)
    reading = history(open_store(), "r")
    seen = [next(reading).position]
    tree.note(Context(), SearchExhausted, reason="later")
    run.stop(Context(), "interrupted")
    log.record(run, tree)
    seen += [recorded.position for recorded in reading]
    assert seen == [1, 2]
    assert [recorded.position for recorded in history(log, "r", after=2)] == [3, 4]


@pytest.mark.parametrize("length", [1, 7, 64])
def test_the_place_to_go_on_is_found_in_any_length(open_store: Callable[..., EventLog], length: int) -> None:
    log = open_store()
    one, other = DesignTree.new("r", "a"), DesignTree.new("r", "b")
    for number in range(length):
        for tree in (one, other)[: 1 + number % 2]:
            tree.note(Context(), SearchExhausted, reason=str(number))
            log.record(tree)
    everything = [recorded.position for recorded in log.stream()]
    for after in range(len(everything) + 2):
        both = [recorded.position for recorded in log.stream([one.id, other.id], after)]
        assert both == [position for position in everything if position > after]
