"""The chips that can be compiled for, in one table: names of the compiler, and public figures with their sources.

Bandwidth, memory and arithmetic: the system architecture pages of Google Cloud's TPU documentation
(https://cloud.google.com/tpu/docs/v4, v5e, v5p, v6e, tpu7x), and the table of the jax library
(``jax/_src/pallas/mosaic/tpu_info.py``, version 0.10.2), which also has sizes of VMEM and counts of units. They agree but
for rounding, and for v5p's bandwidth (2765 GB/s and 2460 GB/s: the documentation's is used).

Clocks are not all published. v4: 1050 MHz (N. Jouppi et al., "TPU v4: An Optically Reconfigurable Supercomputer", ISCA
2023, table 4). Otherwise the clock is what the published bf16 peak implies, given the published number and size of matrix
units: peak / (2 * units * size**2). For v6e and tpu7x that gives more than the arrays can plausibly be clocked at, so that
each of their units must finish two steps of its array in a cycle; the table says so in ``steps_per_cycle``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from ..target import TargetError


@dataclass(frozen=True)
class Chip:
    """One chip, as one TensorCore sees it: figures are for the core that a kernel runs on."""

    name: str
    topology: str
    """What jax describes to compile for it."""
    device_kind: str
    """What jax calls its devices."""
    cores: int
    """TensorCores of the chip."""
    device_cores: int
    """TensorCores of what jax shows as one device: a kernel runs on the first, and on the second where it says so."""
    hbm_bytes_per_second: float
    """Bandwidth of the chip's memory, all cores together."""
    hbm_bytes: int
    vmem_bytes: int
    mxu_count: int
    mxu_size: int
    peak_bf16_flops: float
    """Of one core."""
    steps_per_cycle: int
    """Steps of a matrix unit's array in one cycle of the clock."""
    granule_bytes: int
    """The unit that copies are counted in, in the compiler's dumps."""
    delay_slots: int
    """Bundles after a branch that run before it takes effect; seen in the compiler's dumps."""
    loop_slots: int
    """The same for a branch back to the beginning of a loop."""
    source: str

    @property
    def core_bytes_per_second(self) -> float:
        """A core's share of the bandwidth."""
        return self.hbm_bytes_per_second / self.cores

    @property
    def clock_hz(self) -> float:
        """Cycles of a core in one second; see the module."""
        per_cycle = 2 * self.mxu_count * self.mxu_size**2 * self.steps_per_cycle
        return 1.05e9 if self.name == "v4" else self.peak_bf16_flops / per_cycle


_MIB, _GB = 1 << 20, 10**9
_DOCS = "https://cloud.google.com/tpu/docs/"
_ALL = (
    Chip(
        name="v4",
        topology="v4:2x2x1",
        device_kind="TPU v4",
        cores=2,
        device_cores=1,
        hbm_bytes_per_second=1200e9,
        hbm_bytes=32 * _GB,
        vmem_bytes=16 * _MIB,
        mxu_count=4,
        mxu_size=128,
        peak_bf16_flops=137.5e12,
        steps_per_cycle=1,
        granule_bytes=512,
        delay_slots=1,
        loop_slots=1,
        source=_DOCS + "v4",
    ),
    Chip(
        name="v5e",
        topology="v5e:2x2",
        device_kind="TPU v5 lite",
        cores=1,
        device_cores=1,
        hbm_bytes_per_second=819e9,
        hbm_bytes=16 * _GB,
        vmem_bytes=128 * _MIB,
        mxu_count=4,
        mxu_size=128,
        peak_bf16_flops=197e12,
        steps_per_cycle=1,
        granule_bytes=32,
        delay_slots=4,
        loop_slots=4,
        source=_DOCS + "v5e",
    ),
    Chip(
        name="v5p",
        topology="v5p:2x2x1",
        device_kind="TPU v5",
        cores=2,
        device_cores=2,
        hbm_bytes_per_second=2765e9,
        hbm_bytes=95 * _GB,
        vmem_bytes=64 * _MIB,
        mxu_count=4,
        mxu_size=128,
        peak_bf16_flops=229.5e12,
        steps_per_cycle=1,
        granule_bytes=32,
        delay_slots=4,
        loop_slots=4,
        source=_DOCS + "v5p",
    ),
    Chip(
        name="v6e",
        topology="v6e:2x2",
        device_kind="TPU v6 lite",
        cores=1,
        device_cores=1,
        hbm_bytes_per_second=1640e9,
        hbm_bytes=32 * _GB,
        vmem_bytes=128 * _MIB,
        mxu_count=2,
        mxu_size=256,
        peak_bf16_flops=918e12,
        steps_per_cycle=2,
        granule_bytes=32,
        delay_slots=4,
        loop_slots=4,
        source=_DOCS + "v6e",
    ),
    Chip(
        name="tpu7x",
        topology="tpu7x:2x2x1",
        device_kind="TPU7x",
        cores=2,
        device_cores=1,
        hbm_bytes_per_second=7380e9,
        hbm_bytes=192 * _GB,
        vmem_bytes=64 * _MIB,
        mxu_count=2,
        mxu_size=256,
        peak_bf16_flops=1153.5e12,
        steps_per_cycle=2,
        granule_bytes=32,
        delay_slots=4,
        loop_slots=6,
        source=_DOCS + "tpu7x",
    ),
)
CHIPS: Mapping[str, Chip] = {chip.name: chip for chip in _ALL}
"""Every chip, by the name that a user gives."""


def find_chip(name: str) -> Chip:
    """The chip called ``name``. Raises TargetError with the list, and the nearest name."""
    try:
        return CHIPS[name]
    except KeyError:
        near = difflib.get_close_matches(name.lower(), CHIPS, n=1, cutoff=0.5)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise TargetError(f"unknown chip {name!r}{meant} Known: {', '.join(CHIPS)}") from None
