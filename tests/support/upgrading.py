"""A simulated target whose toolchain can be replaced: some sources build only with one compiler, or are slower with it.

Beside ``seconds`` and ``fails``, a source may say ``needs: 2`` (only compiler 2 builds it), ``until: 1`` (compiler 2 does
not), and ``seconds 2: 3e-3`` (its time when compiler 2 made it).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelwright.hardware.concerns import Concern
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import Build, Probe
from kernelwright.kernels.spec import KernelSpec

from .simulated import SimulatedBench, SimulatedTarget, fields

PARTS: Mapping[Concern, tuple[str, ...]] = {
    "compile": ("compiler",),
    "value": ("compiler",),
    "chip": ("chip", "host_kernel"),
    "runtime": ("chip", "host_kernel"),
    "code": ("chip", "compiler", "host_kernel"),
}


@dataclass
class UpgradingTarget(SimulatedTarget):
    """``parts`` may be changed at any time; what was built follows the compiler that is in it then."""

    probed: int = 0
    builds: int = 0

    def __post_init__(self) -> None:
        self.parts = {"compiler": "1", "chip": "a", "host_kernel": "6.1"}

    def parts_of(self, concern: Concern) -> Sequence[str]:
        return PARTS[concern]

    def use(self, **parts: str) -> None:
        self.parts = {**self.parts, **parts}

    def build(self, spec: KernelSpec, text: str) -> Build:
        self.builds += 1
        compiler, said = self.parts["compiler"], fields(text)
        if "seconds" not in said:
            return Build(Outcome.BUILD_FAILED, None, None, "x.c:1: error: it says no seconds", 0.1)
        if said.get("needs", compiler) > compiler:
            return Build(Outcome.BUILD_FAILED, None, None, f"x.c:1: error: needs _Feature{said['needs']}", 0.1)
        if said.get("until", compiler) < compiler:
            return Build(Outcome.BUILD_FAILED, None, None, f"x.c:1: error: _Old{said['until']} is gone", 0.1)
        built = super().build(spec, text)
        if not built.ok:
            return built
        seconds = said.get(f"seconds {compiler}", said["seconds"])
        made = "\n".join([f"seconds: {seconds}", f"compiler: {compiler}", *text.splitlines()[1:]])
        return Build(Outcome.OK, hashlib.sha256(made.encode()).hexdigest(), Path(made), "", 0.1)

    def probes(self) -> Sequence[Probe]:
        self.probed += 1
        chip = {"a": 30.0, "b": 45.0}[self.parts["chip"]]
        return [
            Probe("bandwidth.memory", "how fast does memory stream?", chip, "GB/s", 0.5, 9, {"rests_on": "chip"}),
            Probe("call", "what does a call cost?", 2e-6, "s", 1e-8, 9, {"rests_on": "code"}),
        ]

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[SimulatedBench]:
        yield SimulatedBench(self)
