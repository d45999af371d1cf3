"""How many candidates a minute pass through rules, compilation and estimate: ``python -m benchmarks.tpu``.

Candidates are what the playbook proposes for the three decode kernels: its whole designs and the small changes of each, the
kernels in turn. Each is compiled for real and once only, by as many targets at a time as there are workers. Those that are
refused count too, as they do in a run. On a machine that others use as well the clock says little; processor time says what
the same work takes on cores of its own.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernelwright.agents.playbook.space import Place, small_changes
from kernelwright.agents.playbook.tpu.space import space as space_of
from kernelwright.hardware.target import TargetError
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.kernels.registry import BUILT_IN
from kernelwright.kernels.spec import KernelSpec


def candidates() -> Iterator[tuple[KernelSpec, str]]:
    """Every kernel in turn: designs of its space, each once."""
    turns: list[Iterator[tuple[KernelSpec, str]]] = [_of(make()) for make in BUILT_IN.values()]
    while turns:
        for turn in list(turns):
            found = next(turn, None)
            if found is None:
                turns.remove(turn)
            else:
                yield found


def _of(spec: KernelSpec) -> Iterator[tuple[KernelSpec, str]]:
    space = space_of(Place("tpu", spec.name, spec.dimensions))
    if space is None:
        return
    seen = set()
    for whole in space.wholes():
        for design in (whole.design, *(change.design for change in small_changes(space, whole.design))):
            source = space.emit(design)
            if source not in seen:
                seen.add(source)
                yield spec, source


def run(targets: list[TpuTarget], limit: int) -> tuple[list[float], Counter[str], float]:
    """Seconds of each candidate, how many came to which outcome, and the seconds that all took together."""
    idle = list(targets)

    def one(candidate: tuple[KernelSpec, str]) -> tuple[float, str]:
        spec, source = candidate
        target = idle.pop()
        start = time.perf_counter()
        try:
            if not target.review(spec, source).ok:
                return time.perf_counter() - start, "vetoed"
            built = target.build(spec, source)
            if built.ok and target.estimate(spec, built, {}) is None:
                return time.perf_counter() - start, "no estimate"
            return time.perf_counter() - start, built.outcome.value
        finally:
            idle.append(target)

    chosen = [candidate for candidate, _ in zip(candidates(), range(limit), strict=False)]
    start = time.perf_counter()
    with ThreadPoolExecutor(len(targets)) as pool:
        done = list(pool.map(one, chosen))
    return [seconds for seconds, _ in done], Counter(outcome for _, outcome in done), time.perf_counter() - start


def main() -> int:
    """Print candidates a minute, and what a candidate takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toolchain", default=None)
    parser.add_argument("--chip", default="v5e")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--candidates", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        targets = []
        try:
            for _ in range(given.workers):
                target = TpuTarget(toolchain=given.toolchain, chip=given.chip, cache=Path(cache))
                target.shop.zygote.start()
                target.shop.compiler.start()
                targets.append(target)
        except TargetError as error:
            print(error, file=sys.stderr)
            return 1
        before = time.process_time()
        seconds, outcomes, took = run(targets, given.candidates)
        own = time.process_time() - before
        for target in targets:
            target.shop.close()
    cores = sum(target.shop.cpu_seconds for target in targets) / len(seconds) + own / len(seconds)
    low, middle, high = statistics.quantiles(seconds, n=4)
    said = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    print(
        f"{len(seconds)} candidates in {took:.1f} s with {given.workers} workers on {given.chip}:"
        f" {60 * len(seconds) / took:.1f} a minute ({said})\n"
        f"processor time of one: {cores:.2f} s, so that two cores of their own do {120 / cores:.0f} a minute\n"
        f"seconds for one: median {middle:.2f}, quartiles {low:.2f} and {high:.2f}, longest {max(seconds):.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
