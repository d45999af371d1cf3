"""What a run on RNGD's tcl toolchain found: cycles of the baseline and of the best by estimate, beside the floor.

    kernelwright run --target rngd --toolchain tcc-2026.4.0 --option binary=never --minutes 7 --store rngd.db
    python -m benchmarks.rngd rngd.db RUN

Everything comes from the run's log. Cycles are the compiler's schedule with the vector engine's work priced by its lanes.
"""

from __future__ import annotations

import sys
from math import exp, log

from kernelwright.events.log import EventLog
from kernelwright.events.views.load import load_run
from kernelwright.events.views.run import RunView
from kernelwright.hardware.rngd.tcl.estimate import CLOCK_HZ


def main(store: str, run: str) -> None:
    """Print the table of a run."""
    with EventLog.open(store) as opened:
        table(load_run(opened, run))


def table(view: RunView) -> None:
    """Print a line for each kernel of a run whose log is open."""
    print("| kernel | baseline | best by estimate | floor | best over floor | compiler alone | levers | tried |")
    print("|---|---|---|---|---|---|---|---|")
    gains = []
    for kernel, tree in view.trees.items():
        first = tree.designs[tree.baseline or ""]
        best = tree.designs[tree.leader or tree.baseline or ""]
        assert first.estimate is not None
        assert best.estimate is not None
        before, after = (int(each.estimate.details["cycles"]) for each in (first, best) if each.estimate is not None)
        alone = int(best.estimate.details["compiler_cycles"])
        floor = round(tree.floor.seconds * CLOCK_HZ) if tree.floor is not None else 0
        gains.append(before / after)
        levers = ", ".join(f"{name} {value}" for name, value in best.proposed.levers.items()) or "the baseline"
        tried = len(tree.designs) - 1
        over = f"{after / floor:.2f}" if floor else "-"
        print(f"| {kernel} | {before:,} | {after:,} | {floor:,} | {over} | {alone:,} | {levers} | {tried} |")
    print(f"\ngeomean over the baselines, by estimate: {exp(sum(map(log, gains)) / len(gains)):.2f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
