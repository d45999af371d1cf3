"""A kernel on the target's bench: weights drawn, expected values known. Without a chip it verifies and no more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from ...kernels.spec import KernelSpec
from ..target import Build, CheckReport, Probe, Session, TargetError
from .device import Side, TpuSession
from .verify import Spool, Verifier
from .workers import Server
from .workshop import Workshop


def floor(spec: KernelSpec, shop: Workshop) -> Probe:
    """The floor by arithmetic: bytes of weights over the published bandwidth of what jax shows as one device."""
    chip = shop.chip
    rate = chip.core_bytes_per_second * chip.device_cores
    return Probe(
        name=f"floor_{spec.name}",
        question=f"how long does it take to read the weights of {spec.name} once?",
        value=spec.streamed_bytes / rate,
        unit="s",
        spread=0.0,
        repeats=1,
        conditions={
            "by": "arithmetic, not measured",
            "bytes": str(spec.streamed_bytes),
            "bytes_per_second": f"{rate:.4g}",
            "chip": chip.name,
            "source": chip.source,
        },
    )


class TpuBench:
    """A bench. ``seed`` draws the weights, and is one that no candidate can know; ``device`` is there where a TPU is."""

    def __init__(self, spec: KernelSpec, seed: int, shop: Workshop, device: Server | None = None) -> None:
        self.spec, self._shop, self._device = spec, shop, device
        self._weights = spec.draw_weights(np.random.default_rng(np.random.SeedSequence([seed, 0])))
        self._verifier = Verifier(shop, spec, self._weights)

    def verify(self, build: Build, seed: int) -> CheckReport:
        """Interpret the design on fresh inputs of every family; see the protocol."""
        if not build.ok:
            return CheckReport(build.outcome, build.diagnostics, 0.0)
        return self._verifier.run(build, seed)

    def look(self, build: Build, seed: int) -> CheckReport:
        """Interpret the design on the ordinary family, watched for races and once more for equal bits, and on one other
        family that ``seed`` chooses; see :class:`..target.QuickLook`. All of it takes minutes for a large kernel.
        """
        if not build.ok:
            return CheckReport(build.outcome, build.diagnostics, 0.0)
        return self._verifier.run(build, seed, quick=True)

    def floor_seconds(self) -> Probe:
        """The floor by arithmetic; its conditions say so."""
        return floor(self.spec, self._shop)

    @contextlib.contextmanager
    def pair(self, best: Build, candidate: Build, seed: int) -> Iterator[Session]:
        """Both designs on the device. Raises TargetError where there is none."""
        if self._device is None:
            raise TargetError(
                f"no TPU on this machine: {self.spec.name} can be compiled for {self._shop.chip.name}, estimated and"
                " interpreted, not timed"
            )
        spool = Spool(self._shop.spool, self._shop.inside)
        builds: dict[Side, Build] = {"best": best, "candidate": candidate}
        try:
            yield TpuSession(self._device, self.spec, self._weights, self._verifier.reference, builds, seed, spool)
        finally:
            self._device.stop()
            spool.clear()

    def __enter__(self) -> TpuBench:
        return self

    def __exit__(self, *_error: object) -> None:
        return None
