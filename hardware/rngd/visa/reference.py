"""Official and public results of the three kernels, to compare readings of this toolchain with (and only those).

They were read on the contest's device, under its fixtures; a static estimate is another number, and is not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, fsum, log

from ..chip import DEVICE_HZ, NOTES


@dataclass(frozen=True)
class Reference:
    """What is known of one kernel: cycles of the official baseline and of the best public result, bytes to move."""

    kernel: str
    baseline_cycles: int
    public_best_cycles: int
    weight_bytes: int
    """Weights and scales of one call."""

    @property
    def public_speedup(self) -> float:
        """How many times faster than the baseline the best public result is."""
        return self.baseline_cycles / self.public_best_cycles


BASELINE_SOURCE = "the contest's public leaderboard service, captured 2026-09-23 (baseline cycles of all versions)"
BEST_SOURCE = f"{NOTES}: first of the leaderboard on 2026-10-01, rounded to hundreds"
BYTES_SOURCE = f"{NOTES}: weights and scales that a call must read"
REFERENCES: tuple[Reference, ...] = (
    Reference("sliding_project_qkv", 250_514, 58_300, 31_473_664),
    Reference("sliding_attention_output", 404_633, 29_000, 15_736_320),
    Reference("decoder_feedforward", 3_703_473, 181_000, 99_532_800),
)
_BY_KERNEL = {each.kernel: each for each in REFERENCES}


def reference_of(kernel: str) -> Reference | None:
    """The reference of a kernel, None for one that the contest did not have."""
    return _BY_KERNEL.get(kernel)


def public_geomean() -> float:
    """Geometric mean of the public best's speedups."""
    return exp(fsum(log(each.public_speedup) for each in REFERENCES) / len(REFERENCES))


def compared(kernel: str, seconds: float) -> dict[str, float] | None:
    """A reading beside the references: its cycles, its speedup over the official baseline, and its ratio to the best.

    ``seconds`` is of one call, as readings of this toolchain are recorded. None for a kernel without a reference.
    """
    found = reference_of(kernel)
    if found is None:
        return None
    cycles = seconds * DEVICE_HZ
    return {
        "cycles": cycles,
        "official_baseline_cycles": float(found.baseline_cycles),
        "speedup_over_official_baseline": found.baseline_cycles / cycles,
        "public_best_cycles": float(found.public_best_cycles),
        "ratio_to_public_best": cycles / found.public_best_cycles,
    }
