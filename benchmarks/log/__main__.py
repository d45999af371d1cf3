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

ROUNDS = 5
"""How often the parts of a comparison take turns; the median is reported."""


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


def appends_log(folder: Path, count: int, batch: int) -> float:
    """Events a second through ``EventLog.record``."""
    with fresh(folder) as log:
        run, _ = prepared(count)
        made = list(run.collect_events())
        begun = time.perf_counter()
        for start in range(0, count, batch):
            run._pending = made[start : start + batch]
            log.record(run)
        return count / (time.perf_counter() - begun)


def appends_recorder(folder: Path, count: int, batch: int) -> float:
    """Events a second through the library's own recorder."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        recorder = SQLiteApplicationRecorder(SQLiteDatastore(f"file:{inside}/log.sqlite"))
        recorder.create_table()
        _, stored = prepared(count)
        begun = time.perf_counter()
        for start in range(0, count, batch):
            recorder.insert_events(stored[start : start + batch])
        seconds = time.perf_counter() - begun
        recorder.datastore.close()
        return count / seconds


def appends_sqlite(folder: Path, count: int, batch: int) -> float:
    """Events a second into a bare table, each commit waiting for the disk."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        db = sqlite3.connect(f"{inside}/log.sqlite", isolation_level=None)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE events (id INTEGER PRIMARY KEY, originator TEXT, version INTEGER, topic TEXT, state BLOB)")
        _, stored = prepared(count)
        begun = time.perf_counter()
        for start in range(0, count, batch):
            db.execute("BEGIN")
            for each in stored[start : start + batch]:
                row = (each.originator_id.hex, each.originator_version, each.topic, each.state)  # type: ignore[union-attr]  # ids are UUIDs
                db.execute("INSERT INTO events (originator, version, topic, state) VALUES (?,?,?,?)", row)
            db.execute("COMMIT")
        seconds = time.perf_counter() - begun
        db.close()
        return count / seconds


def compare_appends(folder: Path, count: int, batch: int) -> str:
    """A line of the table of appends."""
    parts: list[Callable[[Path, int, int], float]] = [appends_log, appends_recorder, appends_sqlite]
    rates: dict[str, list[float]] = {part.__name__: [] for part in parts}
    for turn in range(ROUNDS):
        for part in parts[turn % 3 :] + parts[: turn % 3]:
            rates[part.__name__].append(part(folder, count, batch))
    log, recorder, bare = (statistics.median(rates[part.__name__]) for part in parts)
    ratios = [a / b for a, b in zip(rates["appends_log"], rates["appends_recorder"], strict=True)]
    bares = [a / b for a, b in zip(rates["appends_log"], rates["appends_sqlite"], strict=True)]
    return (
        f"| {batch} | {log:,.0f} | {recorder:,.0f} | {bare:,.0f} | {statistics.median(ratios):.2f} | "
        f"{statistics.median(bares):.2f} |"
    )


def replay_cost(path: Path) -> tuple[int, float, float]:
    """Events, seconds and peak memory (MiB) of a fold of all events that keeps none of them, in a process of its own."""
    code = (
        "import sys,time,resource\n"
        "from kernelwright.events.log import EventLog\n"
        "log = EventLog.open(sys.argv[1], read_only=True)\n"
        "base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "begun = time.perf_counter()\n"
        "count = sum(1 for _ in log.stream())\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(count, time.perf_counter() - begun, (peak - base) / 1024)\n"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout.split()
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
            ratios = " | ".join(f"{cost / 1000:.1f} | {cost / start:.2f}" for cost, start in zip(costs, first, strict=True))
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
        print(f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores, {cpu_name()}\n")
        print("| events a save | log /s | recorder /s | bare SQLite /s | log : recorder | log : bare |\n|---|---|---|---|---|---|")
        for count, batch in ((60, 1), (600, 10), (6_000, 100)):
            print(compare_appends(folder, count, batch), flush=True)
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
        print("| events | view, us an event | : 1,000 | route, us | : 1,000 | summary, us | : 1,000 |\n|---|---|---|---|---|---|---|")
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
