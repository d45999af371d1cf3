"""Jobs on a stand-in for the Arena that queues, refuses, loses answers, dies and reads nothing."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.effect import under
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.visa.arena.client import ArenaClient, ArenaUnreachableError, Refused, find_client
from kernelwright.hardware.rngd.visa.arena.jobs import NoReadingError, family, job_name, run_job
from kernelwright.hardware.rngd.visa.arena.states import (
    UnreadableError,
    job_of,
    parse_list,
    parse_status,
    refusal_of,
    state_of,
)
from kernelwright.hardware.target import Pairs, TargetError
from support.rngd.workshop import Workshop, design, patience, spec

from .conftest import Make


def entry(folder: Path, text: str = "echo hello") -> tuple[Path, Sequence[Path]]:
    folder.mkdir(exist_ok=True)
    path = folder / "entry.sh"
    path.write_text(f"#!/bin/sh\n{text}\n")
    return path, [path]


def test_a_job_from_queue_to_log(workshop: Workshop, tmp_path: Path) -> None:
    workshop.order(polls_in_queue=3)
    end = run_job(workshop.client(), "f", 1, lambda: entry(tmp_path), patience())
    assert (end.status.state, end.status.exit_code, end.adopted) == ("succeeded", 0, False)
    assert end.log == "hello\n"
    assert end.status.duration_seconds is not None
    assert workshop.calls("status") == 4


def test_a_full_queue_is_waited_for(workshop: Workshop, tmp_path: Path) -> None:
    workshop.order(quota=3)
    assert run_job(workshop.client(), "f", 1, lambda: entry(tmp_path), patience(100)).log == "hello\n"
    assert workshop.calls("submit") == 4
    workshop.order(quota=1000)
    with pytest.raises(NoReadingError, match=r"quota exceeded.*gave up after 30 s"):
        run_job(workshop.client(), "g", 1, lambda: entry(tmp_path), patience(30))


def test_jobs_of_others_on_the_account_are_waited_for(workshop: Workshop, tmp_path: Path) -> None:
    client = workshop.client()
    others = [client.submit(*entry(tmp_path), f"other-{number}", 60) for number in range(2)]
    with pytest.raises(NoReadingError, match="2 jobs of this account are active"):
        run_job(client, "f", 1, lambda: entry(tmp_path), patience(10))
    assert workshop.calls("submit") == 2
    assert isinstance(others[0], int)
    client.cancel(others[0])
    assert run_job(client, "f", 1, lambda: entry(tmp_path), patience(10)).log == "hello\n"


def test_an_answer_that_is_lost_makes_no_second_job(workshop: Workshop, tmp_path: Path) -> None:
    workshop.order(lost_answer=1)
    end = run_job(workshop.client(), "f", 1, lambda: entry(tmp_path), patience())
    assert end.log == "hello\n"
    assert workshop.calls("submit") == 1


def test_a_service_that_is_away_for_a_while(workshop: Workshop, tmp_path: Path) -> None:
    workshop.order(list_down=2, down=1, status_down=3)
    end = run_job(workshop.client(), "f", 1, lambda: entry(tmp_path), patience(200))
    assert end.log == "hello\n"
    assert len(workshop.client().mine()) == 1


def test_an_orphan_is_found_by_its_name(workshop: Workshop, tmp_path: Path) -> None:
    client = workshop.client()
    path, files = entry(tmp_path, "echo first")
    job = client.submit(path, files, job_name("f", 1), 70)
    end = run_job(client, "f", 2, lambda: pytest.fail("it must not be handed in again"), patience())
    assert end.adopted
    assert end.status.job == job
    assert end.log == "first\n"
    # One that was cancelled is none.
    assert isinstance(job, int)
    other = client.submit(*entry(tmp_path, "echo cancelled"), job_name("g", 1), 70)
    assert isinstance(other, int)
    client.cancel(other)
    assert not run_job(client, "g", 2, lambda: entry(tmp_path, "echo second"), patience()).adopted


def _submit_and_die(folder: Path, workshop: Workshop) -> None:
    run_job(workshop.client(), family("seed", "step", 0), 1, lambda: entry(folder, "echo orphan"), patience())


def test_kill_9_between_submission_and_answer(workshop: Workshop, tmp_path: Path) -> None:
    workshop.order(killed_after_submit=1)
    child = multiprocessing.get_context("fork").Process(target=_submit_and_die, args=(tmp_path / "a", workshop))
    (tmp_path / "a").mkdir()
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    end = run_job(workshop.client(), family("seed", "step", 0), 2, lambda: entry(tmp_path / "b"), patience())
    assert end.adopted
    assert end.log == "orphan\n"
    assert workshop.calls("submit") == 1


def test_what_needs_a_person(workshop: Workshop, tmp_path: Path) -> None:
    workshop.order(logged_out=1)
    with pytest.raises(TargetError, match=r"asks for a login: run .*login"):
        run_job(workshop.client(), "f", 1, lambda: entry(tmp_path), patience())
    with pytest.raises(TargetError, match="lower job_seconds"):
        run_job(workshop.client(), "f", 1, lambda: entry(tmp_path), patience(), seconds=1800)


def test_a_job_that_never_ends_is_left_to_be_found(workshop: Workshop, tmp_path: Path) -> None:
    workshop.order(polls_in_queue=1000)
    with pytest.raises(NoReadingError, match=r"job 4000 has not ended \(queued\)"):
        run_job(workshop.client(), "f", 1, lambda: entry(tmp_path), patience(20))
    workshop.order(polls_in_queue=0)
    assert [job.name for job in workshop.client().mine()] == [job_name("f", 1)]


def test_every_command(workshop: Workshop, tmp_path: Path) -> None:
    client = workshop.client()
    job = client.submit(*entry(tmp_path), "mine", 60)
    assert isinstance(job, int)
    assert client.status(job).state == "succeeded"
    assert client.result(job) == client.logs(job) == "hello\n"
    again = client.rerun(job)
    assert again == job + 1
    assert [each.state for each in client.mine()] == ["succeeded", "queued"]
    client.cancel(job)
    with pytest.raises(ArenaUnreachableError, match="not found"):
        client.status(99)
    workshop.order(quota=1)
    assert client.rerun(job) == Refused("quota", "Error: quota exceeded: 2 active jobs per user")


def test_a_client_that_hangs(tmp_path: Path) -> None:
    path = tmp_path / "furiosa-arena"
    path.write_text("#!/bin/sh\nsleep 60\n")
    path.chmod(0o755)
    client = ArenaClient((str(path),), 0.5, 0.5)
    with pytest.raises(ArenaUnreachableError, match="no answer in"):
        client.status(1)
    assert client.submit(*entry(tmp_path), "x", 60) == Refused("network", "no answer in 0 s")


def test_the_older_name_is_found_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_client() is None
    (tmp_path / "rngd").write_text("#!/bin/sh\n")
    (tmp_path / "rngd").chmod(0o755)
    found = find_client()
    assert found is not None
    assert found.command == (str(tmp_path / "rngd"),)
    with pytest.raises(TargetError, match="is not installed"):
        find_client("no-such-client")


def test_answers_of_other_forms() -> None:
    status = parse_status('note: x\n{"id": "7", "name": "a", "status": "Canceled", "exit_code": null, "new": 1}')
    assert (status.job, status.state, status.exit_code, status.ended) == (7, "cancelled", None, True)
    assert state_of("provisioning") == "unknown"
    for text in ("", "no json", "[1]", '{"id": 1}', '{"status": "running"}'):
        with pytest.raises(UnreadableError):
            parse_status(text)
    rows = parse_list('[{"id": 3, "name": "a", "status": "running"}]')
    assert [(row.job, row.name, row.state) for row in rows] == [(3, "a", "running")]
    table = parse_list("ID | NAME | STATE\n 12 | kw-x-a1 | SUCCEEDED | 3 s\n13 | RUNNING | later\n")
    assert [(row.job, row.name, row.state) for row in table] == [
        (12, "kw-x-a1", "succeeded"),
        (13, "later", "running"),
    ]
    assert refusal_of("something else") == "unreadable"


@given(
    st.one_of(st.text(), st.from_regex(r"\s*\d+\s+\w+\s+(queued|RUNNING|done)"), st.from_regex(r'\{"id": "?\d+"?.*'))
)
def test_any_answer_is_read_or_refused(text: str) -> None:
    for parse in (parse_status, parse_list):
        with contextlib.suppress(UnreadableError):
            parse(text)
    job_of(text)
    refusal_of(text)


def read(make: Make, candidate: dict[str, object], orders: str = "BC CB BC CB BC", step: str = "k") -> Pairs:
    target = make(arena="auto")
    best, other = target.build(spec(), design(cycles=100_000)), target.build(spec(), design(**candidate))
    assert best.ok, best.diagnostics
    with target.open(spec(), 1) as bench, bench.pair(best, other, 99) as session, under(step, 1):
        return session.read(orders.split(), 4)  # type: ignore[arg-type]  # the two orders


@pytest.fixture
def arena(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """The stand-in Arena on the search path."""
    monkeypatch.setenv("PATH", f"{workshop.bin}:/usr/bin:/bin")
    return workshop


def test_pairs_in_the_order_that_was_asked_for(make: Make, arena: Workshop) -> None:
    taken = read(make, {"cycles": 80_000})
    assert taken.outcome is Outcome.OK, taken.reason
    assert [pair.order for pair in taken.pairs] == ["BC", "CB", "BC", "CB", "BC"]
    for pair in taken.pairs:
        # The first run of a process, 4 % slower here, is not in a reading.
        assert 100_000 / 2e9 <= pair.best_seconds <= 101_000 / 2e9
        assert 80_000 / 2e9 <= pair.candidate_seconds <= 80_800 / 2e9
    assert arena.calls("submit") == 2
    assert taken.device_seconds > 0
    log = arena.client().logs(4000).splitlines()
    begun = [line for line in log if line.startswith("@@kernelwright begin")]
    assert [line.split("side=")[1] for line in begun[:6]] == [
        "best@@", "candidate@@", "best@@", "candidate@@", "candidate@@", "best@@",
    ]  # fmt: skip


def test_a_resumed_attempt_takes_the_log_that_is_there(make: Make, arena: Workshop) -> None:
    first = read(make, {"cycles": 80_000})
    second = read(make, {"cycles": 80_000})
    assert second.pairs == first.pairs
    assert arena.calls("submit") == 2
    other = read(make, {"cycles": 80_000}, step="another")
    assert arena.calls("submit") == 4
    assert other.pairs != first.pairs


@pytest.mark.parametrize(
    ("said", "outcome", "words", "blamed"),
    [
        ({"values": "wrong", "cycles": 1}, Outcome.WRONG_VALUE, "FAIL", "candidate"),
        ({"launch": "crash"}, Outcome.CRASHED, "ended with status 1", "candidate"),
        ({"launch": "hang"}, Outcome.HUNG, "while this program ran", "candidate"),
        ({"launch": "none"}, Outcome.NO_DEVICE, "cycles=none observed", "nobody"),
        ({"build": "fail"}, Outcome.BUILD_FAILED, "the test program does not build", "candidate"),
    ],
)
def test_what_ends_a_reading(
    make: Make, arena: Workshop, said: dict[str, object], outcome: Outcome, words: str, blamed: str
) -> None:
    arena.order(job_seconds=3)
    taken = read(make, said, "BC")
    assert (taken.outcome, taken.blamed) == (outcome, blamed), taken.reason
    assert words in taken.reason
    assert taken.pairs == ()


def test_a_reading_that_is_missing_is_taken_again(make: Make, arena: Workshop) -> None:
    arena.order(no_cycles=1)
    taken = read(make, {"cycles": 80_000}, "BC CB")
    assert taken.outcome is Outcome.OK
    assert len(taken.pairs) == 2
    assert arena.calls("submit") == 2


def test_a_job_that_an_operator_cancels_says_nothing_of_the_designs(make: Make, arena: Workshop) -> None:
    arena.order(cancelled_by_operator=3)
    taken = read(make, {"cycles": 80_000}, "BC")
    assert (taken.outcome, taken.blamed) == (Outcome.NO_DEVICE, "nobody")


def test_without_an_account_there_are_no_pairs(make: Make) -> None:
    target = make()
    assert not target.has_device
    built = target.build(spec(), design())
    with target.open(spec(), 1) as bench:
        assert bench.floor_seconds().value > 0
        with pytest.raises(TargetError, match="Arena account"), bench.pair(built, built, 1):
            pass
