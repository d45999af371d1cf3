"""What a store promises, of both kinds: atomic and durable saves, order without gaps, nothing ever changed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.cli import assemble
from kernelwright.events.base import Context
from kernelwright.events.blobs import BlobError
from kernelwright.events.knowledge import KnowledgeBase
from kernelwright.events.log import ConflictError, EventLog, LogError, RunHeldError
from kernelwright.events.run import Run
from kernelwright.events.store import row_of
from kernelwright.events.views.summary import list_runs
from kernelwright.graph.runner import Plan
from support.postgres import PASSWORD, Server

Open = Callable[..., EventLog]
START: dict[str, Any] = {
    "target": "t",
    "kernels": ("k",),
    "policy": {},
    "seed": 0,
    "entropy": "00",
    "minutes": 1.0,
    "config": {},
    "version": "0",
}


def start(log: EventLog, name: str = "r") -> Run:
    run = log.load(Run, name)
    run.start(Context(), run=name, **START)
    log.record(run)
    return run


def probe(base: KnowledgeBase, name: str) -> None:
    content = {"question": "?", "value": 1.0, "unit": "s", "spread": 0.0, "repeats": 1, "conditions": {}}
    base.measured(Context(), target="t", run="r", name=name, **content)


def test_what_was_saved_is_there_for_another_process(open_store: Open) -> None:
    run = start(open_store())
    again = open_store(create=False).load(Run, "r")
    assert (again.version, again.head, again.name) == (run.version, run.head, "r")


def test_positions_follow_each_other_without_gaps_even_after_a_refused_save(open_store: Open) -> None:
    log = open_store()
    start(log)
    other = Run.new("r")
    other.start(Context(), run="r", **START)
    log.blobs.put("lost")
    with pytest.raises(ConflictError, match="nothing was recorded"):
        log.record(other)
    log.blobs.recorded()
    start(log, "s")
    assert [recorded.position for recorded in log.stream()] == [1, 2]
    assert (log.store.last_position(), log.store.positions_given()) == (2, 2)
    assert list(log.store.blob_digests()) == []


def test_a_save_that_fails_in_its_last_event_leaves_nothing(open_store: Open) -> None:
    log = open_store()
    first = Run.new("a")
    first.start(Context(), run="a", **START)
    good = log.mapper.to_stored_event(first.collect_events()[0])
    with pytest.raises(Exception, match=r"(?i)unique"):
        log.store.append([row_of(good), row_of(good)], {"d": b"x"})
    assert log.store.last_position() == 0
    assert log.store.read_blob("d") is None


def test_of_two_writers_of_one_run_the_second_is_told(open_store: Open) -> None:
    one, two = open_store(), open_store()
    start(one)
    first, second = one.load(Run, "r"), two.load(Run, "r")
    first.stop(Context(), "interrupted")
    one.record(first)
    second.stop(Context(), "failed")
    with pytest.raises(ConflictError, match="another process has written to the same run"):
        two.record(second)
    assert one.load(Run, "r").stopped == "interrupted"


def test_what_runs_share_is_appended_after_what_others_have_recorded(open_store: Open) -> None:
    one, two = open_store(), open_store()
    first, second = one.load(KnowledgeBase, "t"), two.load(KnowledgeBase, "t")
    probe(first, "x")
    one.record(first)
    probe(second, "y")
    probe(second, "z")
    saved = two.record(second)
    assert [recorded.event.originator_version for recorded in saved] == [2, 3]
    assert second.version == 3
    assert one.load(KnowledgeBase, "t").head == second.head
    probe(second, "w")
    two.record(second)


def test_blobs_are_there_with_the_events_and_verified(open_store: Open) -> None:
    log = open_store()
    run = log.load(Run, "r")
    digest = log.blobs.put("text " * 1000)
    run.start(Context(), run="r", **{**START, "config": {"kernel_sources": {"f.py": digest}}})
    assert open_store().store.read_blob(digest) is None
    log.record(run)
    assert open_store().blobs.text(digest) == "text " * 1000
    with pytest.raises(BlobError, match="no blob"):
        log.blobs.get("0" * 64)


@pytest.mark.parametrize("table", ["stored_events", "blobs"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET {} = {}", "DELETE FROM {}"])
def test_rows_cannot_be_changed(open_store: Open, table: str, statement: str) -> None:
    log = open_store()
    log.blobs.put("x")
    start(log)
    column = "originator_version" if table == "stored_events" else "digest"
    with pytest.raises(Exception, match="append only"), log.store.datastore.transaction(commit=True) as c:  # type: ignore[attr-defined]  # both kinds have one
        c.execute(statement.format(table, column, "9"))
    assert len(list(log.stream())) == 1


def test_runs_are_listed_newest_first_with_their_states(open_store: Open) -> None:
    log = open_store()
    for name in ("a", "b"):
        start(log, name)
    run = log.load(Run, "a")
    run.stop(Context(), "budget")
    run.resume(Context(), 2.0)
    run.stop(Context(), "interrupted")
    log.record(run)
    assert [(each["run"], each["state"]) for each in list_runs(log)] == [("b", "running"), ("a", "interrupted")]


def test_streams_of_some_aggregates_and_between_positions(open_store: Open) -> None:
    log = open_store()
    for name in "abcd":
        start(log, name)
    assert [r.position for r in log.stream([Run.identify("b"), Run.identify("d")])] == [2, 4]
    assert [r.position for r in log.stream(after=1, until=3)] == [2, 3]
    assert [r.position for r in log.at_positions([4, 1, 99])] == [1, 4]


def test_snapshots_are_a_cache_that_may_vanish(open_store: Open) -> None:
    log = open_store()
    run = start(log)
    log.keep_snapshot(run)
    run.stop(Context(), "interrupted")
    log.record(run)
    again = log.load(Run, "r")
    assert (again.version, again.head, again.stopped) == (2, run.head, "interrupted")
    with log.store.datastore.transaction(commit=True) as c:  # type: ignore[attr-defined]  # both kinds have one
        c.execute("DROP TABLE snapshots")
    assert log.load(Run, "r").head == run.head
    log.keep_snapshot(run)
    assert log.load(Run, "r").head == run.head


def test_a_snapshot_that_the_log_does_not_bear_out_is_not_believed(open_store: Open) -> None:
    log = open_store()
    run = start(log)
    run.head = "0" * 64
    run.name = "forged"
    log.keep_snapshot(run)
    assert log.load(Run, "r").name == "r"


def test_only_one_holds_a_run_and_the_other_learns_who(open_store: Open) -> None:
    one, two = open_store(), open_store()
    run = one.load(Run, "r")
    run.start(Context(), run="r", **START, holder={"host": "here", "pid": 77})
    one.record(run)
    with one.hold("r"):
        with two.hold("s"):
            pass
        with pytest.raises(RunHeldError, match=r"by process 77 on here since .* \(lease 1\)"), two.hold("r"):
            pass
    with two.hold("r"):
        pass


def _hold(where: str, held: Any) -> None:
    log = EventLog.open(where)
    with log.hold("r"):
        held.set()
        signal.pause()


def test_what_a_killed_process_held_is_free(open_store: Open, new_store: str) -> None:
    log = open_store()
    held = multiprocessing.get_context("fork").Event()
    holder = multiprocessing.get_context("fork").Process(target=_hold, args=(new_store, held))
    holder.start()
    assert held.wait(60)
    with pytest.raises(RunHeldError), log.hold("r"):
        pass
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    for _ in range(200):  # a server takes a moment to see that the connection is gone
        try:
            with log.hold("r"):
                return
        except RunHeldError:
            threading.Event().wait(0.05)
    pytest.fail("the run is still held")


def test_a_former_holder_cannot_record(open_store: Open) -> None:
    one, two = open_store(), open_store()
    run = start(one)
    taker = two.load(Run, "r")
    taken = taker.resume(Context(), 1.0, holder={"host": "b", "pid": 2})
    two.record(taker)
    assert (taken.content()["token"], taken.content()["lost"]) == (2, True)
    run.begin_step(Context(), "k", "build", {})
    with pytest.raises(ConflictError):
        one.record(run)


def test_many_writers_at_once_leave_no_gap_and_lose_nothing(open_store: Open) -> None:
    logs = [open_store() for _ in range(4)]
    failures: list[BaseException] = []

    def write(index: int) -> None:
        try:
            for turn in range(8):
                base = logs[index].load(KnowledgeBase, "t")
                probe(base, f"{index}-{turn}")
                logs[index].record(base)
        except LogError as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(index,)) for index in range(len(logs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [recorded.position for recorded in logs[0].stream()] == list(range(1, 33))
    assert logs[0].load(KnowledgeBase, "t").version == 32


def test_no_store_where_none_was_made(new_store: str) -> None:
    with pytest.raises(LogError, match="there is no log at") as caught:
        EventLog.open(new_store)
    assert PASSWORD not in str(caught.value)


def test_credentials_are_shown_nowhere(open_store: Open) -> None:
    log = open_store()
    assert PASSWORD not in log.where
    with pytest.raises(LogError) as caught, log.hold("r"), open_store().hold("r"):
        pass
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://u:PASS@127.0.0.1:1/d", "does not answer"),
        ("postgresql://u:PASS@[::1/d", "cannot be read"),
        ("mysql://u:PASS@h/d", "not a store"),
    ],
)
def test_errors_of_bad_urls_say_what_to_do_and_show_no_password(url: str, says: str) -> None:
    with pytest.raises(LogError, match=says) as caught:
        EventLog.open(url.replace("PASS", PASSWORD))
    assert PASSWORD not in str(caught.value)


def test_a_wrong_password_is_refused_in_words(server: Server) -> None:
    with pytest.raises(LogError, match="refused the user or the password") as caught:
        EventLog.open(server.url("postgres").replace(PASSWORD, "wrong-horse"))
    assert "wrong-horse" not in str(caught.value)


def test_runs_that_begin_in_the_same_second_get_names_of_their_own(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, other = open_store(), open_store()
    start(other, "r")  # by another process, after this one has read which names are taken
    names = iter(("r", "r-2"))
    monkeypatch.setattr(assemble, "new_run_name", lambda _log: next(names))
    plan = Plan("", "simulated", ("k",), Policy(), 0, 1.0, {}, "test")
    assert assemble.start_under_new_name(log, plan) == "r-2"
    assert {each["run"] for each in list_runs(log)} == {"r", "r-2"}
