"""Measures the log: appends, replay, growth, resumption. Run: `python -m benchmarks.log [--events N] [--folder PATH]`.

Every number that compares is a ratio within this run, on the same disk; the parts that are compared take turns.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
from kernelwright.acceptance.policy import Policy
from kernelwright.events.base import Context
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run, StepFinished
from kernelwright.events.tree import DesignTree
from kernelwright.events.views.load import load_run
from kernelwright.events.views.run import RunView
from kernelwright.events.views.snapshot import keep_view
from kernelwright.events.views.summary import run_summary
from kernelwright.graph.route import route

from .made import Maker

SAVES = 300
"""Saves of each kind in a comparison of appends."""


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


def compare_appends(folder: Path, saves: int, batch: int) -> str:
    """A line of the table of appends: the three take turns save by save, so that whatever else the disk does hits all;
    medians of the time of a save.
    """
    seconds: list[list[float]] = [[], [], []]
    count = saves * batch
    with (
        log_appender(folder, count, batch) as log,
        recorder_appender(folder, count, batch) as recorder,
        sqlite_appender(folder, count, batch) as bare,
    ):
        appenders = [log, recorder, bare]
        for turn in range(saves):
            for index in [turn % 3, (turn + 1) % 3, (turn + 2) % 3]:
                begun = time.perf_counter()
                appenders[index]()
                seconds[index].append(time.perf_counter() - begun)
    ours, library, table = (statistics.median(each) for each in seconds)
    rates = " | ".join(f"{batch / each:,.0f}" for each in (ours, library, table))
    return f"| {batch} | {rates} | {library / ours:.2f} | {table / ours:.2f} |"


def replay_cost(path: Path) -> tuple[int, float, float]:
    """Events, seconds and peak memory (MiB) of a fold of all events that keeps none of them, in a process of its own."""
    code = (
        "import sys,time\n"
        "def peak(): return int(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])\n"
        "from kernelwright.events.log import EventLog\n"
        "log = EventLog.open(sys.argv[1], read_only=True)\n"
        "base = peak()\n"
        "begun = time.perf_counter()\n"
        "count = sum(1 for _ in log.stream())\n"
        "print(count, time.perf_counter() - begun, (peak() - base) / 1024)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    ).stdout.split()
    return int(out[0]), float(out[1]), float(out[2])


def growth(log: EventLog, lengths: list[int]) -> list[str]:
    """Per-event cost of the view and cost of ``route`` at several lengths of one log, as medians over windows."""
    view, policy = RunView(), Policy()
    lines, window, marks, first = [], [], iter(lengths), None
    mark = next(marks)
    for recorded in log.stream([Run.identify("r"), DesignTree.identify("r", "double")]):
        begun = time.process_time_ns()
        view.apply(recorded)
        window.append(time.process_time_ns() - begun)
        if view.events == mark:
            routes = []
            for _ in range(200):
                begun = time.process_time_ns()
                route(view, policy)
                routes.append(time.process_time_ns() - begun)
            begun = time.process_time_ns()
            for _ in range(20):
                run_summary(view)
            summary = (time.process_time_ns() - begun) / 20
            costs = (statistics.median(window), statistics.median(routes), summary)
            first = first or costs
            ratios = " | ".join(
                f"{cost / 1000:.1f} | {cost / start:.2f}" for cost, start in zip(costs, first, strict=True)
            )
            lines.append(f"| {mark:,} | {ratios} |")
            mark = next(marks, 0)
            if not mark:
                break
        if len(window) == 1_000:
            window = window[-500:] if view.events + 500 < mark else window
        window = window[-1_000:]
    return lines


def ready(log: EventLog) -> tuple[float, float, float, float]:
    """Seconds until a run can go on, and until its status is known: from a snapshot, and without."""
    times = []
    for from_snapshot in (True, False):
        begun = time.perf_counter()
        view = load_run(log, "r", from_snapshot=from_snapshot)
        run_summary(view)
        status = time.perf_counter() - begun
        if from_snapshot:
            log.load(Run, "r")
            log.load(DesignTree, "r", "double")
        else:
            log.load_at(Run, Run.identify("r"), 10**9)
            log.load_at(DesignTree, DesignTree.identify("r", "double"), 10**9)
        route(view, Policy())
        times += [time.perf_counter() - begun, status]
    return times[0], times[1], times[2], times[3]


def main() -> None:
    """Print the results as Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=1_000_000, help="length of the replayed log")
    options.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where to put the logs")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        print(
            f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores, {cpu_name()}\n"
        )
        print(
            "| events a save | log /s | recorder /s | bare SQLite /s | log : recorder | log : bare |\n|---|---|---|---|---|---|"
        )
        for batch in (1, 10, 100):
            print(compare_appends(folder, SAVES, batch), flush=True)
        path = folder / "long.sqlite"
        log = EventLog.open(str(path), create=True)
        maker = Maker(log)
        begun = time.perf_counter()
        maker.grow(100_000)
        print(f"\nmaking and appending, in saves of 1,000: {100_000 / (time.perf_counter() - begun):,.0f} events/s\n")
        live = load_run(log, "r")
        keep_view(log, live)
        log.keep_snapshot(maker.run, maker.tree)
        resumed, status, cold, cold_status = ready(log)
        print(f"at {live.events:,} events, ready to go on: {resumed:.2f} s with a snapshot, {cold:.2f} s without")
        print(f"at {live.events:,} events, status known: {status:.2f} s with a snapshot, {cold_status:.2f} s without\n")
        print(
            "| events | view, us an event | : 1,000 | route, us | : 1,000 | summary, us | : 1,000 |\n|---|---|---|---|---|---|---|"
        )
        print("\n".join(growth(log, [1_000, 10_000, 50_000, 100_000])), flush=True)
        maker.grow(chosen.events)
        log.close()
        size = path.stat().st_size
        count, seconds, memory = replay_cost(path)
        print(f"\nreplay of {count:,} events: {count / seconds:,.0f} events/s, {memory:.0f} MiB more than at rest")
        print(f"{size / count:,.0f} bytes an event in the file, snapshots and indices included")
        shutil.rmtree(folder, ignore_errors=True)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


def cpu_name() -> str:
    """The processor, as the system names it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


if __name__ == "__main__":
    main()
