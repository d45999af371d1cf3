"""A/A calibration: how noisy a device is, what it can detect, and what one reading should be.

Identical designs are compared with themselves, at several numbers of calls per reading. Nothing about the noise is
assumed beyond symmetry: what the test detects is simulated by drawing again from the measured differences, processes
as wholes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .bets import EProcess, components
from .estimate import core_scale
from .policy import Policy
from .power import minimum_detectable_gain
from .sequential import groups
from .simulation import Floats, outcomes

MIN_PAIRS = 8
"""Fewest A/A pairs of one kind that say anything about a scale."""
_SEQUENCES = 600
"""Comparisons simulated for each kind of reading: a power of 80 % is known to 2 %."""


@dataclass(frozen=True)
class SameReadings:
    """A/A pairs taken in one way.

    ``calls``: consecutive calls in one reading. ``differences``: log ratio of each pair. ``device_seconds``: device
    time of all of them. ``summary``: how a reading sums up its calls. ``processes``: which process each pair came
    from, as :func:`~.sequential.decide` takes them, equally many from each; empty when each pair stands for itself.
    """

    calls: int
    differences: tuple[float, ...]
    device_seconds: float
    summary: str = "mean"
    processes: tuple[int, ...] = ()


@dataclass(frozen=True)
class ReadingChoice:
    """What one kind of reading costs and detects."""

    calls: int
    summary: str
    pairs: int
    scale: float
    """Scale of one pair's log ratio."""
    minimum_detectable_gain: float
    """Gain (fraction) detected with the policy's ``detect_power`` within its cap."""
    power: float
    """Probability of accepting the gain asked for."""
    device_seconds_per_pair: float
    device_seconds_to_detect: float
    """Mean device time of a comparison of a candidate that has the gain asked for."""


@dataclass(frozen=True)
class Calibration:
    """What a session may rely on. When ``refused``, no comparison should be taken; ``reason`` says why."""

    scale: float
    minimum_detectable_effect: float
    refused: bool
    reason: str
    calls_per_reading: int
    summary: str
    device_seconds_per_pair: float
    e_same: float
    """Largest two-sided e-value against "identical designs read alike"."""
    choices: tuple[ReadingChoice, ...]


def calibrate(
    policy: Policy, readings: Sequence[SameReadings], rng: np.random.Generator, *, effect: float | None = None
) -> Calibration:
    """Choose the kind of reading that detects ``effect`` (fraction; the policy's ``detect_gain``) at least device
    time.

    Where none detects it, the kind with the smallest minimum detectable gain is taken, and the reason says so.
    Refused: when the pairs of identical designs lean to one side (two-sided e-value at least ``policy.calibration_e``;
    a sound device is refused with probability at most its inverse), or when even the best kind's minimum detectable
    gain exceeds ``policy.max_detectable_gain``. Raises ValueError without readings, or with fewer than
    :data:`MIN_PAIRS` pairs of a kind, or with process labels that do not fit.
    """
    if not readings:
        raise ValueError("readings: expected one kind of reading or more")
    wanted = policy.detect_gain if effect is None else effect
    choices = tuple(_choice(policy, kind, wanted, rng) for kind in readings)
    able = [choice for choice in choices if choice.power >= policy.detect_power]
    if able:
        best = min(able, key=lambda choice: choice.device_seconds_to_detect)
        reason = f"detects a gain of {wanted:.3g} in {best.device_seconds_to_detect:.3g} device seconds on average"
    else:
        best = min(choices, key=lambda choice: (choice.minimum_detectable_gain, choice.device_seconds_per_pair))
        reason = f"a gain of {wanted:.3g} is below what {policy.pair_cap} pairs detect ({_gain(best)})"
    unlike = e_same(policy, readings)
    leans, blind = unlike >= policy.calibration_e, best.minimum_detectable_gain > policy.max_detectable_gain
    if leans:
        reason = f"identical designs read differently: e-value {unlike:.4g} of {policy.calibration_e:g}"
    elif blind:
        reason = f"too noisy: detects {_gain(best)} at best, the policy asks for {policy.max_detectable_gain:.3g}"
    return Calibration(
        scale=best.scale,
        minimum_detectable_effect=best.minimum_detectable_gain,
        refused=leans or blind,
        reason=reason,
        calls_per_reading=best.calls,
        summary=best.summary,
        device_seconds_per_pair=best.device_seconds_per_pair,
        e_same=unlike,
        choices=choices,
    )


def _gain(choice: ReadingChoice) -> str:
    found = choice.minimum_detectable_gain
    return f"a gain of {found:.3g}" if math.isfinite(found) else "no gain below 100 %"


def _choice(policy: Policy, kind: SameReadings, effect: float, rng: np.random.Generator) -> ReadingChoice:
    count = len(kind.differences)
    if count < MIN_PAIRS or not all(math.isfinite(d) for d in kind.differences):
        raise ValueError(
            f"readings of {kind.calls} calls: expected at least {MIN_PAIRS} finite log ratios, got {count}"
        )
    scale = float(core_scale(kind.differences))
    values = np.asarray([[kind.differences[index] for index in group] for group in _groups(kind)])
    equal = _redrawn(values, policy.pair_cap, rng)
    size = values.shape[1]
    found = outcomes(policy, scale, equal + math.log1p(effect), group=size)
    seconds = kind.device_seconds / count
    return ReadingChoice(
        calls=kind.calls,
        summary=kind.summary,
        pairs=count,
        scale=scale,
        minimum_detectable_gain=minimum_detectable_gain(policy, scale, equal, group=size),
        power=float(found.accepted.mean()),
        device_seconds_per_pair=seconds,
        device_seconds_to_detect=seconds * float(found.pairs.mean()),
    )


def _groups(kind: SameReadings) -> list[list[int]]:
    """Indices of the pairs of each process."""
    found = groups(len(kind.differences), kind.processes)
    if len({len(group) for group in found}) > 1:
        raise ValueError(f"readings of {kind.calls} calls: expected as many pairs from one process as from another")
    return found


def _redrawn(values: Floats, pairs: int, rng: np.random.Generator) -> Floats:
    """Comparisons of equal candidates, shape (sequences, pairs), drawn from ``values``, shape (processes, pairs of
    each).

    Processes are drawn with replacement and with a random sign, the same for all pairs of one process, since what
    placement did to one of them it did to all.
    """
    processes, size = values.shape
    shape = (_SEQUENCES, -(-pairs // size))
    drawn = values[rng.integers(processes, size=shape)] * np.where(rng.random(shape) < 0.5, 1.0, -1.0)[:, :, None]
    return drawn.reshape(_SEQUENCES, -1)[:, :pairs]


def e_same(policy: Policy, readings: Sequence[SameReadings]) -> float:
    """Largest e-value against "identical designs read alike", over all pairs of all kinds in order.

    It is the mean of the e-values for "the first arm is faster" and "the second is". The scales come from ``|d|`` alone,
    given which the signs are still fair coins, so that the mean is a martingale; it is looked at after each pair.
    """
    parts = components(policy)
    first, second = EProcess(parts, 0.0), EProcess(parts, 0.0)
    largest = 1.0
    for kind in readings:
        scale = float(core_scale(kind.differences))
        for group in _groups(kind):
            values = [kind.differences[index] for index in group]
            one_way = first.add(values, scale)
            other_way = second.add([-value for value in values], scale)
            largest = max(largest, (one_way + other_way) / 2)
    return largest
