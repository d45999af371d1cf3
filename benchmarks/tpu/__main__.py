"""How many candidates a minute pass through rules, compilation and estimate: ``python -m benchmarks.tpu``.

Candidates are the baselines of the three decode kernels with other blocks, each compiled for real and once only, by as many
targets at a time as there are workers. Those that the compiler refuses count too, as they do in a run.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernelwright.hardware.target import TargetError
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.kernels.registry import BUILT_IN
from kernelwright.kernels.spec import KernelSpec

ROWS = (8, 16, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384)
"""Rows in a block, where a baseline lets them be chosen."""


def candidates() -> Iterator[tuple[KernelSpec, str]]:
    """Every kernel in turn with the next number of rows."""
    specs = [make() for make in BUILT_IN.values()]
    for rows in ROWS:
        for spec in specs:
            source = spec.baselines["tpu"]
            yield spec, re.sub(r"^ROWS = \d+$", f"ROWS = {rows}", source, flags=re.MULTILINE)


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
    parser.add_argument("--candidates", type=int, default=3 * len(ROWS))
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
            print(error, file=sys.stderr)  # noqa: T201  (a program's own output)
            return 1
        seconds, outcomes, took = run(targets, given.candidates)
        for target in targets:
            target.shop.close()
    low, middle, high = statistics.quantiles(seconds, n=4)
    said = ", ".join(f"{count} {name}" for name, count in outcomes.most_common())
    print(  # noqa: T201  (a program's own output)
        f"{len(seconds)} candidates in {took:.1f} s with {given.workers} workers on {given.chip}:"
        f" {60 * len(seconds) / took:.1f} a minute ({said})\n"
        f"seconds for one: median {middle:.2f}, quartiles {low:.2f} and {high:.2f}, longest {max(seconds):.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
