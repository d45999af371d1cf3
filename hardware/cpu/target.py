"""The CPU target: C designs on this host's processor."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ...kernels.spec import KernelSpec
from ..concerns import Concern
from ..lease import Holder, Lease, lease
from ..target import Bench, Build, CheckReport, Probe, TargetError, Toolchain
from . import contract as contracts
from . import zig
from .learning import Learning
from .machine import Machine, this_machine, usable_cores
from .review import review
from .toolchain import Compiler, describe, find_compiler

if TYPE_CHECKING:
    from ..sandbox import Jail, SandboxReport
    from ..sandbox.jail import Wanted
    from .bench import BenchSettings
    from .helpers import Helpers

DEVICE = "cpu"
"""Name of the device, and of its lease: one per host."""
_COMPILE = ("compiler", "flags", "isa", "libc")
_CHIP = ("cores", "cpu", "host_kernel", "last_level_cache_bytes", "threads")
_PARTS: Mapping[Concern, tuple[str, ...]] = {
    "compile": _COMPILE,
    "value": tuple(sorted((*_COMPILE, "libm", "linker"))),
    "chip": _CHIP,
    "runtime": tuple(sorted((*_CHIP, "libc", "libgomp"))),
    "code": tuple(sorted({*_COMPILE, *_CHIP, "libgomp", "libm", "linker"})),
}


class CpuTarget(Learning):
    """This host's processor. Cheap to make: compiler, sandbox and cache are looked for when they are needed.

    ``compiler`` is a command line, or None to look for one. ``threads`` is how many a design has; None: one for each core
    that this process may use. ``sandbox`` is ``auto`` (full, or an error that says how to
    allow less), ``full`` or ``reduced``. ``holder`` names the user of the device in messages to others; ``on_wait`` is
    called once when the device is not free. ``build_seconds`` is the wall-clock limit of a run of the compiler.
    """

    name = "cpu"
    has_device = True

    def __init__(
        self,
        *,
        compiler: str | None = None,
        threads: int | None = None,
        sandbox: Wanted = "auto",
        cache: Path | None = None,
        holder: str = "kernelwright",
        on_wait: Callable[[Holder | None], None] | None = None,
        settings: BenchSettings | None = None,
        build_seconds: float = 60.0,
    ) -> None:
        if sandbox not in ("auto", "full", "reduced"):
            raise TargetError(f"sandbox is auto, full or reduced, not {sandbox!r}")
        cores = usable_cores()
        if threads is not None and not 1 <= threads <= cores:
            raise TargetError(f"threads = {threads}: this process may use {cores} cores")
        self._threads = threads or cores
        self._configured, self._sandbox, self._cache = compiler, sandbox, cache
        self._holder, self._on_wait, self._settings = holder, on_wait, settings
        self._build_seconds = build_seconds

    @functools.cached_property
    def compiler(self) -> Compiler:
        """The compiler in use. Raises TargetError when there is none."""
        return find_compiler(self._configured)

    @functools.cached_property
    def machine(self) -> Machine:
        """The host."""
        return this_machine()

    @functools.cached_property
    def cache(self) -> Path:
        """The folder of built artifacts and helper programs."""
        from .helpers import cache_folder

        return cache_folder(self._cache)

    @functools.cached_property
    def helpers(self) -> Helpers:
        """The target's own programs, compiled."""
        from .helpers import compile_helpers

        return compile_helpers(self.compiler, self.cache)

    @functools.cached_property
    def jail(self) -> Jail:
        """The sandbox. Raises TargetError when the wanted level is not to be had."""
        from ..sandbox import Jail

        jail = Jail(self.helpers.launcher, self._sandbox)
        if zig.is_zig(self.compiler.command):
            try:
                zig.hand_over(jail.uid)
            except OSError as error:
                raise TargetError(f"the compiler's cache cannot be shared with the sandbox: {error}") from error
        return jail

    @property
    def sandbox(self) -> SandboxReport:
        """The level of the sandbox in use, for callers to show."""
        return self.jail.report

    def toolchain(self) -> Toolchain:
        """What is installed now; see the protocol."""
        return describe(self.compiler, self.machine, self.threads)

    def macros(self) -> Mapping[str, str]:
        """What the compiler predefines under a design's flags: what the instruction set is decided from."""
        return self.compiler.macros

    @property
    def threads(self) -> int:
        """Threads that a design has."""
        return self._threads if self.compiler.openmp else 1

    def contract(self, spec: KernelSpec) -> str:
        """The contract of a source; see the protocol."""
        return contracts.contract(spec)

    def baseline(self, spec: KernelSpec) -> str:
        """The source to start from; see the protocol."""
        try:
            return spec.baselines[self.name]
        except KeyError:
            raise TargetError(f"kernel {spec.name} has no baseline for the target {self.name}") from None

    def review(self, spec: KernelSpec, source: str) -> CheckReport:
        """Screen a source by the contract; see the protocol."""
        return review(spec, source)

    def build(self, spec: KernelSpec, source: str) -> Build:
        """Compile a source in the sandbox; see the protocol."""
        from .build import Compilation, build

        return build(Compilation(self.compiler, self.jail, self.cache, DEVICE, self._build_seconds), spec, source)

    def probes(self) -> Sequence[Probe]:
        """Measure the chip; see the protocol."""
        from .probes import measure_probes

        return measure_probes(self)

    def lease(self) -> AbstractContextManager[Lease]:
        """The right to use the device, waited for."""
        return lease(DEVICE, self._holder, on_wait=self._on_wait)

    def parts_of(self, concern: Concern) -> Sequence[str]:
        """Names of the toolchain's parts that a fact of this kind rests on."""
        return _PARTS[concern]

    def open(self, spec: KernelSpec, seed: int) -> AbstractContextManager[Bench]:
        """Place weights and inputs for a kernel; see the protocol."""
        from .bench import CpuBench

        return CpuBench(
            spec,
            seed,
            compiler=self.compiler,
            helpers=self.helpers,
            jail=self.jail,
            machine=self.machine,
            threads=self.threads,
            device=DEVICE,
            holder=self._holder,
            on_wait=self._on_wait,
            settings=self._settings,
        )
