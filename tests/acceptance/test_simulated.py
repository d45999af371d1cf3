"""Seeded simulations: the many-at-once test equals the real one, and keeps its promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernelwright.acceptance.calibration import SameReadings, calibrate, e_same
from kernelwright.acceptance.policy import Policy
from kernelwright.acceptance.power import minimum_detectable_gain, power
from kernelwright.acceptance.sequential import decide
from kernelwright.acceptance.simulation import NoiseModel, outcomes

POLICY = Policy()
NOISE = NoiseModel()


@pytest.mark.parametrize(("gain", "group", "pairs"), [(0.0, 1, 48), (0.02, 1, 48), (0.01, 3, 46), (1.0, 5, 48)])
def test_many_at_once_decide_as_one_does(gain: float, group: int, pairs: int) -> None:
    noise = NoiseModel(process=0.005)
    drawn = noise.draw_pairs(gain, 60, pairs, np.random.default_rng(1), group=group)
    found = outcomes(POLICY, 0.015, drawn, group=group)
    processes = [index // group for index in range(pairs)]
    for row, accepted, rejected, used in zip(drawn, found.accepted, found.rejected, found.pairs, strict=True):
        one = decide(POLICY, 0.015, row.tolist(), cap=pairs, processes=processes)
        assert (one.verdict == "accepted", one.verdict == "rejected", one.pairs) == (accepted, rejected, used)


def test_false_acceptance_stays_below_the_bound() -> None:
    # The bound is 1 %; about 0.35 % is used. Five standard errors of 5,000 comparisons lie between that and 0.8 %.
    drawn = NOISE.draw_pairs(0.0, 5000, POLICY.pair_cap, np.random.default_rng(2))
    found = outcomes(POLICY, 0.0155, drawn)
    assert 0.0005 < found.accepted.mean() < 0.008
    assert found.rejected.mean() > 0.93


def test_looking_forever_stays_below_the_bound() -> None:
    drawn = NOISE.draw_pairs(0.0, 1500, 160, np.random.default_rng(3))
    assert outcomes(POLICY, 0.0155, drawn, futility=False).accepted.mean() < 0.01


def test_noise_unlike_the_model_keeps_the_bound() -> None:
    rng = np.random.default_rng(4)
    wild = 0.04 * rng.standard_cauchy((2500, 48))
    assert outcomes(POLICY, 0.01, wild).accepted.mean() < 0.012  # The bound, and one standard error.
    drifting = NoiseModel(trend=0.02, walk=0.02).draw_pairs(0.0, 2500, 48, rng)
    assert outcomes(POLICY, 0.01, drifting).accepted.mean() < 0.012


def test_power_and_cost_at_two_percent() -> None:
    drawn = NOISE.draw_pairs(0.02, 4000, POLICY.pair_cap, np.random.default_rng(5))
    found = outcomes(POLICY, 0.0155, drawn)
    assert found.accepted.mean() > 0.998
    assert 2 * found.pairs.mean() < 30


def test_a_low_threshold_errs_more() -> None:
    # A test that could not fail would show nothing: at E = 3 errors are common.
    drawn = NOISE.draw_pairs(0.0, 2000, POLICY.pair_cap, np.random.default_rng(6))
    lax = POLICY.with_overrides(["accept_e=3", "min_pairs=1"])
    assert 0.1 < outcomes(lax, 0.0155, drawn).accepted.mean() < 1 / 3


def test_placement_breaks_separate_pairs_and_not_grouped_ones() -> None:
    noise = NoiseModel(process=0.014)
    drawn = noise.draw_pairs(0.0, 3000, 48, np.random.default_rng(7), group=8)
    assert outcomes(POLICY, 0.02, drawn).accepted.mean() > 0.05
    assert outcomes(POLICY, 0.02, drawn, group=8).accepted.mean() < 0.01
    fresh = noise.draw_pairs(0.0, 3000, 48, np.random.default_rng(7))
    assert outcomes(POLICY, 0.02, fresh).accepted.mean() < 0.01


def test_power_summary_is_repeatable_and_sane() -> None:
    first = power(POLICY, 0.01, 0.02, np.random.default_rng(8), sequences=600)
    again = power(POLICY, 0.01, 0.02, np.random.default_rng(8), sequences=600)
    assert first == again
    assert first.power > 0.99
    assert first.false_acceptance < 0.02
    assert 0.008 < first.minimum_detectable_gain < 0.014
    noisy = power(POLICY, 0.06, 0.02, np.random.default_rng(8), sequences=400)
    assert noisy.power < 0.15
    # About 7 sigma / sqrt(48).
    assert 0.045 < noisy.minimum_detectable_gain < 0.08
    with pytest.raises(ValueError, match="positive"):
        power(POLICY, 0.0, 0.02, np.random.default_rng(8))


def test_nothing_is_detectable_when_every_pair_is_noise() -> None:
    wild = 50 * np.random.default_rng(9).standard_cauchy((200, 20))
    assert minimum_detectable_gain(POLICY, 50.0, wild) == math.inf


def readings(calls: int, sigma: float, seed: int, *, shift: float = 0.0, pairs: int = 24) -> SameReadings:
    drawn = np.random.default_rng(seed).normal(shift, sigma, pairs)
    return SameReadings(calls, tuple(drawn.tolist()), device_seconds=2 * pairs * calls * 0.001)


def test_calibration_picks_the_cheapest_reading_that_detects() -> None:
    kinds = [readings(1, 0.08, 1), readings(4, 0.02, 2), readings(64, 0.012, 3)]
    made = calibrate(POLICY, kinds, np.random.default_rng(10))
    assert not made.refused
    # One call cannot detect 2 %, 64 calls can at sixteen times the device time of 4.
    assert made.calls_per_reading == 4
    assert made.scale == pytest.approx(0.02, rel=0.4)
    assert made.minimum_detectable_effect < 0.025
    assert [choice.calls for choice in made.choices] == [1, 4, 64]
    assert made.choices[0].power < 0.5 < 0.8 <= made.choices[1].power
    assert "device seconds" in made.reason
    assert made == calibrate(POLICY, kinds, np.random.default_rng(10))


def test_calibration_takes_the_best_there_is_and_says_so() -> None:
    made = calibrate(POLICY, [readings(1, 0.11, 1), readings(4, 0.06, 2)], np.random.default_rng(11))
    assert not made.refused
    assert made.calls_per_reading == 4
    assert "below what 48 pairs detect" in made.reason


def test_calibration_refuses_a_device_on_which_a_differs_from_a() -> None:
    made = calibrate(POLICY, [readings(4, 0.02, 2, shift=0.03)], np.random.default_rng(12))
    assert made.refused
    assert "read differently" in made.reason
    assert made.e_same >= POLICY.calibration_e
    other_way = calibrate(POLICY, [readings(4, 0.02, 2, shift=-0.03)], np.random.default_rng(12))
    assert other_way.refused


def test_calibration_refuses_a_device_that_cannot_tell() -> None:
    made = calibrate(POLICY, [readings(1, 0.4, 1)], np.random.default_rng(13))
    assert made.refused
    assert "too noisy" in made.reason


def test_calibration_rarely_refuses_a_sound_device() -> None:
    kinds = [[readings(4, 0.02, 100 + seed, pairs=16), readings(16, 0.01, 900 + seed, pairs=16)] for seed in range(200)]
    refused = sum(e_same(POLICY, both) >= POLICY.calibration_e for both in kinds)
    assert refused <= 18  # At most 5 % each: more than 18 of 200 has probability 0.4 %.
    assert any(e_same(POLICY, both) >= 2 for both in kinds)


def test_calibration_counts_processes_as_wholes() -> None:
    rng = np.random.default_rng(15)
    placed = np.repeat(rng.normal(0, 0.02, 8), 4) + rng.normal(0, 0.005, 32)
    labels = tuple(int(label) for label in np.repeat(np.arange(8), 4))
    alone = SameReadings(4, tuple(placed.tolist()), 1.0)
    whole = SameReadings(4, tuple(placed.tolist()), 1.0, processes=labels)
    separate = calibrate(POLICY, [alone], np.random.default_rng(16))
    grouped = calibrate(POLICY, [whole], np.random.default_rng(16))
    assert grouped.minimum_detectable_effect > 1.3 * separate.minimum_detectable_effect


def test_calibration_refuses_bad_readings() -> None:
    rng = np.random.default_rng(17)
    with pytest.raises(ValueError, match="one kind"):
        calibrate(POLICY, [], rng)
    with pytest.raises(ValueError, match="at least 8"):
        calibrate(POLICY, [SameReadings(1, (0.1,) * 7, 1.0)], rng)
    with pytest.raises(ValueError, match="at least 8"):
        calibrate(POLICY, [SameReadings(1, (math.nan,) * 9, 1.0)], rng)
    with pytest.raises(ValueError, match="as many pairs from one"):
        calibrate(POLICY, [SameReadings(1, (0.1,) * 9, 1.0, processes=(1,) * 5 + (2,) * 4)], rng)
