"""Two real compilers behind one target whose clock is simulated: what builds, and to what, is real; times are not."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.hardware.concerns import Concern
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.study import SnippetHost
from kernelwright.hardware.target import Bench, Build, CheckReport, Probe, Toolchain
from kernelwright.kernels.spec import KernelSpec

from .simulated import SimulatedBench, SimulatedTarget, toy_spec

OLDER, NEWER = ("gcc-11", "gcc-12")
"""Debian 12 has both."""


def missing() -> str:
    """Why the compilers cannot be used here; empty when they can."""
    absent = [name for name in (OLDER, NEWER) if shutil.which(name) is None]
    return f"apt-get install {' '.join(absent)}" if absent else ""


def c_spec() -> KernelSpec:
    """The toy kernel under a name that C allows."""
    return dataclasses.replace(toy_spec("twice"), baselines={"simulated": BASELINE})


BASELINE = """/* seconds: 20e-3 */
#include "kernel.h"
#include <stddef.h>

void twice(const float *restrict x, float *restrict y)
{
    for (size_t i = 0; i < N; i++)
        y[i] = x[i] + x[i];
}
"""


def design(seconds: float, body: str, head: str = "") -> str:
    """A design whose simulated time is ``seconds``; ``body`` stands before its loop, ``head`` before the function."""
    return f"""/* seconds: {seconds} */
#include "kernel.h"
#include <stddef.h>
{head}
void twice(const float *restrict x, float *restrict y)
{{
    volatile float mark = {seconds}f; /* tells the artifacts of two designs apart */
    (void)mark;
{body}
    for (size_t i = 0; i < N; i++)
        y[i] = x[i] + x[i];
}}
"""


@dataclass
class CompilingTarget(SimulatedTarget):
    """``use`` switches between compilers. ``built`` lists what each was asked to build."""

    cache: Path = Path()
    compiler: str = OLDER
    built: list[tuple[str, str]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    """More arguments of the CPU target."""
    made: dict[str, Build] = field(default_factory=dict)
    """Real builds by the digest of their artifact."""
    _targets: dict[str, CpuTarget] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def real(self) -> CpuTarget:
        """The CPU target with the compiler in use."""
        if self.compiler not in self._targets:
            path = shutil.which(self.compiler)
            self._targets[self.compiler] = CpuTarget(compiler=path, cache=self.cache, sandbox="reduced", **self.options)
        return self._targets[self.compiler]

    def use(self, compiler: str) -> None:
        self.compiler = compiler

    def toolchain(self) -> Toolchain:
        return self.real().toolchain()

    def parts_of(self, concern: Concern) -> Sequence[str]:
        return self.real().parts_of(concern)

    def macros(self) -> Mapping[str, str]:
        return self.real().macros()

    def review(self, spec: KernelSpec, text: str) -> CheckReport:
        return self.real().review(spec, text)

    def snippets(self) -> SnippetHost:
        return self.real().snippets()

    def complete(self, snippet: str) -> tuple[str, ...]:
        return self.real().complete(snippet)

    def build(self, spec: KernelSpec, text: str) -> Build:
        self.built.append((self.compiler, text))
        made = self.real().build(spec, text)
        if made.artifact is None:
            return made
        self.made[made.artifact] = made
        # The simulated clock reads the text; the artifact's digest is the real one.
        first = text.splitlines()[0].removeprefix("/* ").removesuffix(" */") if text.startswith("/* seconds") else ""
        return Build(made.outcome, made.artifact, Path(first or "seconds: 1"), made.diagnostics, made.seconds)

    def probes(self) -> Sequence[Probe]:
        return [Probe("bandwidth.memory", "how fast does memory stream?", 30.0, "GB/s", 0.5, 9, {"rests_on": "chip"})]

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[Bench]:
        yield SimulatedBench(self)


@dataclass
class VerifiedBench(SimulatedBench):
    """Values are computed and compared for real; times are simulated."""

    real: Bench
    made: Mapping[str, Build]

    def verify(self, build: Build, seed: int) -> CheckReport:
        assert build.artifact is not None
        return self.real.verify(self.made[build.artifact], seed)


@dataclass
class VerifyingTarget(CompilingTarget):
    """Runs what it builds, for values; only the clock is simulated."""

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[Bench]:
        with self.real().open(spec, seed) as bench:
            yield VerifiedBench(self, bench, self.made)
