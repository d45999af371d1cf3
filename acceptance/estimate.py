"""How large a gain is: Hodges-Lehmann estimates with signed-rank intervals, and products of gains along a lineage.

The estimate must come from pairs that took no part in the decision: pairs that made E cross a threshold are lucky
ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Gain:
    """A ratio ``seconds of the reference / seconds of the design`` (2.0 is "twice as fast") with its interval.

    ``confidence`` is the coverage that the interval really has. It is at least what was asked for, except where so few
    ``pairs`` cannot reach it (fewer than 6 for 95 %): then the interval is the widest one there is.
    """

    ratio: float
    low: float
    high: float
    pairs: int
    confidence: float


def hodges_lehmann(differences: Sequence[float] | NDArray[np.float64], confidence: float) -> Gain:
    """Gain from paired log ratios: median of the n(n+1)/2 Walsh averages, and the exact signed-rank interval.

    The interval runs from the (k+1)th smallest to the (k+1)th largest Walsh average, with the largest k for which
    ``P(W <= k) <= (1 - confidence) / 2`` under the exact null distribution of the signed-rank statistic W (Hollander,
    Wolfe and Chicken, "Nonparametric Statistical Methods", section 3.3). Valid for pairs that are independent and
    symmetric about a common gain. Raises ValueError when there is no pair, or a difference is not finite.
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.size == 0 or not bool(np.isfinite(values).all()):
        raise ValueError("differences: expected one or more finite log ratios")
    walsh = walsh_averages(values)
    cumulative = np.cumsum(signed_rank_probabilities(values.size))
    # Coverage of the interval that leaves out k averages at each end is 1 - 2 P(W <= k).
    within = int(np.searchsorted(cumulative, (1 - confidence) / 2, side="right"))
    k = max(within - 1, 0)
    return Gain(
        ratio=math.exp(float(np.median(walsh))),
        low=math.exp(float(walsh[k])),
        high=math.exp(float(walsh[walsh.size - 1 - k])),
        pairs=int(values.size),
        confidence=max(0.0, 1 - 2 * float(cumulative[k])),
    )


def walsh_averages(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of all pairs of values, each with itself too, sorted: shape (n(n+1)/2,)."""
    rows, columns = np.triu_indices(values.size)
    return np.sort((values[rows] + values[columns]) / 2)


def signed_rank_probabilities(n: int) -> NDArray[np.float64]:
    """Null distribution of the signed-rank statistic of ``n`` pairs: P(W = w) for w = 0 ... n(n+1)/2, exact."""
    probabilities = np.zeros(n * (n + 1) // 2 + 1)
    probabilities[0] = 1.0
    for rank in range(1, n + 1):
        # Rank r adds r with probability 1/2.
        shifted = np.zeros_like(probabilities)
        shifted[rank:] = probabilities[:-rank]
        probabilities = (probabilities + shifted) / 2
    return probabilities


def core_scale(differences: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale of the core of A/A log ratios, over the last axis: ``1.4826 * median(|d|)``, at least 1e-6.

    The differences of identical designs are symmetric about 0, so no centre is estimated. It equals the standard
    deviation for normal noise, and outliers hardly move it. It is a function of ``|d|`` alone: a test of the signs
    stays valid when it uses the scale of the very pairs that it tests.
    """
    scale = 1.4826 * np.median(np.abs(np.asarray(differences, dtype=np.float64)), axis=-1)
    return np.asarray(np.maximum(scale, 1e-6), dtype=np.float64)


def product(gains: Sequence[Gain]) -> Gain:
    """The gain of a lineage whose steps were estimated on separate pairs: ratios multiply.

    The interval combines the half widths of the log gains in quadrature, each side on its own: an approximation that
    takes the steps as independent and their estimates as near normal. ``confidence`` is the lowest of the steps'.
    Without steps the product is exactly 1.
    """
    if not gains:
        return Gain(1.0, 1.0, 1.0, 0, 1.0)
    logs = [math.log(gain.ratio) for gain in gains]
    below = math.hypot(*(log - math.log(gain.low) for log, gain in zip(logs, gains, strict=True)))
    above = math.hypot(*(math.log(gain.high) - log for log, gain in zip(logs, gains, strict=True)))
    total = math.fsum(logs)
    return Gain(
        ratio=math.exp(total),
        low=math.exp(total - below),
        high=math.exp(total + above),
        pairs=sum(gain.pairs for gain in gains),
        confidence=min(gain.confidence for gain in gains),
    )


def geometric_mean(gains: Sequence[Gain]) -> Gain:
    """Geometric mean over separately measured gains, the interval as in :func:`product`. Raises ValueError if empty."""
    if not gains:
        raise ValueError("gains: expected one or more")
    whole = product(gains)
    root = 1 / len(gains)
    return Gain(whole.ratio**root, whole.low**root, whole.high**root, whole.pairs, whole.confidence)
