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
CHIPS: Mapping[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip("v4", "v4:2x2x1", "TPU v4", 2, 1, 1200e9, 32 * _GB, 16 * _MIB, 4, 128, 137.5e12, 1, 512, 1, _DOCS + "v4"),
        Chip(
            "v5e", "v5e:2x2", "TPU v5 lite", 1, 1, 819e9, 16 * _GB, 128 * _MIB, 4, 128, 197e12, 1, 32, 4, _DOCS + "v5e"
        ),
        Chip(
            "v5p", "v5p:2x2x1", "TPU v5", 2, 2, 2765e9, 95 * _GB, 64 * _MIB, 4, 128, 229.5e12, 1, 32, 4, _DOCS + "v5p"
        ),
        Chip(
            "v6e", "v6e:2x2", "TPU v6 lite", 1, 1, 1640e9, 32 * _GB, 128 * _MIB, 2, 256, 918e12, 2, 32, 4, _DOCS + "v6e"
        ),
        Chip(
            "tpu7x",
            "tpu7x:2x2x1",
            "TPU7x",
            2,
            1,
            7380e9,
            192 * _GB,
            64 * _MIB,
            2,
            256,
            1153.5e12,
            2,
            32,
            6,
            _DOCS + "tpu7x",
        ),
    )
}
"""Every chip, by the name that a user gives."""


def find_chip(name: str) -> Chip:
    """The chip called ``name``. Raises TargetError with the list, and the nearest name."""
    try:
        return CHIPS[name]
    except KeyError:
        near = difflib.get_close_matches(name.lower(), CHIPS, n=1, cutoff=0.5)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise TargetError(f"unknown chip {name!r}{meant} Known: {', '.join(CHIPS)}") from None
