"""The tcl toolchain as a target: TCL designs for RNGD, compiled and estimated here; values where PyTorch's side is there."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ....kernels.spec import KernelSpec
from ...concerns import Concern
from ...environments import Recipe, ToolchainOption
from ...study import Document, Estimate, SnippetHost
from ...target import Bench, Build, CheckReport, Probe, TargetError, Toolchain
from . import contract as contracts
from . import snippets, tool
from .review import review
from .template import filled

if TYPE_CHECKING:
    from ...sandbox import Jail, SandboxReport
    from ...sandbox.jail import Wanted
    from .build import Compilation
    from .tool import Tool
    from .values import Evaluation

_COMPILE = ("npu", "tcc", "tcc_digest")
_PARTS: Mapping[Concern, tuple[str, ...]] = {
    "compile": _COMPILE,
    "value": tuple(sorted(("npu", "values"))),
    "chip": tuple(sorted((*_COMPILE, "estimates", "device"))),
    "runtime": tuple(sorted((*_COMPILE, "estimates", "device"))),
    "code": tuple(sorted((*_COMPILE, "estimates", "device"))),
}


class TclTarget:
    """RNGD through ``furiosa-tcc``. Cheap to make: toolchain, sandbox and cache are looked for when they are needed.

    ``toolchain`` names an installed one (None: the best there is); ``pes`` is how many processing elements a design is
    compiled for. ``sandbox`` is ``auto`` (full, or an error that says how to allow less), ``full`` or ``reduced``.
    ``binary`` says which designs are compiled to the chip's binary as well, which takes from seconds to many minutes: those
    that would be the ``best`` (for at most ``binary_seconds`` each), ``always`` (as a part of every build), ``never``.
    ``values_seconds`` is how long the cases of one verification may take together.
    """

    name = tool.TARGET
    has_device = False

    def __init__(
        self,
        *,
        toolchain: str | None = None,
        pes: int = 8,
        sandbox: Wanted = "auto",
        binary: Literal["never", "best", "always"] = "never",
        binary_seconds: float = 180.0,
        cache: Path | None = None,
        values_seconds: float = 60.0,
        evaluate_seconds: float = 60.0,
    ) -> None:
        if sandbox not in ("auto", "full", "reduced"):
            raise TargetError(f"sandbox is auto, full or reduced, not {sandbox!r}")
        if pes not in tool.PES:
            raise TargetError(f"pes is {', '.join(map(str, tool.PES))}, not {pes!r}")
        self._toolchain, self._pes, self._sandbox, self._cache = toolchain, pes, sandbox, cache
        if binary not in ("never", "best", "always"):
            raise TargetError(f"binary is never, best or always, not {binary!r}")
        self._binary, self._binary_seconds = binary, float(binary_seconds)
        self._values_seconds, self._evaluate_seconds = float(values_seconds), float(evaluate_seconds)

    @functools.cached_property
    def tool(self) -> Tool:
        """The vendor's programs in use. Raises TargetError when there are none."""
        return tool.find_tool(self._toolchain)

    @functools.cached_property
    def cache(self) -> Path:
        """The folder of builds and helper programs."""
        from ...cpu.helpers import cache_folder

        return cache_folder(self._cache)

    @functools.cached_property
    def jail(self) -> Jail:
        """The sandbox. Raises TargetError when the wanted level is not to be had."""
        from ...cpu.helpers import compile_helpers
        from ...cpu.toolchain import find_compiler
        from ...sandbox import Jail

        # The sandbox's launcher is a C program of this package; the compiler for it is the host's.
        return Jail(compile_helpers(find_compiler(None), self.cache).launcher, self._sandbox)

    @property
    def sandbox(self) -> SandboxReport:
        """The level of the sandbox in use, for callers to show."""
        return self.jail.report

    @property
    def compilation(self) -> Compilation:
        """What builds are made with."""
        from .build import Compilation

        always = self._binary == "always"
        limits = (self._evaluate_seconds, self._binary_seconds)
        return Compilation(self.tool, self.jail, self.cache, self._pes, always, *limits)

    @property
    def evaluation(self) -> Evaluation | None:
        """How values are had; None where the toolchain has no environment for it."""
        from .values import Evaluation

        if self.tool.python is None:
            return None
        return Evaluation(self.tool, self.jail, self._values_seconds)

    def toolchain(self) -> Toolchain:
        """What is installed now; see the protocol."""
        return Toolchain({**tool.facts_of(self.tool), "npu": f"renegade-{self._pes}pe", "device": "none"})

    def macros(self) -> Mapping[str, str]:
        """What a design's writer can go by: the release, and whether it estimates."""
        return {
            "TCC_RELEASE": tool.release_of(self.tool.version),
            "TCC_ESTIMATES": "1" if self.tool.estimates else "0",
            "PES": str(self._pes),
        }

    def contract(self, spec: KernelSpec) -> str:
        """The contract of a source; see the protocol."""
        return contracts.contract(spec)

    def baseline(self, spec: KernelSpec) -> str:
        """The source to start from; see the protocol."""
        try:
            return filled(spec.baselines[self.name], spec.dimensions)
        except KeyError:
            raise TargetError(f"kernel {spec.name} has no baseline for the target {self.name}") from None

    def review(self, spec: KernelSpec, source: str) -> CheckReport:
        """Screen a source by the contract; see the protocol."""
        return review(spec, source)

    def build(self, spec: KernelSpec, source: str) -> Build:
        """Compile and evaluate a source in the sandbox; see the protocol."""
        from .build import build

        return build(self.compilation, spec, source)

    def estimate(self, spec: KernelSpec, build: Build, probes: Mapping[str, float]) -> Estimate | None:
        """The prediction for a build, from its schedule; see the protocol."""
        from .estimate import estimate

        return estimate(spec, build, probes)

    def probes(self) -> Sequence[Probe]:
        """Ask the compiler's model of the chip; see the protocol."""
        from .probes import measure_probes

        return measure_probes(self.compilation)

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[Bench]:
        """A bench that verifies where it can; see the protocol. It takes no readings."""
        from .bench import TclBench

        contracts.check(spec)
        seconds = self._binary_seconds if self._binary == "best" else 0.0
        yield TclBench(spec, seed, self.evaluation, self.compilation, seconds)

    def parts_of(self, concern: Concern) -> Sequence[str]:
        """Names of the toolchain's parts that a fact of this kind rests on."""
        return _PARTS[concern]

    def documentation(self) -> Sequence[Document]:
        """The guide to TCL that ships with the package."""
        guide = resources.files("kernelwright.hardware.rngd").joinpath("docs", "tcl-guide.md")
        return [Document("rngd/tcl-guide.md", guide.read_text(encoding="utf-8"))]

    def snippets(self) -> SnippetHost:
        """The kernel that snippets stand in for."""
        return SnippetHost(("tcl",), snippets.snippet_spec())

    def complete(self, snippet: str) -> tuple[str, ...]:
        """Whole sources that a snippet may be meant as."""
        return snippets.complete(snippet)

    def toolchain_stamp(self) -> str:
        """Size, time and place of the executable, and what is installed for values."""
        return self.tool.stamp

    def refresh(self) -> None:
        """Look for the toolchain again when it is next needed."""
        for name in ("tool", "jail"):
            self.__dict__.pop(name, None)

    def toolchain_options(self) -> tuple[ToolchainOption, ...]:
        """What can be chosen of a toolchain to install."""
        return tool.options()

    def recipe(self, options: Mapping[str, str]) -> Recipe:
        """How to install a toolchain; see :class:`kernelwright.hardware.environments.Installs`."""
        return tool.recipe(options)
