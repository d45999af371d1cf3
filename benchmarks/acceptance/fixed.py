"""Fixed-size tests that the sequential one is measured against: how many pairs each needs for the same power."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from kernelwright.acceptance.estimate import signed_rank_probabilities
from kernelwright.acceptance.simulation import Floats, NoiseModel
from numpy.typing import NDArray

ALPHA = 0.01
"""One-sided level of every fixed test: the bound that the sequential test keeps."""
_FLIPS = 2000
_ROWS = 5000


def wilcoxon_rejects(differences: Floats) -> NDArray[np.bool_]:
    """Rows on which the one-sided signed-rank test with its exact null distribution finds the candidate faster."""
    pairs = differences.shape[1]
    tail = np.cumsum(signed_rank_probabilities(pairs)[::-1])[::-1]
    critical = int(np.argmax(tail <= ALPHA)) if bool((tail <= ALPHA).any()) else tail.size
    ranks = np.abs(differences).argsort(axis=1).argsort(axis=1) + 1
    statistic: NDArray[np.int64] = np.where(differences > 0, ranks, 0).sum(axis=1)
    return statistic >= critical


def rank_sum_rejects(best: Floats, candidate: Floats) -> NDArray[np.bool_]:
    """Rows on which the one-sided rank-sum (unpaired Wilcoxon) test, normal approximation, finds the candidate faster."""
    count = best.shape[1]
    ranks = np.concatenate([candidate, best], axis=1).argsort(axis=1).argsort(axis=1) + 1
    statistic = ranks[:, :count].sum(axis=1)
    mean, deviation = count * (2 * count + 1) / 2, math.sqrt(count * count * (2 * count + 1) / 12)
    low: NDArray[np.bool_] = (statistic - mean) / deviation <= -2.3263478740408408
    return low


def sign_flip_rejects(scores: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Rows on which the sum of ``scores`` is among the top 1 % of its sign flips (2,000 random ones)."""
    flips = np.where(rng.random((scores.shape[1], _FLIPS - 1)) < 0.5, 1.0, -1.0)
    out = np.empty(scores.shape[0], dtype=bool)
    for start in range(0, scores.shape[0], _ROWS):
        rows = scores[start : start + _ROWS]
        # An epsilon below the sum, so that a flip that equals it up to rounding counts against it.
        above = (np.abs(rows) @ flips >= (rows.sum(axis=1) - 1e-9)[:, None]).sum(axis=1)
        out[start : start + _ROWS] = (above + 1) / _FLIPS <= ALPHA
    return out


def exact_score(noise: NoiseModel, gain: float) -> Callable[[Floats], Floats]:
    """Log likelihood ratio of a pair between this gain and its opposite, the noise being known exactly (without
    drift).

    Summed, it is the most powerful statistic of any sign-flip test against this gain (Lehmann and Romano, "Testing
    Statistical Hypotheses", section 5.8 on randomization tests). Nobody has this knowledge on a real device.
    """
    share, size = noise.outlier_share, math.log1p(noise.outlier_size)
    centres = ((1 - 2 * share * (1 - share), 0.0), (share * (1 - share), size), (share * (1 - share), -size))
    scale, shift = noise.sigma * math.sqrt(2), math.log1p(gain)

    def density(offset: Floats) -> Floats:
        parts = [weight * np.exp(-0.5 * ((offset - centre) / scale) ** 2) for weight, centre in centres]
        total: Floats = np.sum(parts, axis=0) + 1e-300
        return total

    return lambda d: np.log(density(d - shift) / density(d + shift))


def clipped(scale: float) -> Callable[[Floats], Floats]:
    """The difference itself, cut off at two scales either side (Huber's score)."""
    return lambda d: np.clip(d, -2 * scale, 2 * scale)


def smallest(
    rejects: Callable[[int], NDArray[np.bool_]], power: float, low: int, high: int
) -> tuple[int, float] | None:
    """Fewest pairs in [low, high] at which the share of rows rejected reaches ``power``, and that share; by bisection."""
    best: tuple[int, float] | None = None
    while low <= high:
        middle = (low + high) // 2
        reached = float(rejects(middle).mean())
        if reached >= power:
            best, high = (middle, reached), middle - 1
        else:
            low = middle + 1
    return best
