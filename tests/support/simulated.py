"""A target whose device is a seeded simulation, and a specialist that follows a script: the loop without compilers.

A source is lines of ``key: value``. ``seconds`` is the true time of a call, ``fails`` the outcome of a check to fail
(``build``, ``verify`` or ``read``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from kernelwright.agents.port import NothingLeft, Proposal, ProposeTask
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.study import Estimate
from kernelwright.hardware.target import (
    Bench,
    Build,
    CheckReport,
    Pair,
    Pairs,
    Probe,
    TargetError,
    Toolchain,
)
from kernelwright.kernels.spec import Argument, KernelSpec, Tolerance

NOISE = 0.02
FLOOR_SECONDS = 0.9e-3


def source(seconds: float, **more: object) -> str:
    """The text of a simulated design."""
    return "\n".join([f"seconds: {seconds}", *(f"{key}: {value}" for key, value in more.items())])


def fields(text: str) -> dict[str, str]:
    """What a simulated source says."""
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def toy_spec(name: str = "double") -> KernelSpec:
    """y = 2 x, with nothing to stream but x."""

    def draw(rng: np.random.Generator, _family: str) -> dict[str, Any]:
        return {"x": rng.normal(size=8).astype(np.float32)}

    def reference(inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {"y": 2.0 * inputs["x"].astype(np.float64)}

    return KernelSpec(
        name=name,
        summary="y = 2 x",
        dimensions={"N": 8},
        arguments=(Argument("x", "f32", (8,)), Argument("y", "f32", (8,), direction="out")),
        tolerance=Tolerance(1e-6, 1e-6),
        reference=reference,
        rounded=reference,
        draw_weights=lambda _rng: {},
        draw_activations=draw,
        families=("normal",),
        baselines={"simulated": source(20e-3)},
        streamed=("x",),
    )


@dataclass
class SimulatedTarget:
    """Counts what it was asked, so that tests can show that nothing is done twice."""

    name: str = "simulated"
    has_device: bool = True
    parts: dict[str, str] = field(default_factory=lambda: {"compiler": "1"})
    reads: list[tuple[str, str, int]] = field(default_factory=list)
    journal: Path | None = None
    """Where to note each reading, for tests that kill the process."""

    def toolchain(self) -> Toolchain:
        """What is installed."""
        return Toolchain(dict(self.parts))

    def macros(self) -> Mapping[str, str]:
        """No macros."""
        return {}

    def contract(self, spec: KernelSpec) -> str:
        """The contract in a line."""
        return f"lines of key: value for {spec.name}"

    def baseline(self, spec: KernelSpec) -> str:
        """The baseline's source."""
        return spec.baselines[self.name]

    def review(self, spec: KernelSpec, text: str) -> CheckReport:
        """Refuses what asks for it."""
        if fields(text).get("fails") == "review":
            return CheckReport(Outcome.VETOED, "asked for", 0.0)
        return CheckReport(Outcome.OK, "", 0.0)

    def build(self, spec: KernelSpec, text: str) -> Build:
        """A digest for an artifact."""
        if fields(text).get("fails") == "build":
            return Build(Outcome.BUILD_FAILED, None, None, "x.c:1: error: asked for", 0.0)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Build(Outcome.OK, digest, Path(text), "", 0.0)

    def probes(self) -> Sequence[Probe]:
        """One probe."""
        return [Probe("stream", "how fast?", 30.0, "GB/s", 0.5, 3, {"threads": "2"})]

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[Bench]:
        """A bench."""
        yield SimulatedBench(self)


@dataclass
class SimulatedBench:
    """A bench of the simulation."""

    target: SimulatedTarget

    def verify(self, build: Build, seed: int) -> CheckReport:
        """Wrong only when asked for."""
        wrong = fields(str(build.path)).get("fails") == "verify"
        return CheckReport(Outcome.WRONG_VALUE if wrong else Outcome.OK, "asked for" if wrong else "", 0.0)

    def floor_seconds(self) -> Probe:
        """A constant."""
        return Probe("floor", "how long?", FLOOR_SECONDS, "s", 0.0, 1, {})

    @contextmanager
    def pair(self, best: Build, candidate: Build, seed: int) -> Iterator[SimulatedSession]:
        """A session."""
        yield SimulatedSession(self.target, best, candidate, np.random.default_rng(seed))


@dataclass
class SimulatedSession:
    """Noise from the session's seed."""

    target: SimulatedTarget
    best: Build
    candidate: Build
    rng: np.random.Generator

    def read(self, orders: Sequence[Literal["BC", "CB"]], calls: int, pairs_per_process: int = 1) -> Pairs:
        """Lognormal readings around the true seconds."""
        b, c = (float(fields(str(each.path))["seconds"]) for each in (self.best, self.candidate))
        if fields(str(self.candidate.path)).get("fails") == "read":
            return Pairs((), Outcome.CRASHED, "signal 11", 0.0, "candidate")
        noise = self.rng.lognormal(0.0, NOISE, (len(orders), 2))
        self.target.reads.append((str(self.best.artifact), str(self.candidate.artifact), len(orders)))
        if self.target.journal is not None:
            with self.target.journal.open("a") as file:
                file.write(f"{self.best.artifact} {self.candidate.artifact} {len(orders)}\n")
        pairs = tuple(Pair(o, b * n[0], c * n[1]) for o, n in zip(orders, noise.tolist(), strict=True))
        return Pairs(pairs, Outcome.OK, "", (b + c) * calls * len(orders), "nobody")


@dataclass
class Script:
    """Proposes the sources of a list, one for each design in the tree; the same for the same tree."""

    sources: Sequence[str]
    name: str = "script"

    def propose(self, task: ProposeTask) -> Proposal | NothingLeft:
        """The next line of the script."""
        index = len(task.tried) - 1
        if index >= len(self.sources):
            return NothingLeft(reason="the script has ended")
        return Proposal(
            kind="small",
            parent=task.best,
            role="engineer",
            title=f"line {index}",
            rationale="the script says so",
            levers={"line": index},
            source=self.sources[index],
        )


GOOD_SCRIPT = (
    source(4e-3),
    source(4e-3, fails="build"),
    source(3.9e-3, fails="verify"),
    source(6e-3),
    source(2e-3),
    source(2e-3, note="equal"),
    source(2e-3, fails="review"),
    source(1.9e-3, fails="read"),
    source(0.2e-3),
    source(1.5e-3),
)
"""Two decided gains, one of each way to fail, one that is too good to be true, and a last gain."""


@dataclass
class PredictingTarget(SimulatedTarget):
    """The simulated target on a machine that has no device: it predicts, and runs for values unless ``values`` is false.

    The prediction is the source's ``estimate``, or its ``seconds``; ``none`` is a design that cannot be predicted.
    """

    has_device: bool = False
    values: bool = True
    runs: dict[str, int] = field(default_factory=dict)
    """How often each artifact was run for values."""

    def estimate(self, spec: KernelSpec, build: Build, probes: Mapping[str, float]) -> Estimate | None:
        """What the source says."""
        said = fields(str(build.path))
        text = said.get("estimate", said["seconds"])
        return None if text == "none" else Estimate(float(text), "said/1", {}, said.get("limit", ""))

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[Bench]:
        """A bench that takes no pairs."""
        yield PredictingBench(self)


@dataclass
class PredictingBench(SimulatedBench):
    """A bench of a machine without a device."""

    target: PredictingTarget

    def verify(self, build: Build, seed: int) -> CheckReport:
        """As with a device, where there is a way to run at all."""
        if not self.target.values:
            return CheckReport(Outcome.NO_VALUES, "this toolchain runs nothing", 0.0)
        runs = self.target.runs[str(build.artifact)] = self.target.runs.get(str(build.artifact), 0) + 1
        if fields(str(build.path)).get("fails") == "later" and runs > 1:
            return CheckReport(Outcome.WRONG_VALUE, "right at first", 0.0)
        return super().verify(build, seed)

    @contextmanager
    def pair(self, best: Build, candidate: Build, seed: int) -> Iterator[SimulatedSession]:
        """Refused."""
        raise TargetError("there is no device to read on")
        yield


@dataclass
class LookingBench(PredictingBench):
    """A bench that can look at a few cases before it verifies in full."""

    def look(self, build: Build, seed: int) -> CheckReport:
        """Finds nothing wrong with what is wrong in rare cases."""
        wrong = fields(str(build.path)).get("fails") == "verify"
        return CheckReport(Outcome.WRONG_VALUE if wrong else Outcome.OK, "a few cases", 0.0)


@dataclass
class LookingTarget(PredictingTarget):
    """A target without a device whose values take long."""

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[Bench]:
        """A bench with a quick look."""
        yield LookingBench(self)
