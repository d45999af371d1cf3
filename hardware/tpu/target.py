"""The TPU target: Pallas designs, compiled ahead of time for one chip."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ...kernels.spec import KernelSpec
from ..concerns import Concern
from ..environments import Recipe, ToolchainOption
from ..study import Estimate
from ..target import Bench, Build, CheckReport, Probe, TargetError, Toolchain
from . import contract as contracts
from . import device, toolchains
from .chips import find_chip
from .learning import Learning
from .review import review

if TYPE_CHECKING:
    from ..sandbox import Jail, SandboxReport
    from ..sandbox.jail import Wanted
    from .workshop import Workshop

_COMPILE = ("flags", "jax", "jaxlib", "libtpu", "python")
_PARTS: Mapping[Concern, tuple[str, ...]] = {
    # What interpreting gives is the same for every chip, and so is most of what the compiler refuses; but sizes of
    # memory and types of elements are a chip's, so that a rule has to be tried again on another one.
    "compile": tuple(sorted((*_COMPILE, "chip"))),
    "value": ("jax", "jaxlib", "python"),
    "chip": ("chip", "device"),
    "runtime": ("device", "jaxlib", "libtpu"),
    "code": tuple(sorted((*_COMPILE, "chip", "device"))),
}


class TpuTarget(Learning):
    """One chip and one toolchain. Cheap to make: toolchain and sandbox are looked for when they are needed.

    ``toolchain`` names an environment that ``kernelwright toolchain add tpu`` made; without it the only one is used, or
    this Python's own jax and libtpu. ``chip`` is one of the table in :mod:`.chips`. ``sandbox`` is ``auto``, ``full`` or
    ``reduced``. ``cache`` is where builds are kept, ``environment`` a folder with a jax of its own, for tests.
    """

    name = "tpu"

    def __init__(
        self,
        *,
        toolchain: str | None = None,
        chip: str = "v5e",
        sandbox: Wanted = "auto",
        cache: Path | None = None,
        environment: Path | None = None,
    ) -> None:
        if sandbox not in ("auto", "full", "reduced"):
            raise TargetError(f"sandbox is auto, full or reduced, not {sandbox!r}")
        self.chip = find_chip(chip)
        self.has_device = device.present()
        self._named, self.wanted, self._cache, self._environment = toolchain, sandbox, cache, environment

    @staticmethod
    def toolchain_options() -> tuple[ToolchainOption, ...]:
        """What can be chosen of a toolchain; see :class:`..environments.Installs`."""
        return toolchains.toolchain_options()

    @staticmethod
    def recipe(options: Mapping[str, str]) -> Recipe:
        """How to make a toolchain; see :class:`..environments.Installs`."""
        return toolchains.recipe(options)

    @functools.cached_property
    def found(self) -> toolchains.Found:
        """The toolchain in use. Raises TargetError when there is none."""
        return toolchains.at(self._environment) if self._environment is not None else toolchains.find(self._named)

    @functools.cached_property
    def jail(self) -> Jail:
        """The sandbox. Raises TargetError when the wanted level is not to be had."""
        from ..cpu.helpers import cache_folder, compile_helpers
        from ..cpu.toolchain import find_compiler
        from ..sandbox import Jail

        return Jail(compile_helpers(find_compiler(None), cache_folder(None)).launcher, self.wanted)

    @property
    def sandbox(self) -> SandboxReport:
        """The level of the sandbox in use, for callers to show."""
        return self.jail.report

    @functools.cached_property
    def shop(self) -> Workshop:
        """The confined processes; they end with the target."""
        from .workshop import Workshop, cache_folder

        made = Workshop(self.found, self.chip, self.jail, cache_folder(self._cache))
        weakref.finalize(self, made.close)
        return made

    def toolchain(self) -> Toolchain:
        """Versions, chip and flags; see the protocol."""
        from .workshop import FLAGS

        facts = self.found.facts
        parts = {name: facts[name] for name in ("jax", "jaxlib", "libtpu", "python")}
        return Toolchain({**parts, "chip": self.chip.name, "device": self._seen(), "flags": " ".join(FLAGS)})

    def _seen(self) -> str:
        return self.chip.device_kind if self.has_device else "none"

    def macros(self) -> Mapping[str, str]:
        """Nothing: there is no preprocessor. The chip's sizes are in its table."""
        return {}

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
        """Lower and compile a source in the sandbox; see the protocol."""
        from .build import build

        return build(self.shop, spec, source)

    def estimate(
        self,
        spec: KernelSpec,
        build: Build,
        probes: Mapping[str, float],  # noqa: ARG002  (the protocol's)
    ) -> Estimate | None:
        """The timeline of a build; see the protocol. Probes play no part in it: the figures are the chip's table."""
        from .estimate import estimate

        return estimate(spec, build)

    def probes(self) -> Sequence[Probe]:
        """What the compiler tells of the chip; see the protocol."""
        from .probes import measure_probes

        return measure_probes(self)

    def parts_of(self, concern: Concern) -> Sequence[str]:
        """Names of the toolchain's parts that a fact of this kind rests on."""
        return _PARTS[concern]

    def open(self, spec: KernelSpec, seed: int) -> AbstractContextManager[Bench]:
        """Draw weights for a kernel; see the protocol."""
        from .bench import TpuBench

        return TpuBench(spec, seed, self.shop, self.shop.device() if self.has_device else None)
