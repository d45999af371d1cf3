"""Where there is a TPU: paired readings on it. Written against what jax documents and exercised against a stand-in for the
process that holds the device; it has not been tried on a chip.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from ...kernels.oracle import BatchReference, Prediction, judge
from ...kernels.spec import Array, Inputs, KernelSpec
from ..outcome import Outcome
from ..target import Build, Pair, Pairs
from .contract import inputs as taken
from .inside import wire
from .verify import Spool, outputs_of
from .workers import EndedError, Server

POOL = 4
"""Different inputs that readings turn through."""
LOAD_SECONDS = 300.0
READ_SECONDS = 120.0
_PCI = Path("/sys/bus/pci/devices")
GOOGLE = "0x1ae0"
"""The PCI vendor of Google's devices, which is how jax looks for a TPU as well."""
Side = Literal["best", "candidate"]


def present(devices: Path = _PCI) -> bool:
    """Whether this machine has a TPU: a few reads of files, so that it can be asked at every start."""
    try:
        return any(path.joinpath("vendor").read_text().strip() == GOOGLE for path in devices.iterdir())
    except OSError:
        return False


class _ArmError(Exception):
    """An arm that failed, or the device (``side`` None)."""

    def __init__(self, outcome: Outcome, reason: str, side: Side | None) -> None:
        super().__init__(reason)
        self.outcome, self.reason, self.side = outcome, reason, side


@dataclass
class TpuSession:
    """Two designs on a device. See :class:`kernelwright.hardware.target.Session`."""

    server: Server
    spec: KernelSpec
    weights: Inputs
    reference: BatchReference
    builds: dict[Side, Build]
    seed: int
    spool: Spool
    _pool: list[tuple[Inputs, Prediction]] = field(default_factory=list)
    _places: list[list[object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, 2]))
        unset = {argument.name for argument in self.spec.arguments if argument.direction == "out"}
        drawn = []
        for _ in range(POOL):
            values = self.spec.draw_activations(rng, self.spec.families[0])
            drawn.append({name: value for name, value in values.items() if name not in unset})
        predictions = self.reference.predict([(0, inputs) for inputs in drawn])
        self._pool = list(zip(drawn, predictions, strict=True))
        types = {argument.name: argument.dtype for argument in self.spec.arguments}
        order = [argument.name for argument in taken(self.spec)]
        held = {name: self.spool.place(self.weights[name], types[name]) for name in order if name in self.weights}
        for inputs, _ in self._pool:
            own = {name: self.spool.place(inputs[name], types[name]) for name in order if name not in held}
            self._places.append([{**held, **own}[name] for name in order])
        self._rng = rng

    def read(self, orders: Sequence[Literal["BC", "CB"]], calls: int, pairs_per_process: int = 1) -> Pairs:
        """One pair for each order, each reading ``calls`` calls; the last call's outputs are checked."""
        pairs: list[Pair] = []
        start = time.perf_counter()
        try:
            for index, order in enumerate(orders):
                if index % pairs_per_process == 0:
                    self._fresh()
                seconds: dict[Side, float] = {}
                sides: tuple[Side, ...] = ("best", "candidate") if order == "BC" else ("candidate", "best")
                for side in sides:
                    seconds[side] = self._reading(side, calls)
                pairs.append(Pair(order, seconds["best"], seconds["candidate"]))
        except _ArmError as failure:
            took = time.perf_counter() - start
            return Pairs(tuple(pairs), failure.outcome, failure.reason, took, failure.side or "nobody")
        return Pairs(tuple(pairs), Outcome.OK, "", time.perf_counter() - start)

    def _ask(self, header: wire.Header, blob: bytes, seconds: float, side: Side | None) -> tuple[wire.Header, bytes]:
        try:
            answer, content = self.server.ask(header, blob, seconds)
        except EndedError as ended:
            outcome = Outcome.HUNG if ended.hung else Outcome.CRASHED
            if side is None:
                outcome = Outcome.NO_DEVICE
            raise _ArmError(outcome, ended.said[-300:] or "the device's process ended", side) from None
        if answer.get("outcome") != "ok":
            outcome = Outcome.NO_DEVICE if side is None else Outcome.CRASHED
            raise _ArmError(outcome, str(answer.get("text", ""))[:500], side)
        return answer, content

    def _fresh(self) -> None:
        """A new process for both designs, loaded, with the inputs on the device."""
        self.server.stop()
        donated = [place for place, argument in enumerate(taken(self.spec)) if argument.direction == "inout"]
        for side, build in self.builds.items():
            if build.path is None:
                raise _ArmError(Outcome.LOAD_FAILED, "the build is not kept any more", side)
            header = {"task": "load", "arm": side, "donated": donated}
            self._ask(header, build.path.read_bytes(), LOAD_SECONDS, side)
        for number, places in enumerate(self._places):
            self._ask({"task": "hold", "number": number, "inputs": places}, b"", LOAD_SECONDS, None)
        for side in self.builds:  # the first call of a program is slower, whoever runs first
            self._ask({"task": "read", "arm": side, "numbers": [0]}, b"", READ_SECONDS, side)

    def _reading(self, side: Side, calls: int) -> float:
        numbers = [int(number) for number in self._rng.integers(0, POOL, calls)]
        header, blob = self._ask({"task": "read", "arm": side, "numbers": numbers}, b"", READ_SECONDS, side)
        inputs, prediction = self._pool[numbers[-1]]
        got: dict[str, Array] | None = outputs_of(self.spec, header, blob)
        if got is None:
            raise _ArmError(Outcome.CRASHED, "outputs of another length", side)
        found = judge(self.spec, prediction, inputs, got)
        if not found.ok:
            raise _ArmError(Outcome(found.kind), f"{found.argument}{list(found.index)}: {found.reason}", side)
        return float(header["seconds"]) / calls
