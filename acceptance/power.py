"""What a policy costs and detects under a given noise, by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .estimate import core_scale
from .policy import Policy
from .simulation import Floats, NoiseModel, outcomes

CALIBRATION_PAIRS = 32
"""A/A pairs from which a simulated device gets its scale, so that the scale is as uncertain as a real one."""


@dataclass(frozen=True)
class Power:
    """Simulated behaviour of a policy. Shares are of ``sequences`` comparisons; device runs are twice the pairs."""

    sigma: float
    """Standard deviation of the log of one run."""
    effect: float
    """True gain (fraction) of the better candidate."""
    sequences: int
    power: float
    """Share of better candidates accepted within the cap."""
    missed: float
    """Share of better candidates rejected as futile."""
    false_acceptance: float
    """Share of equal candidates accepted."""
    mean_pairs_better: float
    mean_pairs_equal: float
    minimum_detectable_gain: float
    """Gain (fraction) accepted within the cap with probability ``policy.detect_power``; infinite when none below 100 %
    is."""


def power(
    policy: Policy,
    sigma: float,
    effect: float,
    rng: np.random.Generator,
    *,
    sequences: int = 4000,
    noise: NoiseModel | None = None,
) -> Power:
    """Simulate comparisons of candidates that are faster by ``effect`` (fraction), and of equal ones.

    Pairs come in groups of ``policy.pairs_per_process``. ``sigma`` is the standard deviation of the log of one run;
    ``noise`` gives the rest of the noise (its own sigma is replaced), by default 5 % of runs 10 % slower and a
    drifting level. Raises ValueError when sigma or effect is not positive.
    """
    if not (0 < sigma < math.inf and 0 < effect < math.inf):
        raise ValueError(f"sigma and effect: expected positive numbers, got {sigma!r} and {effect!r}")
    base = noise or NoiseModel()
    model, group = replace(base, sigma=sigma), policy.pairs_per_process
    scales = core_scale(model.draw_pairs(0.0, sequences, CALIBRATION_PAIRS, rng, group=group))
    faster = model.draw_pairs(effect, sequences, policy.pair_cap, rng, group=group)
    better = outcomes(policy, scales, faster, group=group)
    pairs = model.draw_pairs(0.0, sequences, policy.pair_cap, rng, group=group)
    equal = outcomes(policy, scales, pairs, group=group)
    few = min(sequences, 1000)
    return Power(
        sigma=sigma,
        effect=effect,
        sequences=sequences,
        power=float(better.accepted.mean()),
        missed=float(better.rejected.mean()),
        false_acceptance=float(equal.accepted.mean()),
        mean_pairs_better=float(better.pairs.mean()),
        mean_pairs_equal=float(equal.pairs.mean()),
        minimum_detectable_gain=minimum_detectable_gain(policy, scales[:few], pairs[:few], group=group),
    )


def minimum_detectable_gain(policy: Policy, scale: float | Floats, equal_pairs: Floats, *, group: int = 1) -> float:
    """Smallest gain (fraction) that ``policy`` accepts with probability ``policy.detect_power``.

    ``equal_pairs``: log ratios of identical designs, shape (sequences, pairs), to which gains are added; the cap is
    their number of pairs. ``group``: pairs that each pair of processes gives. Found by bisection to 4 % of its value;
    infinite when a gain of 100 % is not enough.
    """

    def detects(gain: float) -> bool:
        found = outcomes(policy, scale, equal_pairs + math.log1p(gain), group=group).accepted.mean()
        return float(found) >= policy.detect_power

    # Bracketed from where normal noise would put it: five scales over the root of the number of pairs.
    guess = 5 * float(np.median(scale)) / math.sqrt(equal_pairs.shape[1])
    high = min(max(1.25 * guess, 1e-4), 1.0)
    while not detects(high):
        if high >= 1.0:
            return math.inf
        high = min(2 * high, 1.0)
    low = high / 2
    while low > 1e-6 and detects(low):
        low, high = low / 2, low
    while high / low > 1.04:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if detects(middle) else (middle, high)
    return high
