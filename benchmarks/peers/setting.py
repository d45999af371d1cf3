"""What the programs here share: the designs of a finished run, the machine in words, quick priority, Markdown tables."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.events.log import EventLog
from kernelwright.events.views.load import load_run
from kernelwright.events.views.summary import kernel_summary, list_runs

if TYPE_CHECKING:
    from kernelwright.hardware.cpu import CpuTarget


@dataclass(frozen=True)
class Found:
    """The best design of a kernel in a run. ``seconds`` of a call are as the run says them, ``device_seconds`` what the
    kernel took of the device there, ``designs`` how many were proposed.
    """

    run: str
    design: str
    source: str
    seconds: float = 0.0
    device_seconds: float = 0.0
    designs: int = 0
    levers: dict[str, str | int] = field(default_factory=dict)


def bests(store: str, run: str | None) -> dict[str, Found]:
    """The best design of each kernel of a run (the newest when ``run`` is None) that is better than its baseline."""
    with contextlib.closing(EventLog.open(store, read_only=True)) as log:
        runs = [each["run"] for each in list_runs(log)]
        if not runs or (run is not None and run not in runs):
            sys.exit(f"{store} has no run {run or ''}".rstrip())
        # Folded from the events: a snapshot would do, but a log of another version may have one that this one cannot read.
        view = load_run(log, run or runs[0], from_snapshot=False)
        found = {}
        for kernel, tree in view.trees.items():
            if tree.best is not None and tree.best != tree.baseline:
                proposed = tree.designs[tree.best].proposed
                found[kernel] = Found(
                    view.name,
                    tree.best,
                    log.blobs.text(proposed.source),
                    kernel_summary(tree)["best_seconds"] or 0.0,
                    tree.device_seconds,
                    len(tree.designs) - 1,
                    dict(proposed.levers),
                )
        return found


def say(words: str = "") -> None:
    """A line of the result, at once."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def progress(words: str) -> None:
    """A line for whoever waits; not part of the result."""
    sys.stderr.write(f"[{datetime.now(UTC):%H:%M:%S}] {words}\n")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def machine_words(target: CpuTarget) -> str:
    """The machine and its toolchain, one line for each part."""
    parts = target.toolchain().parts
    lines = [f"- {name}: {parts[name]}" for name in ("cpu", "cores", "last_level_cache_bytes", "host_kernel")]
    lines.append(f"- {parts['compiler']}; {parts['flags']}; {parts['libc']}; libgomp {parts['libgomp']}")
    lines.append(f"- threads: {target.threads}; Python {platform.python_version()}; load average {_load()}")
    return "\n".join(lines)


def _load() -> str:
    return ", ".join(f"{load:.1f}" for load in os.getloadavg())


def command_line() -> str:
    """How this program was started."""
    program = Path(sys.argv[0]).stem
    return f"python -m benchmarks.{Path(sys.argv[0]).parent.name}.{program} {' '.join(sys.argv[1:])}".rstrip()


@contextlib.contextmanager
def urgent(priority: int) -> Iterator[None]:
    """Real-time priority for this process and all that it has started, while the body runs; 0: nothing.

    For a machine with other work on it: a reading is then not interrupted by it. Processes that the body starts inherit
    the priority. Needs the right to it (root).
    """
    if not priority:
        yield
        return
    _schedule(os.SCHED_FIFO, priority)
    try:
        yield
    finally:
        _schedule(os.SCHED_OTHER, 0)


def _schedule(policy: int, priority: int) -> None:
    for process in family(os.getpid()):
        with contextlib.suppress(FileNotFoundError):  # a process that has ended meanwhile
            for thread in Path(f"/proc/{process}/task").iterdir():
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))


def family(process: int) -> set[int]:
    """A process and all its descendants."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The name of a program stands in parentheses and may hold anything; the parent is the second field after it.
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found, new = {process}, {process}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found
