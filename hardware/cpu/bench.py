"""A kernel on this host's processor: weights in place, inputs drawn, the device leased while readings are taken."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...kernels.spec import KernelSpec
from ..lease import Holder, lease, shared
from ..sandbox import Jail
from ..target import Build, CheckReport, Pairs, Probe, Session
from .floor import measure_floor
from .helpers import Helpers
from .loading import Loader
from .machine import Machine
from .placed import Buffers, copies_needed, draw_pool, lay_weights, pool_size, raw, reading_slots, verify_slots
from .session import CpuSession, SessionError, make_arm
from .toolchain import Compiler
from .verify import Verifier
from .workers import Conductor


@dataclass(frozen=True)
class BenchSettings:
    """How a bench is set up. ``call_seconds`` is the longest that one call may take."""

    max_calls: int = 16
    pool: int = 48
    call_seconds: float = 5.0
    max_copies: int = 0
    """0: as many copies as the last-level cache asks for."""


class _Failed:
    """A session that could not begin: one of the designs does not load."""

    def __init__(self, failure: SessionError) -> None:
        self._failure = failure

    def read(self, orders: Sequence[Literal["BC", "CB"]], calls: int, pairs_per_process: int = 1) -> Pairs:
        """No pairs, and the outcome."""
        del orders, calls, pairs_per_process
        failure = self._failure
        return Pairs((), failure.outcome, f"{failure.side}: {failure.reason}", 0.0, failure.side)


class CpuBench:
    """See :class:`kernelwright.hardware.target.Bench`. Close it, or use it as a context."""

    def __init__(
        self,
        spec: KernelSpec,
        seed: int,
        *,
        compiler: Compiler,
        helpers: Helpers,
        jail: Jail,
        machine: Machine,
        threads: int,
        device: str,
        holder: str,
        on_wait: Callable[[Holder | None], None] | None = None,
        settings: BenchSettings | None = None,
    ) -> None:
        self._settings = settings or BenchSettings()
        self._device, self._holder, self._on_wait = device, holder, on_wait
        self._machine, self._compiler, self._helpers, self._jail = machine, compiler, helpers, jail
        self.spec = spec
        self._stack = contextlib.ExitStack()
        weights_seed, pool_seed, place_seed, relations_seed = np.random.SeedSequence(seed).spawn(4)
        copies = self._settings.max_copies or copies_needed(spec, machine)
        with self._stack, shared(device):
            weights = lay_weights(spec, copies, weights_seed, relations_seed)
            self._stack.callback(weights.region.close)
            self._pool = draw_pool(spec, weights, pool_size(spec, copies, self._settings.pool), pool_seed)
            self.loader = Loader(jail, helpers.worker.read_bytes(), spec, weights, threads)
            self._conductor = Conductor(helpers.conductor)
            self._stack.callback(self._conductor.close)
            self._arms = [Buffers(spec, *reading_slots(spec, copies, self._settings.max_calls)) for _ in range(2)]
            for buffers in self._arms:
                self._stack.callback(buffers.close)
                self._restore(buffers)
            checking = Buffers(spec, *verify_slots(spec, copies, place_seed, len(weights.changes)))
            self._stack.callback(checking.close)
            self._verifier = Verifier(self.loader, self._conductor, checking, self._settings.call_seconds)
            self._stack = self._stack.pop_all()

    def _restore(self, buffers: Buffers) -> None:
        """Put the state of its copy into every slot, and the canaries beside the arguments."""
        for own in buffers.slots:
            for name, values in self._pool.state[own.copy].items():
                buffers.region.view(own.own[name])[:] = raw(values)
        buffers.clean_slack()

    @property
    def copies(self) -> int:
        """How many copies of the weights rotate."""
        return self.loader.weights.copies

    def verify(self, build: Build, seed: int) -> CheckReport:
        """Run the design on fresh inputs of every family, at several placements, twice each; see the protocol."""
        if not build.ok:
            return CheckReport(build.outcome, build.diagnostics, 0.0)
        with shared(self._device):
            return self._verifier.run(build, seed, 2)

    def floor_seconds(self) -> Probe:
        """Time (seconds) to read the streamed arguments once with the bench's threads; the best of several patterns."""
        with self._hold():
            return measure_floor(self.loader, self._conductor, self._arms[0], self._compiler, 3)

    def _hold(self) -> contextlib.AbstractContextManager[object]:
        return lease(self._device, self._holder, on_wait=self._on_wait)

    @contextlib.contextmanager
    def pair(self, best: Build, candidate: Build, seed: int) -> Iterator[Session]:
        """Load two designs in processes of their own; see the protocol. A design that does not load shows when read."""
        try:
            arms = (
                make_arm("best", 0, self.loader, best, self._arms[0]),
                make_arm("candidate", 1, self.loader, candidate, self._arms[1]),
            )
        except SessionError as failure:
            yield _Failed(failure)
            return
        session = CpuSession(
            self.loader, self._conductor, self._pool, arms, seed, self._settings.call_seconds, self._hold
        )
        try:
            yield session
        finally:
            session.close(self._restore)

    def close(self) -> None:
        """End every process and give the memory back."""
        self._stack.close()

    def __enter__(self) -> CpuBench:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
