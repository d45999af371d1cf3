"""The C side of a comparison with other software: designs and the floor on rotating weights that others can map too."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.floor import PATTERNS, compile_trusted, floor_source
from kernelwright.hardware.cpu.loading import Loader
from kernelwright.hardware.cpu.placed import BATCH, Buffers, Weights, copies_needed, lay_weights, reading_slots
from kernelwright.hardware.cpu.protocol import Status
from kernelwright.hardware.cpu.target import DEVICE
from kernelwright.hardware.cpu.workers import Conductor, LoadError, Worker
from kernelwright.hardware.lease import lease
from kernelwright.hardware.target import Build, TargetError
from kernelwright.kernels.oracle import Prediction, judge
from kernelwright.kernels.spec import Array, Inputs, KernelSpec

FLOOR = "floor"
"""Name of the arm that only reads the weights; it has no values to check."""
MOST_CALLS = 16
_FLOOR_TRIALS = 3
_CALL_SECONDS = 20.0


class WrongValueError(Exception):
    """A timed call left something else than the reference allows."""


@dataclass(frozen=True)
class Calls:
    """The calls of one reading, the untimed first one included: a run of turns, and the number of the input of each."""

    first: int
    inputs: tuple[int, ...]

    def copy(self, index: int, copies: int) -> int:
        """Which copy of the weights call ``index`` uses: the rotation goes on from reading to reading."""
        return (self.first + index) % copies


class Problem:
    """A kernel with its rotating weights and a pool of inputs, in memory that several processes share.

    ``seed`` draws all of it: a process that is given the same seed draws the same inputs (:func:`draw_inputs`). Close it,
    or use it as a context.
    """

    def __init__(self, target: CpuTarget, spec: KernelSpec, seed: int, pool: int) -> None:
        self.target, self.spec, self.seed = target, spec, seed
        self.copies = copies_needed(spec, target.machine)
        self.weights: Weights = lay_weights(spec, self.copies, np.random.SeedSequence(seed))
        self.inputs = draw_inputs(spec, seed, pool)
        self._known: dict[tuple[int, int], Prediction] = {}
        self._rng = np.random.default_rng([seed, 2])
        self._turn = 0

    def calls(self, count: int) -> Calls:
        """The next ``count`` timed calls and the untimed one before them, with inputs in random order."""
        inputs = tuple(int(i) for i in self._rng.permutation(len(self.inputs))[: count + 1])
        made = Calls(self._turn, inputs)
        self._turn += count + 1
        return made

    def predictions(self, calls: Calls) -> list[Prediction]:
        """What each of ``calls`` has to leave behind."""
        keys = [(calls.copy(i, self.copies), number) for i, number in enumerate(calls.inputs)]
        self._predict(keys)
        return [self._known[key] for key in keys]

    def predict_all(self) -> None:
        """Compute every prediction now, so that none is computed between readings."""
        self._predict(list(itertools.product(range(self.copies), range(len(self.inputs)))))

    def _predict(self, keys: Sequence[tuple[int, int]]) -> None:
        missing = [key for key in dict.fromkeys(keys) if key not in self._known]
        for start in range(0, len(missing), BATCH):
            some = missing[start : start + BATCH]
            made = self.weights.reference.predict([(copy, self.inputs[number]) for copy, number in some])
            self._known.update(zip(some, made, strict=True))

    def close(self) -> None:
        """Give the memory back."""
        self.weights.region.close()

    def __enter__(self) -> Problem:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def draw_inputs(spec: KernelSpec, seed: int, count: int) -> list[dict[str, Array]]:
    """``count`` inputs of the ordinary family, without weights and without arguments that are only written."""
    rng = np.random.default_rng([seed, 1])
    unset = {a.name for a in spec.arguments if a.direction == "out"}
    drawn = (spec.draw_activations(rng, spec.families[0]) for _ in range(count))
    return [{name: value for name, value in each.items() if name not in unset} for each in drawn]


def error_over_tolerance(spec: KernelSpec, prediction: Prediction, got: Mapping[str, Array]) -> float:
    """The largest error of any written element over the published tolerance; infinite when one is not finite.

    ``got`` holds the written region of each output.
    """
    worst = 0.0
    for name, expected in prediction.expected.items():
        values = np.asarray(got[name], dtype=np.float64).reshape(expected.shape)
        allowed = spec.tolerance.absolute + spec.tolerance.relative * np.abs(expected)
        ratio = np.where(np.isfinite(values), np.abs(values - expected) / allowed, np.inf)
        worst = max(worst, float(ratio.max()))
    return worst


class Native:
    """Designs loaded side by side, each in a sandboxed process of its own, read by the target's conductor.

    At most four at a time. ``designs`` are builds by name; the name ``floor`` is reserved for :meth:`add_floor`.
    """

    def __init__(self, problem: Problem) -> None:
        target, spec = problem.target, problem.spec
        self.problem = problem
        self._stack = contextlib.ExitStack()
        self._loader = Loader(target.jail, target.helpers.worker.read_bytes(), spec, problem.weights, target.threads)
        self._conductor = Conductor(target.helpers.conductor)
        self._stack.callback(self._conductor.close)
        self._buffers = Buffers(spec, *reading_slots(spec, problem.copies, MOST_CALLS))
        self._stack.callback(self._buffers.close)
        self._workers: dict[str, tuple[int, Worker]] = {}
        self._stack.callback(self._unload)

    def add(self, name: str, build: Build) -> None:
        """Load a design. Raises LoadError when it does not load."""
        self._place(name, self._loader.load(self._loader.design(build), self._buffers))

    def add_floor(self) -> str:
        """Load the reading kernel in the access pattern that is fastest now; returns that pattern in words."""
        compiler, spec = self.problem.target.compiler, self.problem.spec
        best, fastest, words = None, float("inf"), ""
        for pattern in PATTERNS:
            source = floor_source(spec, pattern)
            worker = self._loader.load(compile_trusted(compiler, spec, source), self._buffers)
            self._place("trial", worker)
            with lease(DEVICE, "benchmark"):
                seconds = float(np.median([self._read("trial", self.problem.calls(4)) for _ in range(_FLOOR_TRIALS)]))
            if seconds < fastest:
                if best is not None:
                    best.close()
                best, fastest = worker, seconds
                words = f"{pattern.streams} stream(s), prefetch {pattern.ahead or 'off'}"
            else:
                worker.close()
            self._conductor.drop(self._workers.pop("trial")[0])
        assert best is not None
        self._place(FLOOR, best)
        return words

    def remove(self, name: str) -> None:
        """End the process of a design."""
        number, worker = self._workers.pop(name)
        worker.close()
        self._conductor.drop(number)

    def read(self, name: str, calls: Calls) -> float:
        """Seconds of one call, the mean over the timed ``calls``; outputs are checked with both gates of the oracle.

        Raises WrongValueError, or TargetError when the design hangs or dies. The caller holds the lease.
        """
        spec, problem = self.problem.spec, self.problem
        slots = len(self._buffers.slots)
        for index, number in enumerate(calls.inputs):
            self._buffers.write((calls.first + index) % slots, problem.inputs[number])
        seconds = self._read(name, calls)
        if name != FLOOR:
            for index, prediction in enumerate(problem.predictions(calls)):
                before: Inputs = problem.inputs[calls.inputs[index]]
                found = judge(spec, prediction, before, self._buffers.outputs((calls.first + index) % slots))
                if not found.ok:
                    where = f"{found.argument}[{', '.join(map(str, found.index))}]"
                    raise WrongValueError(f"{name}: {where} is {found.got:.6g}, expected {found.expected:.6g}")
        return seconds

    def _read(self, name: str, calls: Calls) -> float:
        number, _ = self._workers[name]
        timed = len(calls.inputs) - 1
        first = calls.first % len(self._buffers.slots)
        reading = self._conductor.read(number, first, 1, timed, _CALL_SECONDS)
        if reading.status is not Status.OK:
            raise TargetError(f"{name} could not be read: {reading.status.name}")
        return reading.seconds / timed

    def _place(self, name: str, worker: Worker) -> None:
        taken = {number for number, _ in self._workers.values()}
        number = next(n for n in range(4) if n not in taken)
        self._workers[name] = (number, worker)
        self._conductor.add(number, worker)

    def _unload(self) -> None:
        for name in list(self._workers):
            self.remove(name)

    def close(self) -> None:
        """End every process and free the buffers."""
        self._stack.close()

    def __enter__(self) -> Native:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def timed_readings(native: Native, build: Build, readings: int, calls: int) -> tuple[list[float], float]:
    """Load a design alone, read it ``readings`` times, and unload it: seconds per call, and seconds of device time.

    Raises LoadError, WrongValueError or TargetError for a design that fails.
    """
    with lease(DEVICE, "benchmark"):
        begun = time.perf_counter()
        native.add("candidate", build)
        try:
            seconds = [native.read("candidate", native.problem.calls(calls)) for _ in range(readings)]
        finally:
            native.remove("candidate")
        return seconds, time.perf_counter() - begun


FAILURES: tuple[type[Exception], ...] = (LoadError, WrongValueError, TargetError)
"""What a design may raise when it is loaded or read."""


def settle(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, lower and upper quartile."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(middle), float(low), float(high)
