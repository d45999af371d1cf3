"""The floor of a kernel: the time to move its weights, at the rate that the compiler's schedule moves them."""

from __future__ import annotations

from ....kernels.spec import KernelSpec
from ...target import Probe
from .build import Compilation
from .estimate import CLOCK_HZ
from .probes import stream_bytes_per_cycle

DATASHEET_BYTES_PER_SECOND = 1.5e12
"""Peak of the chip's memory (furiosa-opt's book, moving-tensors/memory-performance.md)."""
REACHED_BYTES_PER_SECOND = "1.18e12 to 1.30e12"
"""What practitioners reached on the chip: 590 to 650 bytes a cycle of its 2.0 GHz clock (see :mod:`..chip`)."""


def floor_probe(spec: KernelSpec, tools: Compilation) -> Probe:
    """Time (seconds) to stream the kernel's weights, by arithmetic; conditions say from what."""
    conditions = {"npu": tools.npu, "reached on the chip (public notes)": f"{REACHED_BYTES_PER_SECOND} bytes/s"}
    if tools.tool.estimates:
        rate = stream_bytes_per_cycle(tools)
        conditions["rate"] = f"{rate:.0f} bytes a cycle of the compiler's schedule, at {CLOCK_HZ:g} Hz"
        seconds = spec.streamed_bytes / rate / CLOCK_HZ
    else:
        conditions["rate"] = f"{DATASHEET_BYTES_PER_SECOND:g} bytes/s, the datasheet's peak"
        seconds = spec.streamed_bytes / DATASHEET_BYTES_PER_SECOND
    question = f"time to stream {spec.streamed_bytes} bytes of weights and scales"
    return Probe(f"floor.{spec.name}", question, seconds, "s", 0.0, 1, conditions)
