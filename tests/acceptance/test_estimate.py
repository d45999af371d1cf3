"""Gains: Hodges-Lehmann against brute force, exact coverage, products along a lineage."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.acceptance.estimate import (
    Gain,
    core_scale,
    geometric_mean,
    hodges_lehmann,
    product,
    signed_rank_probabilities,
)

VALUES = st.lists(st.floats(-1, 1), min_size=1, max_size=12)


@given(VALUES)
def test_the_estimate_is_the_median_of_all_pairwise_means(values: list[float]) -> None:
    means = [(a + b) / 2 for i, a in enumerate(values) for b in values[i:]]
    assert hodges_lehmann(values, 0.95).ratio == pytest.approx(math.exp(statistics.median(means)), rel=1e-12)


@pytest.mark.parametrize("pairs", [1, 2, 3, 5, 9])
def test_signed_rank_distribution_against_all_signs(pairs: int) -> None:
    sums = [sum(rank for rank, up in enumerate(signs, 1) if up) for signs in itertools.product((0, 1), repeat=pairs)]
    expected = [sums.count(total) / 2**pairs for total in range(pairs * (pairs + 1) // 2 + 1)]
    assert signed_rank_probabilities(pairs).tolist() == pytest.approx(expected, abs=1e-15)


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=9, unique_by=abs), st.sampled_from([0.5, 0.8, 0.95]))
def test_the_interval_holds_the_gains_that_the_signed_rank_test_does_not_refuse(
    values: list[int], confidence: float
) -> None:
    """Brute force by definition: shift the pairs by a gain, rank them, and ask both one-sided tests."""
    differences = [value / 1000 for value in values]
    gain = hodges_lehmann(differences, confidence)
    below = np.cumsum(signed_rank_probabilities(len(values)))
    tail = (1 - gain.confidence) / 2

    def refused(shift: float) -> bool:
        moved = np.asarray(differences) - shift
        ranks = np.abs(moved).argsort().argsort() + 1
        statistic = int(ranks[moved > 0].sum())
        most = len(values) * (len(values) + 1) // 2
        return bool(min(below[statistic], below[most - statistic]) <= tail + 1e-12)

    low, high = math.log(gain.low), math.log(gain.high)
    assert refused(low - 1e-5)
    assert refused(high + 1e-5)
    if high - low > 1e-4:
        # Off the means of pairs themselves, where ranks tie.
        assert not refused(low + (high - low) * 0.5003 + 1e-7) or len(values) < 4


@given(VALUES, st.floats(0.5, 0.99))
def test_an_interval_is_ordered_and_owns_up_to_its_coverage(values: list[float], confidence: float) -> None:
    gain = hodges_lehmann(values, confidence)
    assert gain.low <= gain.ratio <= gain.high
    assert gain.pairs == len(values)
    widest = 1 - 2 ** (1 - len(values))
    assert gain.confidence >= min(confidence, widest) - 1e-12
    assert gain.confidence <= widest + 1e-12


def test_known_interval_of_twelve() -> None:
    # n = 12 at 95 %: P(W <= 13) = 87/4096, so the 14th smallest of 78 means, and coverage 1 - 174/4096.
    values = [index / 100 for index in (1, 2, 4, 8, 16, 32, 3, 5, 7, 11, 13, 17)]
    means = sorted((a + b) / 2 for i, a in enumerate(values) for b in values[i:])
    gain = hodges_lehmann(values, 0.95)
    assert gain.confidence == pytest.approx(1 - 174 / 4096)
    assert [gain.low, gain.high] == pytest.approx([math.exp(means[13]), math.exp(means[-14])])


@given(VALUES, st.floats(-0.5, 0.5))
def test_moving_all_pairs_moves_the_gain(values: list[float], shift: float) -> None:
    here, there = hodges_lehmann(values, 0.9), hodges_lehmann([v + shift for v in values], 0.9)
    assert there.ratio == pytest.approx(here.ratio * math.exp(shift), rel=1e-9)
    assert there.low == pytest.approx(here.low * math.exp(shift), rel=1e-9)


def test_one_outlier_hardly_moves_it() -> None:
    values = [0.018, 0.021, 0.019, 0.022, 0.020, 0.023, 0.017, 0.020]
    assert hodges_lehmann([*values, 5.0], 0.95).ratio == pytest.approx(hodges_lehmann(values, 0.95).ratio, abs=2e-3)


def test_coverage_of_the_interval() -> None:
    rng = np.random.default_rng(11)
    truth = math.exp(0.02)
    gains = [hodges_lehmann(row, 0.95) for row in 0.02 + 0.014 * rng.standard_t(3, (1500, 12))]
    covered = sum(gain.low <= truth <= gain.high for gain in gains) / 1500
    assert 0.94 < covered < 0.975  # 95.75 % exactly; the standard error is 0.5 %.


def test_bad_pairs_are_refused() -> None:
    for values in ([], [math.nan], [0.1, math.inf]):
        with pytest.raises(ValueError, match="finite"):
            hodges_lehmann(values, 0.95)


def test_core_scale() -> None:
    rng = np.random.default_rng(12)
    clean = rng.normal(0, 0.03, (2, 20001))
    assert core_scale(clean).tolist() == pytest.approx([0.03, 0.03], rel=0.03)
    dirty = clean[0].copy()
    dirty[::20] = 10.0
    assert float(core_scale(dirty)) == pytest.approx(0.03, rel=0.12)
    assert float(core_scale([0.0, 0.0])) == 1e-6


def test_products() -> None:
    assert product([]) == Gain(1.0, 1.0, 1.0, 0, 1.0)
    one = Gain(1.5, 1.4, 1.6, 12, 0.957)
    alone = product([one])
    assert [alone.ratio, alone.low, alone.high] == pytest.approx([1.5, 1.4, 1.6])
    four = product([Gain(1.1, 1.1 / 1.02, 1.1 * 1.02, 12, 0.95)] * 3 + [Gain(1.1, 1.1 / 1.02, 1.1 * 1.02, 8, 0.9)])
    assert four.ratio == pytest.approx(1.1**4)
    # Four equal half widths in quadrature: twice one of them.
    assert [four.low, four.high] == pytest.approx([1.1**4 / 1.02**2, 1.1**4 * 1.02**2])
    assert (four.pairs, four.confidence) == (44, 0.9)


def test_geometric_mean() -> None:
    mean = geometric_mean([Gain(2.0, 1.9, 2.1, 10, 0.95), Gain(8.0, 7.6, 8.4, 10, 0.95)])
    assert mean.ratio == pytest.approx(4.0)
    assert 3.8 < mean.low < 4.0 < mean.high < 4.2
    with pytest.raises(ValueError, match="one or more"):
        geometric_mean([])
