"""The bench of a visa kernel: values on the CPU, the floor by arithmetic, pairs on an Arena account where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ....kernels.spec import KernelSpec
from ...outcome import Outcome
from ...target import Build, CheckReport, Pairs, Probe, Session, TargetError
from .arena.session import Access, ArenaSession, Arms
from .commands import PROFILE_LEVEL
from .floor import floor_probe
from .identity import Identity, proved
from .program import Program, ProgramError, program, source_of
from .tools import Tools
from .values import values


class FailedSession:
    """A comparison that cannot be begun, because the program of one arm does not build: every reading says so."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def read(self, orders: object, calls: int, pairs_per_process: int = 1) -> Pairs:  # noqa: ARG002  nothing is read
        """No pair, and why."""
        return self._pairs


class VisaBench:
    """See :class:`kernelwright.hardware.target.Bench`. ``access`` is None without an Arena account."""

    def __init__(self, tools: Tools, spec: KernelSpec, access: Access | None) -> None:
        self._tools, self._spec, self._access = tools, spec, access

    def verify(self, build: Build, seed: int) -> CheckReport:  # noqa: ARG002  the inputs are the project's fixtures
        """Run the project's test program on the CPU, whose inputs and references are its own, not drawn from ``seed``."""
        return values(self._tools, self._spec, source_of(build))

    def floor_seconds(self) -> Probe:
        """By arithmetic from the streaming speed that practitioners state."""
        return floor_probe(self._spec)

    @contextmanager
    def pair(self, best: Build, candidate: Build, seed: int) -> Iterator[Session]:
        """Build both test programs. Raises TargetError without an account, or for artifacts that a cache has mixed up."""
        if self._access is None:
            raise TargetError(
                'visa kernels are read on an Arena account: set [targets.rngd-visa] arena = "auto" and log in'
            )
        self._prove(best, candidate)
        made: dict[str, Program] = {}
        for side, build in (("best", best), ("candidate", candidate)):
            try:
                made[side] = program(self._tools, self._spec, build)
            except ProgramError as error:
                blamed = "best" if side == "best" else "candidate"
                yield FailedSession(Pairs((), Outcome.BUILD_FAILED, f"{side}: {error}", 0.0, blamed))  # type: ignore[arg-type]  # one of the two sides
                return
        yield ArenaSession(self._access, self._arms(made["best"], made["candidate"]), seed)

    def _arms(self, best: Program, candidate: Program) -> Arms:
        project = self._tools.project
        variables = [(self._tools.profile_variable, PROFILE_LEVEL)]
        if self._tools.kernel_variable:
            variables.append((self._tools.kernel_variable, self._spec.name))
        fixtures = tuple(project.folder / name for name in project.fixtures)
        return Arms(self._spec.name, best, candidate, fixtures, tuple(variables))

    def _prove(self, best: Build, candidate: Build) -> None:
        """A and B must be two kernels, or one on purpose (a reading of a design against itself)."""
        if best.artifact != candidate.artifact or best.path == candidate.path:
            return
        found = proved(self._tools, self._spec, (source_of(best), best), (source_of(candidate), candidate))
        if found is Identity.STALE:
            raise TargetError(
                "two designs have one artifact, and a fresh build gives another: the build cache is stale;"
                f" remove {self._tools.cache / 'visa'} and run again"
            )
