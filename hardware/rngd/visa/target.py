"""The visa toolchain as a target: Rust designs for RNGD, compiled here, read on an Arena account where there is one."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from ....kernels.spec import KernelSpec
from ...concerns import Concern
from ...lease import Holder, Lease, lease
from ...stamps import stamps
from ...study import Document, Estimate
from ...target import Bench, Build, CheckReport, Probe, TargetError, Toolchain
from . import parts as fingerprint
from .arena.client import ArenaClient, find_client
from .arena.jobs import JOB_SECONDS, Patience
from .arena.session import PAIRS_PER_JOB, Access
from .contract import contract
from .floor import stream_probe
from .project import Project, find_project
from .review import review
from .tools import Tools, ask_versions, find_cargo, find_homes

if TYPE_CHECKING:
    from ...sandbox.jail import Wanted

NAME = "rngd-visa"
"""Name of the target, of its knowledge base, and of its lease on this host: what is learned of one language says nothing of
the other."""


class VisaTarget:
    """RNGD through ``furiosa-opt``. Cheap to make: tools, project and account are looked for when they are needed.

    ``project`` is a Cargo project with device functions (the contest's skeleton); ``module``, ``bench``, ``fixtures``
    (separated by commas) and ``kernel_variable`` say what is what in it. ``cargo`` is a command, or None to look for one.
    ``arena`` is empty (no readings: designs end as ``held``), ``auto`` (the client on the search path) or a command.
    ``pairs_per_job`` and ``job_seconds`` shape a job, ``wait_minutes`` is how long one may take from the queue to its log.
    """

    name = NAME

    def __init__(
        self,
        *,
        project: str | None = None,
        module: str = "ops",
        bench: str = "test_kernels",
        fixtures: str = "",
        kernel_variable: str = "",
        cargo: str | None = None,
        arena: str = "",
        pairs_per_job: int = PAIRS_PER_JOB,
        job_seconds: int = JOB_SECONDS,
        wait_minutes: float = 60.0,
        sandbox: Wanted = "auto",
        cache: Path | None = None,
        holder: str = "kernelwright",
        on_wait: Callable[[Holder | None], None] | None = None,
        patience: Patience | None = None,
    ) -> None:
        if sandbox not in ("auto", "full", "reduced"):
            raise TargetError(f"sandbox is auto, full or reduced, not {sandbox!r}")
        if int(pairs_per_job) < 1 or int(job_seconds) < 1 or float(wait_minutes) <= 0:
            raise TargetError("pairs_per_job, job_seconds and wait_minutes are numbers above 0")
        for option, given, plain in (
            ("module", module, r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*"),
            ("bench", bench, r"[A-Za-z_][\w-]*"),
            ("kernel_variable", kernel_variable, r"([A-Za-z_]\w*)?"),
        ):
            if not re.fullmatch(plain, given, re.ASCII):
                raise TargetError(f"{option} = {given!r} is not a plain name")
        self.has_device = bool(arena)
        """Whether readings are asked for."""
        self._folder, self._module, self._bench = project, module, bench
        self._fixtures = tuple(each.strip() for each in fixtures.split(",") if each.strip())
        self._kernel_variable, self._cargo, self._arena = kernel_variable, cargo, arena
        self._pairs_per_job, self._job_seconds = int(pairs_per_job), int(job_seconds)
        self._patience = patience or Patience(wait_seconds=60 * float(wait_minutes))
        self._sandbox, self._cache = sandbox, cache
        self._holder, self._on_wait = holder, on_wait

    @functools.cached_property
    def project(self) -> Project:
        """The project. Raises TargetError."""
        return find_project(self._folder, self._module, self._bench, self._fixtures)

    @functools.cached_property
    def client(self) -> ArenaClient | None:
        """The Arena's client, None where no readings are asked for. Raises TargetError when it is not installed."""
        if not self._arena:
            return None
        found = find_client(None if self._arena == "auto" else self._arena)
        if found is None:
            raise TargetError("no Arena client is installed: `cargo binstall furiosa-arena-cli`, then its `login`")
        return found

    @functools.cached_property
    def tools(self) -> Tools:
        """What builds are made with. Raises TargetError for what is missing, or cannot work together."""
        from ...cpu.helpers import cache_folder, compile_helpers
        from ...cpu.toolchain import find_compiler
        from ...sandbox import Jail

        cargo = find_cargo(self._cargo)
        homes = find_homes(cargo)
        cache = cache_folder(self._cache)
        # The sandbox's launcher is a C program of this package; the compiler for it is the host's.
        jail = Jail(compile_helpers(find_compiler(None), cache).launcher, self._sandbox)
        versions = ask_versions(cargo, homes, self.project)
        return Tools(cargo, homes, self.project, versions, jail, cache, self._kernel_variable)

    def toolchain(self) -> Toolchain:
        """What is installed now; see the protocol."""
        device = "none" if self.client is None else f"arena ({Path(self.client.command[0]).name})"
        return Toolchain(fingerprint.parts(self.tools.versions, self.project.digest, device))

    def parts_of(self, concern: Concern) -> Sequence[str]:
        """Names of the toolchain's parts that a fact of this kind rests on."""
        return fingerprint.PARTS[concern]

    def macros(self) -> Mapping[str, str]:
        """Nothing: Rust has no such macros."""
        return {}

    def contract(self, spec: KernelSpec) -> str:
        """The contract of a source; see the protocol."""
        return contract(spec, self.project)

    def baseline(self, spec: KernelSpec) -> str:  # noqa: ARG002  one set of sources serves every kernel of a project
        """The project's own device sources. Raises TargetError."""
        return self.project.baseline()

    def review(self, spec: KernelSpec, source: str) -> CheckReport:
        """Screen a source by the contract; see the protocol."""
        return review(spec, self._module, source)

    def build(self, spec: KernelSpec, source: str) -> Build:
        """Compile a source in the sandbox; see the protocol."""
        from .build import build

        return build(self.tools, spec, source)

    def estimate(self, spec: KernelSpec, build: Build, probes: Mapping[str, float]) -> Estimate | None:  # noqa: ARG002  the compiler has its own model
        """The makespan of the schedule that came with a build; see the protocol."""
        from .estimate import estimate

        return estimate(build)

    def probes(self) -> Sequence[Probe]:
        """What practitioners state of the chip, until there is a reading."""
        return [stream_probe()]

    def documentation(self) -> Sequence[Document]:
        """The chip's figures and the legality rules, with their sources."""
        return documents()

    def lease(self) -> AbstractContextManager[Lease]:
        """The right to hand in jobs from this host, waited for; the service's own queue comes behind it."""
        return lease(NAME, self._holder, on_wait=self._on_wait)

    def toolchain_stamp(self) -> str:
        """Size, time and place of cargo's files and of the project's; see the protocol."""
        cargo = find_cargo(self._cargo)
        parts = [os.environ.get("PATH", ""), self.project.stamp]
        return "\n".join([*parts, *stamps([*sorted(cargo.parent.glob("*furiosa*")), cargo, cargo.with_name("rustc")])])

    def refresh(self) -> None:
        """Look for tools, project and client again when they are next needed."""
        for name in ("project", "tools", "client"):
            self.__dict__.pop(name, None)

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[Bench]:  # noqa: ARG002  inputs are the project's fixtures
        """A bench of the kernel; see the protocol."""
        from .bench import VisaBench

        access = None
        if self.client is not None:
            access = Access(self.client, self._patience, self._pairs_per_job, self._job_seconds)
        yield VisaBench(self.tools, spec, access)


def documents() -> list[Document]:
    """The documents of this toolchain that ship with the package."""
    folder = resources.files(str(__package__).rpartition(".")[0]).joinpath("docs")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.startswith("visa-"))
    return [Document(f"rngd-visa/{name}", folder.joinpath(name).read_text(encoding="utf-8")) for name in names]
