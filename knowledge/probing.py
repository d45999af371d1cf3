"""What a probe's reading rests on, and whether it is to be believed. Pure functions of what the target measured.

A target says more about a probe in its conditions: ``rests_on`` (a concern: ``chip``, ``runtime``, ``code``),
``footprint_bytes`` and ``threads`` of a bandwidth, ``ceiling`` (the most that the unit can do, in the probe's unit),
``work_shown`` (``no`` when neither the disassembly nor the value shows the work that was timed).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, sqrt

from ..hardware.concerns import CONCERNS, Concern
from ..hardware.target import Probe

WIDEST_SPREAD = 0.5
"""Half the interquartile range over the value above which a reading says nothing."""
CEILING_MARGIN = 1.1
"""How far over the ceiling a reading may be: clocks are not known to the last percent."""
MONOTONE_MARGIN = 1.25
"""How much faster a larger footprint may read than a smaller one: neighbours on the host come and go."""
_CHIP = ("bandwidth", "stream", "throughput", "latency", "prefetch")


def rests_on(probe: Probe) -> Concern:
    """Which parts of the toolchain a reading rests on: as the target says, or by what the probe is called.

    A reading of the chip itself does not depend on the compiler, whose code is only the messenger.
    """
    said = probe.conditions.get("rests_on", "")
    for concern in CONCERNS:
        if said == concern:
            return concern
    return "chip" if probe.name.split(".")[0].startswith(_CHIP) else "code"


def doubt(probe: Probe, all_probes: Sequence[Probe]) -> str:
    """Why a reading is not to be believed; empty when nothing speaks against it."""
    if not isfinite(probe.value) or probe.value <= 0:
        return f"{probe.value:g} {probe.unit} is no reading"
    if probe.conditions.get("work_shown") == "no":
        return "the optimizer removed the work: it shows neither in the disassembly nor in the value"
    if probe.spread > WIDEST_SPREAD * probe.value:
        return f"its spread, {probe.spread:.3g} {probe.unit}, is more than {WIDEST_SPREAD:.0%} of it"
    ceiling = _number(probe, "ceiling")
    if ceiling is not None and probe.value > ceiling * CEILING_MARGIN:
        return f"it is above what the chip can do, {ceiling:.4g} {probe.unit}"
    smaller = _fastest_larger(probe, all_probes)
    if smaller is not None:
        name, value = smaller
        return f"{name}, with a larger footprint, reads {value:.4g} {probe.unit}: more than this"
    return ""


def _fastest_larger(probe: Probe, all_probes: Sequence[Probe]) -> tuple[str, float] | None:
    """A bandwidth of a larger footprint and as many threads that is plainly higher, which no memory hierarchy allows."""
    footprint = _number(probe, "footprint_bytes")
    if footprint is None:
        return None
    worst: tuple[str, float] | None = None
    for other in all_probes:
        same = other.unit == probe.unit and other.conditions.get("threads") == probe.conditions.get("threads")
        larger = (_number(other, "footprint_bytes") or -inf) > footprint
        if (
            same
            and larger
            and other.value > probe.value * MONOTONE_MARGIN
            and (worst is None or other.value > worst[1])
        ):
            worst = other.name, other.value
    return worst


def _number(probe: Probe, condition: str) -> float | None:
    text = probe.conditions.get(condition)
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def interval(value: float, spread: float, repeats: int) -> tuple[float, float]:
    """About a 95 % interval of the median of ``repeats`` readings, from half their interquartile range.

    The notch of McGill, Tukey and Larsen, "Variations of Box Plots", The American Statistician 32 (1978):
    1.57 times the interquartile range over the square root of the number of readings.
    """
    half = 1.57 * 2 * spread / sqrt(max(repeats, 1))
    return value - half, value + half


def moved(before: tuple[float, float, int], after: tuple[float, float, int]) -> bool:
    """Whether two readings (value, spread, repeats) differ by more than their intervals allow."""
    low, high = interval(*before)
    low_after, high_after = interval(*after)
    return high < low_after or high_after < low
