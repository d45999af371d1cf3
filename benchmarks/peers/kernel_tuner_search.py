"""The playbook's design space, searched by Kernelwright and by Kernel Tuner's strategies with the same device time.

``./benchmarks/peers/run tuner``. Each search ends with a design and the time that it claims for it; all of them are then
read again, in pairs with Kernelwright's best, in fresh processes. Standard output is Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from kernelwright.acceptance.estimate import Gain, hodges_lehmann
from kernelwright.agents.playbook.cpu.emit import emit
from kernelwright.agents.playbook.cpu.isa import Isa, from_macros
from kernelwright.cli.logs import configure
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import Bench, Build
from kernelwright.kernels.registry import BUILT_IN, TINY, kernel
from kernelwright.kernels.spec import KernelSpec

from . import own_run
from .native import FAILURES, MOST_CALLS, Native, Problem, timed_readings
from .setting import Found, bests, command_line, machine_words, progress, say, table, urgent
from .tuner import Budget, Design, Evaluation, Search, Space, run_strategy

STRATEGIES = ("random_sample", "genetic_algorithm", "greedy_ils")
"""Kernel Tuner's default is brute force, which no budget here covers. These three need no options: its plain random
sample, and the two kinds (population, local search) that its authors' comparisons rank high on small budgets."""
ITERATIONS = 7
"""Readings of a design, of which Kernel Tuner takes the mean: its default."""
READING_SECONDS = 0.1
PAIRS_PER_PROCESS = 5
CONFIDENCE = 0.95


@dataclass
class Evaluator:
    """Build, oracle, readings: what happens to a design that a strategy asks for.

    Builds and oracle results do not depend on who asks, so they are kept from one strategy to the next; readings are
    taken anew.
    """

    target: CpuTarget
    spec: KernelSpec
    isa: Isa
    bench: Bench
    native: Native
    calls: int
    seed: int
    priority: int
    _verified: dict[str, tuple[Build, str]]

    def build(self, design: Design) -> tuple[Build, str]:
        """The build of a design, and why it is not to be read; an empty reason when it is."""
        source = emit(self.spec.name, self.isa, design)
        if source not in self._verified:
            build = self.target.build(self.spec, source)
            reason = str(build.outcome)
            if build.ok:
                reason = str(self.bench.verify(build, self.seed + len(self._verified)).outcome)
            self._verified[source] = build, "" if reason == Outcome.OK else reason
        return self._verified[source]

    def evaluate(self, design: Design) -> Evaluation:
        """Take the readings of a design that passes."""
        build, reason = self.build(design)
        if reason:
            return Evaluation((), 0.0, reason)
        try:
            seconds, held = timed_readings(self.native, build, ITERATIONS, self.calls)
        except FAILURES as failure:
            return Evaluation((), 1.0, f"when it was read: {failure}")
        return Evaluation(tuple(seconds), held)


@dataclass(frozen=True)
class Row:
    """One search: what it spent, what it claims, and what its best is on fresh pairs."""

    name: str
    evaluations: int
    device_seconds: float
    wall_seconds: float | None
    """None where a run searched other kernels too."""
    claimed: float
    again: float
    """Seconds of a call, the median of the fresh readings."""
    gain: Gain | None
    """Over Kernelwright's best; None for that itself."""
    levers: str


def read_again(
    evaluator: Evaluator, best: Build, candidate: Build, pairs: int
) -> tuple[list[float], list[float], list[float]]:
    """Fresh pairs in fresh processes: seconds of best and candidate, and the log ratios (positive: candidate faster)."""
    rng = np.random.default_rng([evaluator.seed, 4])
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(max(1, pairs // PAIRS_PER_PROCESS)):
        orders = ["BC" if coin else "CB" for coin in rng.integers(0, 2, PAIRS_PER_PROCESS)]
        with evaluator.bench.pair(best, candidate, evaluator.seed + number) as session, urgent(evaluator.priority):
            taken = session.read(orders, evaluator.calls)  # type: ignore[arg-type]  # the two literals
        if taken.outcome is not Outcome.OK:
            raise RuntimeError(f"the best designs could not be read again: {taken.reason}")
        ours += [pair.best_seconds for pair in taken.pairs]
        theirs += [pair.candidate_seconds for pair in taken.pairs]
    return ours, theirs, list(np.log(np.array(ours) / np.array(theirs)))


def words(design: Design) -> str:
    """Levers in one line."""
    return ", ".join(f"{name} {value}" for name, value in design.items())


def result_table(rows: list[Row]) -> str:
    """The result."""
    cells = []
    for row in rows:
        gain = row.gain
        cells.append(
            [
                row.name,
                f"{row.evaluations}",
                f"{row.device_seconds:.1f}",
                f"{row.wall_seconds:.0f}" if row.wall_seconds is not None else "",
                f"{row.claimed * 1e3:.3f}",
                f"{row.again * 1e3:.3f}",
                f"{row.again / row.claimed - 1:+.1%}",
                f"{gain.ratio:.3f} ({gain.low:.3f} to {gain.high:.3f})" if gain is not None else "1",
            ]
        )
    head = ["search", "designs", "device s", "wall s", "best as found, ms", "read again, ms", "difference"]
    return table([*head, "speed against Kernelwright's best"], cells)


def searched(
    options: argparse.Namespace, evaluator: Evaluator, space: Space, device_seconds: float, wall_seconds: float
) -> list[tuple[str, Search, Budget]]:
    """Every strategy, one after the other."""
    done = []
    for number, name in enumerate(options.strategies.split(",")):
        search = Search(space, evaluator.evaluate)
        with urgent(options.priority):
            budget = run_strategy(name, search, device_seconds, wall_seconds, options.seed + number)
        best = f"{search.best.seconds * 1e3:.3f} ms" if search.best and search.best.seconds else "nothing"
        progress(f"{name}: {len(search.trials)} designs, {budget.device_seconds:.1f} s of device, best {best}")
        done.append((name, search, budget))
    return done


def kernelwright_result(options: argparse.Namespace, target: CpuTarget, spec: KernelSpec) -> tuple[Found, float]:
    """The run to compare with and how long it took: the one that was asked for, or one that is made now."""
    if options.store:
        found = bests(options.store, options.run).get(spec.name)
        if found is None:
            sys.exit(f"the run has no best design of {spec.name}")
        return found, options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        store = Path(folder) / "log.sqlite"
        progress(f"Kernelwright searches {spec.name} for {options.minutes:g} minutes")
        with urgent(options.priority):
            took = own_run.search(target, spec, options.minutes, options.seed, store)
        found = bests(str(store), own_run.RUN).get(spec.name)
        if found is None:
            sys.exit("Kernelwright found nothing better than the baseline: is the machine busy?")
        return found, took


def main() -> int:
    """Search, read again, print, and return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.kernel_tuner_search", description=__doc__)
    parser.add_argument("--kernel", default="sliding_attention_output", choices=sorted(BUILT_IN))
    parser.add_argument("--store", help="the log of a finished run to compare with (default: a run is made)")
    parser.add_argument("--run", help="name of that run (default: the newest)")
    parser.add_argument("--minutes", type=float, default=1.8, help="of the run that is made; and the longest search")
    parser.add_argument("--device-seconds", type=float, help="device time of a search (default: what the run used)")
    parser.add_argument("--strategies", default=",".join(STRATEGIES), help="Kernel Tuner's names, separated by commas")
    parser.add_argument("--pairs", type=int, default=20, help="fresh pairs for each best design")
    parser.add_argument("--seed", type=int, default=20260901)
    parser.add_argument("--priority", type=int, default=0, help="real-time priority of searches and readings; 0: none")
    parser.add_argument("--tiny", action="store_true", help="small shapes, to try the program out")
    parser.add_argument("--json", type=Path, help="also write every trial to this file")
    options = parser.parse_args()
    configure("warning", as_json=False)
    target = CpuTarget(holder="benchmark")
    isa = from_macros(target.macros())
    spec = TINY[options.kernel]() if options.tiny else kernel(options.kernel)
    version = importlib.metadata.version("kernel-tuner")
    say(f"`{command_line()}`\n\n{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}\n\n{machine_words(target)}\n")
    found, took = kernelwright_result(options, target, spec)
    device_seconds = options.device_seconds or found.device_seconds
    with contextlib.ExitStack() as stack:
        bench = stack.enter_context(target.open(spec, options.seed))
        problem = stack.enter_context(Problem(target, spec, options.seed + 1, MOST_CALLS + 1))
        problem.predict_all()
        native = stack.enter_context(Native(problem))
        best = target.build(spec, found.source)
        seconds, _ = timed_readings(native, best, 3, 4)
        calls = max(1, min(MOST_CALLS - 1, int(READING_SECONDS / float(np.median(seconds)))))
        evaluator = Evaluator(target, spec, isa, bench, native, calls, options.seed, options.priority, {})
        space = Space(spec.name, isa)
        say(f"## {spec.name}\n")
        say(
            f"{space.search.size:,} designs ({isa.dialect}); device time of a search {device_seconds:.1f} s, "
            f"wall time at most {took:.0f} s; a reading is {calls} calls, {ITERATIONS} readings for a design; "
            f"Kernel Tuner {version}\n"
        )
        done = searched(options, evaluator, space, device_seconds, took)
        rows = compared(options, evaluator, found, took, best, done)
        say(result_table(rows) + "\n")
        for row in rows:
            say(f"- {row.name}: {row.levers}")
        for name, search, _ in done:
            if search.failed:
                say(f"- {name}: not read: {search.failed}")
    if options.json is not None:
        trials = {name: [vars(trial) for trial in search.trials] for name, search, _ in done}
        options.json.write_text(json.dumps(trials, indent=1) + "\n")
    return 0


def compared(
    options: argparse.Namespace,
    evaluator: Evaluator,
    found: Found,
    took: float,
    best: Build,
    done: list[tuple[str, Search, Budget]],
) -> list[Row]:
    """Read every best again against Kernelwright's."""
    rows = []
    ours_again: list[float] = []
    again: Callable[[Build], tuple[list[float], list[float], list[float]]] = lambda build: read_again(  # noqa: E731
        evaluator, best, build, options.pairs
    )
    for name, search, budget in done:
        trial = search.best
        if trial is None or trial.seconds is None:
            say(f"- {name}: no design was read")
            continue
        build, _ = evaluator.build(trial.design)
        progress(f"{name}: its best is read again")
        if build.artifact == best.artifact:
            ours, _, _ = again(best)
            theirs, gain = ours, Gain(1.0, 1.0, 1.0, 0, 1.0)
        else:
            ours, theirs, differences = again(build)
            gain = hodges_lehmann(differences, CONFIDENCE)
        ours_again += ours
        rows.append(
            Row(
                f"Kernel Tuner, {name}",
                len(search.trials),
                budget.device_seconds,
                budget.wall_spent,
                trial.seconds,
                float(np.median(theirs)),
                gain,
                words(trial.design),
            )
        )
    kernelwright = Row(
        f"Kernelwright {found.design}",
        found.designs,
        found.device_seconds,
        None if options.store else took,
        found.seconds,
        float(np.median(ours_again)) if ours_again else found.seconds,
        None,
        words(found.levers),
    )
    return [kernelwright, *rows]


if __name__ == "__main__":
    sys.exit(main())
