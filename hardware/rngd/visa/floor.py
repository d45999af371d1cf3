"""The floor of a kernel: its weights at the speed at which streaming was seen to run, not at the datasheet's."""

from __future__ import annotations

from ....kernels.spec import KernelSpec
from ...target import Probe
from ..chip import DEVICE_HZ, HBM_BYTES_PER_SECOND, NOTES, STREAM_BYTES_PER_CYCLE

STREAM_PROBE = "visa.stream"
FLOOR_CYCLES = "floor_cycles"


def stream_probe() -> Probe:
    """Bytes a device cycle that streaming weights reached for practitioners; stated by them, not measured here."""
    low, middle, high = STREAM_BYTES_PER_CYCLE
    conditions = {
        "measured": "no: stated by practitioners",
        "source": NOTES,
        "range": f"{low:g} to {high:g}",
        "datasheet": f"{HBM_BYTES_PER_SECOND / DEVICE_HZ:g} bytes/cycle at {DEVICE_HZ / 1e9:g} GHz",
        "rests_on": "chip",
    }
    return Probe(
        STREAM_PROBE, "how fast do weights stream from HBM?", middle, "bytes/cycle", (high - low) / 2, 1, conditions
    )


def floor_cycles(streamed_bytes: int, bytes_per_cycle: float = STREAM_BYTES_PER_CYCLE[1]) -> float:
    """Device cycles to stream so many bytes."""
    return streamed_bytes / bytes_per_cycle


def floor_probe(spec: KernelSpec, bytes_per_cycle: float | None = None) -> Probe:
    """Seconds to stream a kernel's weights, by arithmetic; ``bytes_per_cycle`` is a measured one where there is one."""
    low, middle, high = STREAM_BYTES_PER_CYCLE
    used = bytes_per_cycle or middle
    seconds = floor_cycles(spec.streamed_bytes, used) / DEVICE_HZ
    spread = 0.0 if bytes_per_cycle else spec.streamed_bytes * (1 / low - 1 / high) / 2 / DEVICE_HZ
    conditions = {
        "by": "arithmetic",
        "bytes": str(spec.streamed_bytes),
        "bytes_per_cycle": f"{used:g}",
        "clock_hz": f"{DEVICE_HZ:g}",
        FLOOR_CYCLES: f"{floor_cycles(spec.streamed_bytes, used):.0f}",
        "source": "a probe of this knowledge base" if bytes_per_cycle else NOTES,
        "rests_on": "chip",
    }
    return Probe("floor", "how long do the weights take to stream?", seconds, "s", spread, 1, conditions)
