"""Measurements of the chip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..target import Probe

if TYPE_CHECKING:
    from .target import CpuTarget


def measure_probes(target: CpuTarget) -> list[Probe]:
    """Measure the chip."""
    del target
    return []
