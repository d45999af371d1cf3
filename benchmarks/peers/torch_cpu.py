"""PyTorch on the CPU and C designs on the same kernels, weights, rotation and threads: ``./benchmarks/peers/run torch``.

One process holds the weights; the C designs and PyTorch map the same memory. In each round every arm is read once, in
random order. Standard output is Markdown.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.target import DEVICE
from kernelwright.hardware.cpu.workers import worker_environment
from kernelwright.hardware.lease import lease
from kernelwright.kernels.registry import BUILT_IN, TINY, kernel
from kernelwright.kernels.spec import Array, KernelSpec

from .native import FLOOR, MOST_CALLS, Calls, Native, Problem, WrongValueError, error_over_tolerance, settle
from .setting import Found, bests, command_line, machine_words, progress, say, table, urgent

POOL = MOST_CALLS + 1
READING_SECONDS = 0.1
"""A reading is as many calls as fit into this, at least one."""
_ENDING_SECONDS = 10.0


class TorchProcess:
    """The process of :mod:`.torch_worker`. Close it, or use it as a context."""

    def __init__(self, python: str, problem: Problem, tiny: bool) -> None:
        spec, region, threads = problem.spec, problem.weights.region, problem.target.threads
        arguments = ["--kernel", spec.name, "--seed", str(problem.seed), "--pool", str(len(problem.inputs))]
        arguments += ["--threads", str(threads), "--descriptor", str(region.descriptor), "--bytes", str(region.bytes)]
        environment = {
            **os.environ,
            **worker_environment(threads),
            # One compiling process, and huge pages for PyTorch's own large tensors where the system allows them.
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "THP_MEM_ALLOC_ENABLE": "1",
        }
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.peers.torch_worker", *arguments, *(["--tiny"] if tiny else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(region.descriptor,),
            env=environment,
            text=True,
            start_new_session=True,
        )
        places = [{name: [place.offset, place.size] for name, place in copy.items()} for copy in problem.weights.places]
        self.said = self.ask(places)

    def ask(self, order: Any) -> dict[str, Any]:
        """Send one line, and wait for the answer. Raises RuntimeError when the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the PyTorch process ended with status {self._process.wait(_ENDING_SECONDS)}")
        return cast("dict[str, Any]", json.loads(line))

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> TorchProcess:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def decoded(spec: KernelSpec, outputs: Mapping[str, str]) -> dict[str, Array]:
    """The written regions of one call, from base64."""
    return {
        name: np.frombuffer(base64.b64decode(text), dtype=spec.argument(name).storage) for name, text in outputs.items()
    }


@dataclass
class Arm:
    """One line of the result."""

    name: str
    torch: bool
    calls: int = 1
    prepared_seconds: float = 0.0
    readings: list[float] = field(default_factory=list)
    worst: float | None = None
    """Largest error over the published tolerance; None for an arm without values, or one that the oracle checks itself."""


class Comparison:
    """All arms of one kernel."""

    def __init__(self, native: Native, process: TorchProcess | None, priority: int) -> None:
        self.native, self.process, self.priority = native, process, priority
        self.problem = native.problem
        self.arms: list[Arm] = []

    def read(self, arm: Arm, calls: Calls) -> float:
        """One reading: seconds of a call. Raises WrongValueError."""
        if not arm.torch:
            return self.native.read(arm.name, calls)
        assert self.process is not None
        answer = self.process.ask({"op": "read", "name": arm.name, "first": calls.first, "inputs": list(calls.inputs)})
        for prediction, outputs in zip(self.problem.predictions(calls), answer["outputs"], strict=True):
            found = error_over_tolerance(self.problem.spec, prediction, decoded(self.problem.spec, outputs))
            arm.worst = max(arm.worst or 0.0, found)
            if found > 1:
                raise WrongValueError(f"{arm.name}: the error is {found:.3g} times the tolerance")
        return float(answer["seconds"])

    def enter(self, arm: Arm) -> None:
        """Take an arm in: see how long a call takes, and so how many make a reading."""
        with lease(DEVICE, "benchmark"):
            seconds = self.read(arm, self.problem.calls(1))
            seconds = self.read(arm, self.problem.calls(2)) if seconds < READING_SECONDS else seconds
        arm.calls = max(1, min(MOST_CALLS, int(READING_SECONDS / seconds)))
        self.arms.append(arm)

    def measure(self, rounds: int, seed: int) -> None:
        """Read every arm once in each round, in random order; the device is held for a round."""
        rng = np.random.default_rng([seed, 3])
        for _ in range(rounds):
            with lease(DEVICE, "benchmark"), urgent(self.priority):
                for index in rng.permutation(len(self.arms)):
                    arm = self.arms[index]
                    arm.readings.append(self.read(arm, self.problem.calls(arm.calls)))


def compare(
    target: CpuTarget, spec: KernelSpec, best: Found | None, options: argparse.Namespace
) -> tuple[Comparison, str]:
    """Measure one kernel; returns what was measured, and what was measured it on in words."""
    with contextlib.ExitStack() as stack:
        problem = stack.enter_context(Problem(target, spec, options.seed, POOL))
        problem.predict_all()
        native = stack.enter_context(Native(problem))
        process = None if options.no_torch else stack.enter_context(TorchProcess(options.python, problem, options.tiny))
        made = Comparison(native, process, options.priority)
        pattern = native.add_floor()
        made.enter(Arm(FLOOR, torch=False))
        designs = {"baseline C": target.baseline(spec)}
        if best is not None:
            designs[f"Kernelwright {best.design}"] = best.source
        for name, source in designs.items():
            native.add(name, target.build(spec, source))
            made.enter(Arm(name, torch=False))
        if process is not None:
            wanted = [each.strip() for each in options.arms.split(",")] if options.arms else process.said["arms"]
            for name in wanted:
                arm = Arm(name, torch=True, prepared_seconds=process.ask({"op": "arm", "name": name})["seconds"])
                progress(f"{spec.name}: {name} ready after {arm.prepared_seconds:.1f} s")
                made.enter(arm)
        begun = time.perf_counter()
        made.measure(options.rounds, options.seed)
        took = time.perf_counter() - begun
        version = process.said["torch"] if process is not None else "not measured"
        words = (
            f"{spec.streamed_bytes:,} bytes in {problem.copies} rotating copies; floor: {pattern}; "
            f"{options.rounds} rounds in {took:.0f} s; PyTorch {version}"
        )
        if best is not None:
            words += f"; best of run {best.run}: {best.design}"
        return made, words


def kernel_table(spec: KernelSpec, made: Comparison) -> str:
    """The result of one kernel."""
    medians = {arm.name: settle(arm.readings)[0] for arm in made.arms}
    ours = next((medians[arm.name] for arm in made.arms if arm.name.startswith("Kernelwright")), None)
    rows = []
    for arm in sorted(made.arms, key=lambda each: medians[each.name]):
        middle, low, high = settle(arm.readings)
        rows.append(
            [
                f"PyTorch, {arm.name}" if arm.torch else arm.name,
                f"{middle * 1e3:.3f}",
                f"{low * 1e3:.3f} to {high * 1e3:.3f}",
                f"{spec.streamed_bytes / middle / 1e9:.2f}",
                f"{middle / medians[FLOOR]:.2f}",
                f"{middle / ours:.2f}" if ours is not None else "",
                f"{arm.calls}",
                "" if arm.worst is None else f"{arm.worst:.2f}",
                f"{arm.prepared_seconds:.1f}" if arm.torch else "",
            ]
        )
    head = ["arm", "ms per call", "quartiles", "GB/s", "x floor", "x best", "calls a reading", "error / tolerance"]
    return table([*head, "first call, s"], rows)


def main() -> int:
    """Measure, print, and return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.torch_cpu", description=__doc__)
    parser.add_argument("--kernels", default=",".join(BUILT_IN), help="names, separated by commas")
    parser.add_argument("--store", help="the log of a finished run, for its best designs")
    parser.add_argument("--run", help="name of the run (default: the newest)")
    parser.add_argument("--best", action="append", default=[], metavar="KERNEL=FILE", help="a source instead")
    parser.add_argument("--arms", help="PyTorch arms, separated by commas (default: all); see torch_kernels.py")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seed", type=int, default=20260901)
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch (default: this one)")
    parser.add_argument("--priority", type=int, default=0, help="real-time priority while readings are taken; 0: none")
    parser.add_argument("--tiny", action="store_true", help="small shapes, to try the program out")
    parser.add_argument("--no-torch", action="store_true", help="only the C designs and the floor")
    parser.add_argument("--json", type=Path, help="also write every reading to this file")
    options = parser.parse_args()
    target = CpuTarget(holder="benchmark")
    found = bests(options.store, options.run) if options.store else {}
    for each in options.best:
        name, _, file = each.partition("=")
        found[name] = Found("a file", Path(file).name, Path(file).read_text())
    say(f"`{command_line()}`\n\n{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}\n\n{machine_words(target)}\n")
    results = {}
    for name in options.kernels.split(","):
        spec = TINY[name]() if options.tiny else kernel(name)
        progress(f"{name}: weights and expected values")
        made, words = compare(target, spec, found.get(name), options)
        say(f"## {name}\n\n{words}\n\n{kernel_table(spec, made)}\n")
        results[name] = {arm.name: arm.readings for arm in made.arms}
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
