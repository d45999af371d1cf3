"""Durable appends: the log beside the library's own recorder and beside a bare table, save by save in turn."""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
from kernelwright.events.base import Context
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run, StepFinished

SAVES, REPEATS = 200, 7
"""Saves of each kind in one comparison, and comparisons, each on new files."""
HEAD = (
    "| events a save | log /s | recorder /s | bare SQLite /s | log : recorder (lowest to highest) | log : bare |\n"
    "|---|---|---|---|---|---|"
)


@contextmanager
def fresh(folder: Path) -> Iterator[EventLog]:
    """A log that is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        log = EventLog.open(f"{inside}/log.sqlite", create=True)
        yield log
        log.close()


def prepared(count: int) -> tuple[Run, list[StoredEvent]]:
    """An aggregate with so many events made and not saved, and the same events in their stored form."""
    run = Run.new("r")
    for number in range(count):
        run.trigger(StepFinished, Context(), key=f"{number:016x}", name="build", outcome="ok", seconds={"rest": 0.001})
    return run, [StoredEvent(e.originator_id, e.originator_version, e.TOPIC, e.stored) for e in run.pending]


@contextmanager
def log_appender(folder: Path, count: int, batch: int) -> Iterator[Callable[[], None]]:
    """One call saves the next batch through ``EventLog.record``."""
    with fresh(folder) as log:
        run, _ = prepared(count)
        made = list(run.collect_events())

        def append() -> None:
            run._pending = made[:batch]
            del made[:batch]
            log.record(run)

        yield append


@contextmanager
def recorder_appender(folder: Path, count: int, batch: int) -> Iterator[Callable[[], None]]:
    """One call saves the next batch through the library's own recorder."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        recorder = SQLiteApplicationRecorder(SQLiteDatastore(f"file:{inside}/log.sqlite"))
        recorder.create_table()
        _, stored = prepared(count)

        def append() -> None:
            now = stored[:batch]
            del stored[:batch]
            recorder.insert_events(now)

        yield append
        recorder.datastore.close()


@contextmanager
def sqlite_appender(folder: Path, count: int, batch: int) -> Iterator[Callable[[], None]]:
    """One call saves the next batch into a bare table; the commit waits for the disk."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        db = sqlite3.connect(f"{inside}/log.sqlite", isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute(
            "CREATE TABLE events (id INTEGER PRIMARY KEY, originator TEXT, version INTEGER, topic TEXT, state BLOB)"
        )
        _, stored = prepared(count)

        def append() -> None:
            now = [(str(e.originator_id), e.originator_version, e.topic, e.state) for e in stored[:batch]]
            del stored[:batch]
            db.execute("BEGIN")
            db.executemany("INSERT INTO events (originator, version, topic, state) VALUES (?,?,?,?)", now)
            db.execute("COMMIT")

        yield append
        db.close()


def seconds_of_saves(folder: Path, batch: int) -> list[float]:
    """Median seconds of a save by log, recorder and bare table. They take turns save by save, so that whatever else the
    disk does hits all three.
    """
    seconds: list[list[float]] = [[], [], []]
    count = SAVES * batch
    with (
        log_appender(folder, count, batch) as log,
        recorder_appender(folder, count, batch) as recorder,
        sqlite_appender(folder, count, batch) as bare,
    ):
        appenders = [log, recorder, bare]
        # Every order in turn, so that each comes after each of the others as often.
        orders = list(permutations(range(3)))
        for turn in range(SAVES):
            for index in orders[turn % len(orders)]:
                begun = time.perf_counter()
                appenders[index]()
                seconds[index].append(time.perf_counter() - begun)
    return [statistics.median(each) for each in seconds]


def compare_appends(folder: Path, batch: int) -> str:
    """A line of the table: medians over the repeats, and the spread of the ratio that is asked for."""
    repeats = [seconds_of_saves(folder, batch) for _ in range(REPEATS)]
    rates = " | ".join(f"{batch / statistics.median(each):,.0f}" for each in zip(*repeats, strict=True))
    ratios = sorted(library / ours for ours, library, _ in repeats)
    bare = statistics.median(table / ours for ours, _, table in repeats)
    return f"| {batch} | {rates} | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) | {bare:.2f} |"
