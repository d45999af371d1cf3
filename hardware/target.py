"""The seam between the loop and an accelerator: what every target offers.

Targets are found by the entry point group ``kernelwright.targets``. A :class:`Target` is cheap to make and holds no
device; :meth:`Target.open` gives a :class:`Bench`, which does. Everything here is typed outcomes: a design that does not
build, crashes or hangs is a value, never an exception. Exceptions are for the machine being unfit (:class:`TargetError`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from ..kernels.spec import KernelSpec
from .outcome import Outcome


class TargetError(Exception):
    """The machine cannot serve the target. The message says what is missing and the command that would fix it."""


@dataclass(frozen=True)
class Toolchain:
    """Everything that decides what a source compiles to and how fast it runs, as named parts."""

    parts: Mapping[str, str]

    @property
    def fingerprint(self) -> str:
        """A short digest of the parts (16 hex digits)."""
        text = json.dumps(dict(self.parts), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def changed(self, other: Toolchain) -> tuple[str, ...]:
        """Names of the parts that differ from ``other``, sorted."""
        names = self.parts.keys() | other.parts.keys()
        return tuple(sorted(n for n in names if self.parts.get(n) != other.parts.get(n)))


@dataclass(frozen=True)
class Build:
    """What the compiler made of a source. ``artifact`` is the digest (sha256 hex) of the built file, None when it failed."""

    outcome: Outcome
    artifact: str | None
    path: Path | None
    diagnostics: str
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether there is an artifact to load."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True)
class CheckReport:
    """One screen before a comparison: its outcome, why, and numbers worth keeping."""

    outcome: Outcome
    reason: str
    seconds: float
    details: Mapping[str, float | str | int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the design may go on."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True)
class Pair:
    """One paired reading: seconds for one call (the mean over the calls of the reading) of the best and the candidate.

    ``order`` says which ran first: ``"BC"`` the best, ``"CB"`` the candidate.
    """

    order: Literal["BC", "CB"]
    best_seconds: float
    candidate_seconds: float


@dataclass(frozen=True)
class Pairs:
    """What came of asking for pairs: the readings taken, and the outcome that ended them (``ok`` when all were taken).

    ``blamed`` names the arm that failed when the outcome is not ``ok``. ``device_seconds`` is how long the device was held.
    """

    pairs: tuple[Pair, ...]
    outcome: Outcome
    reason: str
    device_seconds: float
    blamed: Literal["best", "candidate", "nobody"] = "nobody"


@dataclass(frozen=True)
class Probe:
    """A measured fact about the chip: a question, a value with its unit, and how it was taken."""

    name: str
    question: str
    value: float
    unit: str
    spread: float
    """Half the interquartile range over the repeats, in the same unit."""
    repeats: int
    conditions: Mapping[str, str]


class Session(Protocol):
    """Two loaded designs, ready to be read in pairs: worker processes, buffers, clock."""

    def read(self, orders: Sequence[Literal["BC", "CB"]], calls: int, pairs_per_process: int = 1) -> Pairs:
        """Take one pair for each order given, each reading being ``calls`` consecutive calls.

        Both designs get fresh processes after every ``pairs_per_process`` pairs: a process has luck of its own (placement,
        pages), and pairs of one process are not independent.
        Every timed output is checked against the expected values; a wrong one ends the pairs with its outcome.
        """


class Bench(Protocol):
    """A kernel on a device: weights in place, expected values known, the lease held while readings are taken."""

    def verify(self, build: Build, seed: int) -> CheckReport:
        """Run the design on fresh inputs of every family drawn from ``seed``, and compare with the reference."""

    def floor_seconds(self) -> Probe:
        """Time (seconds) to stream the kernel's weights with the bench's threads, measured now."""

    def pair(self, best: Build, candidate: Build, seed: int) -> AbstractContextManager[Session]:
        """Load two designs in processes of their own. ``seed`` draws inputs and placement."""


@runtime_checkable
class QuickLook(Protocol):
    """A bench that runs for values slowly (it interprets, say), and can look at a few cases first."""

    def look(self, build: Build, seed: int) -> CheckReport:
        """What :meth:`Bench.verify` does, on a few of its cases; ``details`` and ``reason`` say which.

        A design that passes may be held. Before a run ends, the one that is best by estimate is verified in full.
        """


@runtime_checkable
class OwnKernels(Protocol):
    """A target that brings kernels of its own: in other widths, or ones that no other target has."""

    def kernels(self) -> Mapping[str, KernelSpec]:
        """Specs by name, in the order of a default run. They come before the registry's of the same name."""


@runtime_checkable
class Target(Protocol):
    """An accelerator with its DSL and toolchain.

    Without a device (``has_device`` false) designs go as far as ``held``, ordered by the target's estimates; its benches
    verify and have a floor by arithmetic, and raise TargetError when asked for pairs. Whether there is a device belongs to
    the parts of the toolchain where that can change.
    """

    name: str
    has_device: bool

    def toolchain(self) -> Toolchain:
        """What is installed now. Raises TargetError when there is no compiler."""

    def macros(self) -> Mapping[str, str]:
        """What the compiler predefines under the flags in use, by name; empty where that means nothing."""

    def contract(self, spec: KernelSpec) -> str:
        """The contract of a source, as text for people and language models: prototype, promises, limits."""

    def baseline(self, spec: KernelSpec) -> str:
        """The source to start from. Raises TargetError when the spec has none for this target."""

    def review(self, spec: KernelSpec, source: str) -> CheckReport:
        """Screen a source by the contract alone, without a compiler."""

    def build(self, spec: KernelSpec, source: str) -> Build:
        """Compile a source, or return what the compiler said; the artifact's symbols are checked too."""

    def probes(self) -> Sequence[Probe]:
        """Measure the chip: what the estimates, the floor and the specialists choose by."""

    def open(self, spec: KernelSpec, seed: int) -> AbstractContextManager[Bench]:
        """Place weights and expected values for a kernel. ``seed`` must be one that no candidate can know."""
