"""Figures of the RNGD chip, each with where it is stated. What is measured later replaces them as probes."""

from __future__ import annotations

from dataclasses import dataclass

BOOK = "furiosa-ai/furiosa-opt, docs/src (the book Programming Tensor Contraction Processors)"
NOTES = "public notes of participants of the 2026 RNGD kernel contest (SDK 0.8.1, September 2026)"

DEVICE_HZ = 2.0e9
"""Cycles a second of what a profiled launch reports. Source: NOTES, which give the vendor's forum, thread 469; the static
schedule counts a clock of 1.0e9 (``visa.schedule.SCHEDULE_HZ``)."""
HBM_BYTES_PER_SECOND = 1.5e12
"""Peak of the memory, 32 channels of 48 GB/s. Source: BOOK, moving-tensors/memory-performance.md."""
STREAM_BYTES_PER_CYCLE = (590.0, 620.0, 650.0)
"""What streaming weights reached on the chip, in bytes a device cycle: lowest, middle and highest of what was reported.
Source: NOTES (600 to 633 over whole kernels in traces, 590 to 650 over teams). The datasheet's peak would be 750 at
2.0 GHz, and 1,500 a cycle of the static schedule's 1.0 GHz."""


@dataclass(frozen=True)
class Stated:
    """A figure with its unit and source; ``tried`` says whether this project has measured it."""

    name: str
    value: float
    unit: str
    source: str
    tried: bool = False


FACTS: tuple[Stated, ...] = (
    Stated("clusters", 2, "a chip", f"{BOOK}, quick-start/kernel-design.md"),
    Stated("slices", 256, "a cluster", f"{BOOK}, quick-start/kernel-design.md"),
    Stated("data memory", 512 * 1024, "bytes a slice", f"{BOOK}, moving-tensors/memory-performance.md"),
    Stated("HBM", 48e9, "bytes a chip", f"{BOOK}, moving-tensors/memory-performance.md"),
    Stated("HBM peak", HBM_BYTES_PER_SECOND, "bytes/s", f"{BOOK}, moving-tensors/memory-performance.md"),
    Stated("DMA engines", 8, "a chip", f"{BOOK}, moving-tensors/dma-engine.md"),
    Stated("DMA engine peak", 256, "bytes/cycle", f"{BOOK}, moving-tensors/dma-engine.md"),
    Stated("DMA start", 500, "cycles a command", f"{BOOK}, moving-tensors/dma-engine.md"),
    Stated("HBM unit", 256, "bytes", f"{BOOK}, moving-tensors/memory-performance.md"),
    Stated("streaming reached", STREAM_BYTES_PER_CYCLE[1], "bytes/device cycle", NOTES),
)
