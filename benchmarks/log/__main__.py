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
from pathlib import Path

from kernelwright.events.log import EventLog
from kernelwright.events.views.load import load_run
from kernelwright.events.views.snapshot import keep_view

from .appends import HEAD, compare_appends
from .growth import PARTS, growth
from .made import TARGET, Maker

LENGTHS = [1_000, 10_000, 50_000, 100_000]
PASSES = 5
"""How often the log is folded for the table of growth."""
STARTS = 7
"""How often a command is started."""


REPLAY = """
import sys, time
def peak(): return int(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1]) / 1024
from kernelwright.events.log import EventLog
from kernelwright.events.views.knowledge import load_knowledge
from kernelwright.events.views.load import load_run
from kernelwright.events.views.summary import run_summary
log, target, fold = EventLog.open(sys.argv[1], read_only=True), sys.argv[2], sys.argv[3] == "fold"
list(log.stream(until=100))
rest, begun = peak(), time.perf_counter()
if fold:
    view, known = load_run(log, "r", from_snapshot=False), load_knowledge(log, target)
    run_summary(view)
    count = view.events + len(known.lessons) + len(known.seen)
else:
    count = sum(1 for _ in log.stream())
print(count, time.perf_counter() - begun, peak() - rest)
"""
"""A replay in a process of its own: events, seconds, and peak memory (MiB) above that at rest."""


def replay_cost(path: Path, what: str) -> tuple[int, float, float]:
    """Events, seconds and memory of reading all events and keeping none (``stream``), or of folding every view of them."""
    command = [sys.executable, "-c", REPLAY, str(path), TARGET, what]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return int(out[0]), float(out[1]), float(out[2])


READY = """
import sys, time
from kernelwright.acceptance.policy import Policy
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run
from kernelwright.events.tree import DesignTree
from kernelwright.events.views.knowledge import load_knowledge
from kernelwright.events.views.load import load_run
from kernelwright.events.views.summary import run_summary
from kernelwright.graph.route import route
from kernelwright.graph.steps.propose import tried
begun = time.perf_counter()
log, target, snapshot = EventLog.open(sys.argv[1]), sys.argv[2], sys.argv[3] == "snapshot"
view = load_run(log, "r", from_snapshot=snapshot)
known = load_knowledge(log, target)
if snapshot:
    log.load(Run, "r"), log.load(DesignTree, "r", "double")
else:
    log.load_at(Run, Run.identify("r"), 10**9), log.load_at(DesignTree, DesignTree.identify("r", "double"), 10**9)
step = route(view, Policy(), known)
ready = time.perf_counter() - begun
for tree in view.trees.values():
    told = [tried(tree.designs[name]) for name in tree.designs]
print(ready, time.perf_counter() - begun)
"""
"""What a resumption does before its first step, and what its first proposal reads of earlier designs."""


def ready(path: Path, how: str) -> tuple[float, float]:
    """Seconds until a run can go on, and until a first proposal is told of all designs: ``snapshot``, or ``cold``."""
    command = [sys.executable, "-c", READY, str(path), TARGET, how]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), float(out[1])


def seconds_of_command(*arguments: str) -> list[float]:
    """Wall seconds of the whole command, start of the interpreter included, in order."""
    command = [sys.executable, "-c", "from kernelwright.cli import main; main()", *arguments]
    found = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        found.append(time.perf_counter() - begun)
    return sorted(found)


def print_long(path: Path, log: EventLog, maker: Maker) -> None:
    """What becomes of a log of a hundred thousand events."""
    begun = time.perf_counter()
    maker.grow(100_000)
    print(f"\nmaking and appending, in saves of 1,000: {100_000 / (time.perf_counter() - begun):,.0f} events/s\n")
    live = load_run(log, "r")
    keep_view(log, live)
    log.keep_snapshot(maker.run, maker.tree)
    print(f"At {live.events:,} events of a run:\n\n| | with a snapshot | without |\n|---|---|---|")
    warm, cold = ready(path, "snapshot"), ready(path, "cold")
    print(f"| ready for the next step | {warm[0]:.2f} s | {cold[0]:.2f} s |")
    print(
        f"| first proposal told of all {len(live.trees['double'].designs):,} designs | {warm[1]:.2f} s | {cold[1]:.2f} s |"
    )
    for name, arguments in (("status", ["status", "--store", str(path)]), ("--help", ["--help"])):
        times = seconds_of_command(*arguments)
        median = statistics.median(times)
        print(f"| `kernelwright {name}`, the whole command | {median:.2f} s ({times[0]:.2f} to {times[-1]:.2f}) | |")
    heads = " | ".join(f"{part}, us | : 1,000" for part in PARTS)
    print(f"\n| events | {heads} |\n|---|{'---|---|' * len(PARTS)}")
    print("\n".join(growth(log, LENGTHS, PASSES)), flush=True)


def main() -> None:
    """Print the results as Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=1_000_000, help="length of the replayed log")
    options.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="where to put the logs")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        load = os.getloadavg()[0]
        print(
            f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores, {cpu_name()},"
        )
        print(f"load {load:.1f} at the start\n\n{HEAD}")
        for batch in (1, 10, 100):
            print(compare_appends(folder, batch), flush=True)
        path = folder / "long.sqlite"
        log = EventLog.open(str(path), create=True)
        maker = Maker(log)
        print_long(path, log, maker)
        maker.grow(chosen.events)
        log.close()
        size = path.stat().st_size
        print("\n| replay | events | events/s | MiB above rest |\n|---|---|---|---|")
        for what in ("stream", "fold"):
            count, seconds, memory = replay_cost(path, what)
            print(f"| {what} | {count:,} | {count / seconds:,.0f} | {memory:.0f} |", flush=True)
        print(f"\n{size / maker.made:,.0f} bytes an event in the file, snapshots and indices included")
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
