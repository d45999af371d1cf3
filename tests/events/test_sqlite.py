"""The SQLite file: locks, full disks, files that cannot be written, vacuum, and waiting for the disk."""

from __future__ import annotations

import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from kernelwright.events import sqlite as sqlite_module
from kernelwright.events.base import Context
from kernelwright.events.log import EventLog, LogError
from kernelwright.events.run import Run
from kernelwright.events.sqlite import SQLiteStore
from kernelwright.events.views.load import load_run
from kernelwright.events.views.summary import run_summary


def stop(log: EventLog) -> None:
    run = log.load(Run, "r")
    run.resume(Context(), 1.0)
    log.record(run)


def test_every_commit_waits_for_the_disk(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "log.sqlite"))

    def setting(name: str) -> object:
        with store.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA {name}")
            return cursor.fetchone()[0]

    assert (setting("journal_mode"), setting("synchronous")) == ("wal", 2)  # FULL
    with store._writing(synced=False) as c:
        c.execute("PRAGMA synchronous")
        assert c.fetchone()[0] == 1  # NORMAL: for what announces an effect, and for that alone
    assert setting("synchronous") == 2
    with pytest.raises(ZeroDivisionError), store._writing(synced=False):
        raise ZeroDivisionError
    assert setting("synchronous") == 2
    store.close()


def test_a_locked_file_says_so_and_nothing_is_recorded(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_module, "LOCK_TIMEOUT_SECONDS", 1)
    log = EventLog.open(str(finished))
    before = log.store.last_position()
    other = sqlite3.connect(finished, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LogError, match="locked by another process that writes; try again"):
        stop(log)
    other.execute("ROLLBACK")
    assert log.store.last_position() == before
    stop(log)
    log.close()


def test_a_store_opens_at_once_while_another_process_writes(finished: Path) -> None:
    other = sqlite3.connect(finished, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    log = EventLog.open(str(finished))
    assert log.store.last_position() > 0
    log.close()
    other.execute("ROLLBACK")
    other.close()


def test_processes_that_make_a_store_at_once_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    code = "import sys; from kernelwright.events.log import EventLog; EventLog.open(sys.argv[1], create=True).close()"
    makers = [subprocess.Popen([sys.executable, "-c", code, str(path)], stderr=subprocess.PIPE) for _ in range(6)]
    assert [(maker.communicate()[1], maker.returncode) for maker in makers] == [(b"", 0)] * len(makers)
    log = EventLog.open(str(path), read_only=True)
    assert (log.store.last_position(), log.store.positions_given()) == (0, 0)
    log.close()


def test_a_file_that_may_not_be_written_is_read(finished: Path) -> None:
    finished.chmod(0o444)
    log = EventLog.open(str(finished), read_only=True)
    assert run_summary(load_run(log, "r"))["state"] == "finished"
    with pytest.raises(LogError, match="cannot be written"):
        stop(log)
    log.close()


def test_a_file_at_rest_is_read_where_nothing_can_be_made(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a folder without write permission means, for a user (such as root) whom permissions do not stop.
    monkeypatch.setattr(sqlite_module, "_can_create_beside", lambda _path: False)
    log = EventLog.open(str(finished), read_only=True)
    assert load_run(log, "r").state == "finished"
    log.close()
    assert not Path(f"{finished}-wal").exists()
    assert not Path(f"{finished}-shm").exists()


def test_positions_and_order_survive_vacuum(finished: Path) -> None:
    log = EventLog.open(str(finished))
    before = [(r.position, r.event.ref) for r in log.stream()]
    log.close()
    with sqlite3.connect(finished, isolation_level=None) as connection:
        connection.execute("VACUUM")
    log = EventLog.open(str(finished))
    assert [(r.position, r.event.ref) for r in log.stream()] == before
    assert log.store.positions_given() == len(before)
    log.close()


def test_reading_writes_nothing(finished: Path) -> None:
    before = finished.read_bytes()
    log = EventLog.open(str(finished), read_only=True)
    load_run(log, "r")
    log.close()
    assert finished.read_bytes() == before


def test_what_is_no_log_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    path.write_bytes(b"not a database at all, but long enough to be read as one" * 20)
    with pytest.raises(LogError, match="not a kernelwright log, or is damaged"):
        EventLog.open(str(path))
    with pytest.raises(LogError, match="is a folder"):
        EventLog.open(str(tmp_path))
    with pytest.raises(LogError, match="there is no log at"):
        EventLog.open(str(tmp_path / "none.sqlite"))


FULL_DISK = """
import resource, sys
from kernelwright.events.base import Context
from kernelwright.events.log import EventLog, LogError
from kernelwright.events.run import Run
log = EventLog.open(sys.argv[1])
size = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
run = log.load(Run, "r")
for turn in range(10_000):
    log.blobs.put(bytes(f"{turn}" * 2_000, "ascii"))
    run.resume(Context(), float(turn))
    try:
        log.record(run)
    except LogError as error:
        print(turn, error)
        break
    print(turn, "acknowledged")
"""


def test_a_full_disk_ends_in_words_and_loses_nothing_acknowledged(finished: Path, tmp_path: Path) -> None:
    size = max(finished.stat().st_size, 200_000) + 100_000
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(finished), str(size)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    lines = done.stdout.splitlines()
    assert "is full or failing; free some space, then `kernelwright resume`" in lines[-1]
    acknowledged = sum(line.endswith("acknowledged") for line in lines)
    assert acknowledged > 0
    log = EventLog.open(str(finished))
    run = log.load(Run, "r")
    assert run.token == 1 + acknowledged
    stop(log)
    log.close()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_runs_are_listed_by_an_index_that_holds_nothing_else(finished: Path) -> None:
    with sqlite3.connect(finished) as db:
        condition = sqlite_module._LISTING
        query = f"SELECT topic FROM stored_events WHERE {condition} AND notification_id>0 ORDER BY notification_id"
        plan = " ".join(str(row) for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))
    assert "INDEX stored_events_listing" in plan
