"""What the loop costs beside compiling, checking values and reading the device: ``./benchmarks/overhead/run``.

Either from the log of a run (``--store``), or from a run that this program makes: the real loop, playbook, CPU target and
SQLite log, on small shapes of the built-in kernels, so that overhead is most of what there is. Standard output is
Markdown. Exit status 1 when the mean is above the bound.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import pstats
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from kernelwright import __version__
from kernelwright.acceptance.policy import Policy
from kernelwright.agents.playbook.specialist import Playbook
from kernelwright.cli.logs import configure
from kernelwright.events.log import EventLog
from kernelwright.events.views.load import history
from kernelwright.events.views.run import RunView
from kernelwright.events.views.summary import list_runs
from kernelwright.graph.runner import Plan, drive, start_run, stop, workbench
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.kernels.registry import TINY

from .ledger import PARTS, Candidate, StepTime, candidates, step_times

BOUND_SECONDS = 0.150
"""What a candidate may cost."""
_RUN = "overhead"


def measured(
    store: Path, kernels: Sequence[str], designs: int, minutes: float, profile: cProfile.Profile | None
) -> None:
    """Make a run in a new store: search until ``designs`` candidates are settled, or the time is over."""
    specs = {name: TINY[name]() for name in kernels}
    target = CpuTarget(holder="benchmark")
    with contextlib.closing(EventLog.open(str(store), create=True)) as log:
        start_run(log, Plan(_RUN, "cpu", tuple(specs), Policy(), 0, minutes, {}, __version__))

        def enough(view: RunView) -> bool:
            settled = sum(len(tree.designs) - 1 - len(tree.unsettled) for tree in view.trees.values() if tree.designs)
            return settled >= designs

        with workbench(log, _RUN, target, specs, Playbook()) as wb:
            with profile if profile is not None else contextlib.nullcontext():
                drive(wb, lambda *_: None, until=enough)
            if wb.view.stopped is None:
                stop(wb, "interrupted", "enough candidates")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def ms(seconds: float) -> str:
    """Milliseconds, to a tenth."""
    return f"{seconds * 1e3:.1f}"


def by_candidate(found: Sequence[Candidate]) -> str:
    """Distribution over candidates of the overhead and of each other part."""
    rows = []
    columns = {
        "**overhead**": [c.overhead for c in found],
        "of it counted by the steps": [c.counted for c in found],
        **{part: [c.part(part) for c in found] for part in PARTS},
        "steps (number)": [len(c.steps) / 1e3 for c in found],
    }
    for name, values in columns.items():
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
        rows.append([name, *(ms(float(each)) for each in (np.mean(values), middle, low, high, max(values)))])
    return table(["per candidate, ms", "mean", "median", "p10", "p90", "largest"], rows)


def by_step(found: Sequence[Candidate]) -> str:
    """Which steps the overhead comes from."""
    groups: dict[str, list[StepTime]] = defaultdict(list)
    for candidate in found:
        for step in candidate.steps:
            groups[step.name].append(step)
    total = sum(candidate.overhead for candidate in found)
    rows = []
    for name, steps in sorted(groups.items(), key=lambda item: -sum(step.overhead for step in item[1])):
        overhead = [step.overhead for step in steps]
        rows.append(
            [
                name,
                f"{len(steps) / len(found):.2f}",
                ms(float(np.median(overhead))),
                ms(float(np.quantile(overhead, 0.9))),
                ms(sum(overhead) / len(found)),
                f"{sum(overhead) / total:.0%}",
                ms(float(np.median([step.counted for step in steps]))),
            ]
        )
    head = ["step", "per candidate", "median, ms", "p90, ms", "ms per candidate", "share", "counted by it, median, ms"]
    return table(head, rows)


def main() -> int:
    """Measure or read, print, and return 0 when the mean is within the bound, 1 when it is not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead.loop_overhead", description=__doc__)
    parser.add_argument("--store", help="the log of a run, to read instead of making one")
    parser.add_argument("--run", help="name of the run (default: the newest)")
    parser.add_argument("--kernels", default=",".join(TINY), help="kernels of the run that is made")
    parser.add_argument("--designs", type=int, default=40, help="candidates of the run that is made")
    parser.add_argument("--minutes", type=float, default=5.0, help="its longest duration")
    parser.add_argument("--keep", type=Path, help="where to keep its log")
    parser.add_argument("--profile", action="store_true", help="profile it, and print the functions that take longest")
    options = parser.parse_args()
    configure("warning", as_json=False)
    profile = cProfile.Profile() if options.profile else None
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder:
        store, begun = options.store, time.perf_counter()
        if store is None:
            made = Path(folder) / "log.sqlite"
            measured(made, options.kernels.split(","), options.designs, options.minutes, profile)
            store = str(made)
            if options.keep is not None:
                shutil.copy(made, options.keep)
        took = time.perf_counter() - begun
        with contextlib.closing(EventLog.open(store, read_only=True)) as log:
            run = options.run or str(list_runs(log)[0]["run"])
            steps = step_times(history(log, run))
    found = candidates(steps)
    if not found:
        sys.exit("the run has no candidates")
    mean = sum(candidate.overhead for candidate in found) / len(found)
    source = f"run {run} of {options.store}" if options.store else f"a run of small shapes, {took:.0f} s"
    sys.stdout.write(f"`{' '.join(['loop_overhead', *sys.argv[1:]])}`, ")
    sys.stdout.write(time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()) + f"\n\n{source}: {len(found)} candidates, ")
    sys.stdout.write(f"{len(steps)} steps\n\n{by_candidate(found)}\n{by_step(found)}\n")
    met = mean <= BOUND_SECONDS
    sys.stdout.write(f"overhead {ms(mean)} ms for each candidate; bound {ms(BOUND_SECONDS)} ms: ")
    sys.stdout.write("met\n" if met else "NOT met\n")
    if profile is not None:
        pstats.Stats(profile, stream=sys.stdout).sort_stats("tottime").print_stats(30)
        pstats.Stats(profile, stream=sys.stdout).sort_stats("cumulative").print_stats(45)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
