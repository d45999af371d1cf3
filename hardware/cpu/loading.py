"""Load designs: from a build to a worker that waits for calls."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ...kernels.spec import KernelSpec
from ..sandbox import Jail
from ..target import Build
from .layout import Slot, plan_bytes
from .placed import Buffers, Weights
from .workers import LoadError, Worker, worker_environment


@dataclass(frozen=True)
class Loader:
    """What loading needs: the sandbox, the worker program, the kernel, its weights, and the number of threads."""

    jail: Jail
    program: bytes
    spec: KernelSpec
    weights: Weights
    threads: int

    def design(self, build: Build) -> bytes:
        """The artifact's bytes, proven to be what was built. Raises LoadError."""
        if build.path is None or build.artifact is None:
            raise LoadError(f"there is no artifact: {build.outcome}")
        try:
            content = build.path.read_bytes()
        except OSError as error:
            raise LoadError(f"the artifact is gone: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != build.artifact:
            raise LoadError("the artifact on disk is not the one that was built")
        return content

    def plan(self, buffers: Buffers, slots: Sequence[Slot]) -> bytes:
        """The plan for a worker on these buffers."""
        return plan_bytes(self.spec, [buffers.region, self.weights.region], self.weights.places, list(slots))

    def load(self, design: bytes, buffers: Buffers) -> Worker:
        """A worker on ``buffers`` that is ready for calls. Raises LoadError."""
        worker = self.start(design, buffers)
        worker.ready()
        return worker

    def start(self, design: bytes, buffers: Buffers) -> Worker:
        """A worker on ``buffers`` that is still loading."""
        return Worker(
            self.jail,
            self.program,
            design,
            self.spec.name,
            self.plan(buffers, buffers.slots),
            [buffers.region, self.weights.region],
            worker_environment(self.threads),
        )
