"""The sequential test: identities of the e-process, exact replay, monotone thresholds, and what it decides."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernelwright.acceptance.bets import Component, EProcess, components, log_factor
from kernelwright.acceptance.policy import Policy
from kernelwright.acceptance.sequential import Sequential, decide, log_ratio

POLICY = Policy()
SCALE = 0.014
DIFFERENCES = st.lists(st.floats(-3, 3), min_size=1, max_size=30)
SMALL = st.lists(st.floats(-0.06, 0.08), min_size=1, max_size=40)


@given(st.floats(-700, 700), st.floats(1e-6, 10), st.integers(0, len(components(POLICY)) - 1))
def test_factors_of_a_difference_and_its_opposite_sum_to_two(difference: float, scale: float, index: int) -> None:
    _, part = components(POLICY)[index]
    there = math.exp(log_factor(part.evidence(difference, scale)))
    back = math.exp(log_factor(part.evidence(-difference, scale)))
    assert there + back == pytest.approx(2, abs=1e-12)
    assert 0 <= there <= 2


@given(st.floats(0, 5), st.floats(1e-4, 1))
def test_a_faster_candidate_never_lowers_a_factor_below_one(difference: float, scale: float) -> None:
    # What the bound for slower candidates rests on: the factor minus 1 has the sign of the difference.
    for _, part in components(POLICY):
        assert part.evidence(difference, scale) >= -1e-9


def test_a_factor_is_the_formula_on_the_density() -> None:
    part = Component(0.02, 1.0, 0.1, 5.0)
    toward, away = part.density(0.03, SCALE), part.density(-0.03, SCALE)
    assert math.exp(log_factor(part.evidence(0.03, SCALE))) == pytest.approx(2 * toward / (toward + away), rel=1e-12)


def test_densities_integrate_to_one() -> None:
    part, step, reach = Component(0.02, 1.5, 0.1, 5.0), 1e-3, 40.0
    total = sum(part.density(-reach + step * index, SCALE) * step for index in range(int(2 * reach / step)))
    assert total == pytest.approx(1, abs=2e-3)  # The Cauchy tail beyond 40 holds the rest.


def test_weights_sum_to_one() -> None:
    assert sum(weight for weight, _ in components(POLICY)) == pytest.approx(1)


@given(st.lists(st.floats(0.0005, 0.2), min_size=1, max_size=7), st.floats(0.002, 0.1))
@settings(max_examples=25)
def test_the_mean_of_e_over_all_signs_is_one(sizes: list[float], scale: float) -> None:
    """The martingale, by brute force: given the sizes |d|, every pattern of signs is equally likely."""
    finals = []
    for signs in itertools.product((1, -1), repeat=len(sizes)):
        process = EProcess(components(POLICY), POLICY.idle_weight)
        for sign, size in zip(signs, sizes, strict=True):
            value = process.add((sign * size,), scale)
        finals.append(value)
    assert sum(finals) / len(finals) == pytest.approx(1, abs=1e-9)


@given(st.lists(st.lists(st.floats(-0.1, 0.1), min_size=3, max_size=3), min_size=1, max_size=5))
@settings(max_examples=25)
def test_the_mean_of_e_over_the_signs_of_whole_groups_is_one(groups: list[list[float]]) -> None:
    finals = []
    for signs in itertools.product((1, -1), repeat=len(groups)):
        process = EProcess(components(POLICY), 0.0)
        for sign, group in zip(signs, groups, strict=True):
            value = process.add([sign * d for d in group], SCALE)
        finals.append(value)
    assert sum(finals) / len(finals) == pytest.approx(1, abs=1e-9)


def test_signs_flipped_one_by_one_break_the_bound_of_a_group_but_not_of_single_pairs() -> None:
    # Why pairs of one process must not be split: were their signs independent, stopping inside a group would gain.
    alone = EProcess(components(POLICY), 0.0)
    for _ in range(4):
        value = alone.add((0.03,), SCALE)
    grouped = EProcess(components(POLICY), 0.0).add([0.03] * 4, SCALE)
    assert grouped <= 2 < value


@given(DIFFERENCES, st.floats(0.001, 0.2))
def test_live_equals_replay_bit_for_bit(differences: list[float], scale: float) -> None:
    live = Sequential(POLICY, scale)
    seen = []
    for difference in differences:
        seen.append(difference)
        if live.add(difference) != "continue":
            break
        assert live.decision() == decide(POLICY, scale, seen)
    assert live.decision() == decide(POLICY, scale, differences)


@given(SMALL, st.integers(1, 40))
def test_chunks_do_not_matter(differences: list[float], cut: int) -> None:
    whole = decide(POLICY, SCALE, differences)
    first = decide(POLICY, SCALE, differences[:cut])
    assert whole.e_accept[: first.pairs] == first.e_accept
    assert whole.e_futile[: first.pairs] == first.e_futile
    if first.verdict != "continue":
        assert whole == first


@given(SMALL)
def test_pairs_after_the_verdict_play_no_part(differences: list[float]) -> None:
    decision = decide(POLICY, SCALE, differences)
    assert decision == decide(POLICY, SCALE, differences[: decision.pairs])
    assert len(decision.e_accept) == len(decision.e_futile) == decision.pairs


@given(SMALL, st.floats(2, 400), st.floats(1, 50))
def test_a_lower_threshold_keeps_what_was_accepted(differences: list[float], accept_e: float, factor: float) -> None:
    strict = decide(dataclasses.replace(POLICY, accept_e=accept_e * factor), SCALE, differences)
    lax = decide(dataclasses.replace(POLICY, accept_e=accept_e), SCALE, differences)
    if strict.verdict == "accepted":
        assert lax.verdict == "accepted"
        assert lax.pairs <= strict.pairs
    if lax.verdict == "rejected":
        assert strict.verdict == "rejected"


@given(SMALL, st.floats(2, 100), st.floats(1, 50))
def test_a_lower_futility_threshold_keeps_what_was_rejected(
    differences: list[float], futile_e: float, factor: float
) -> None:
    strict = decide(dataclasses.replace(POLICY, futile_e=futile_e * factor), SCALE, differences)
    lax = decide(dataclasses.replace(POLICY, futile_e=futile_e), SCALE, differences)
    if strict.verdict == "rejected":
        assert lax.verdict == "rejected"
    if lax.verdict == "accepted":
        assert strict.verdict == "accepted"


@given(SMALL)
def test_no_verdict_before_the_minimum_and_none_open_at_the_cap(differences: list[float]) -> None:
    policy = dataclasses.replace(POLICY, min_pairs=5, pair_cap=20)
    decision = decide(policy, SCALE, differences)
    assert decision.pairs <= 20
    if decision.verdict in ("accepted", "rejected"):
        assert decision.pairs >= 5
    assert (decision.verdict == "undecided") <= (decision.pairs == 20)
    assert (decision.verdict == "continue") <= (decision.pairs < 20)


def test_evidence_is_carried_forward_past_the_cap() -> None:
    # Half of the gain that the cap can decide: undecided first, then accepted with the same evidence and more of it.
    noise = [0.02, -0.02, 0.012, -0.012] * 30
    differences = [0.006 + d for d in noise]
    first = decide(POLICY, 0.02, differences[:48])
    assert first.verdict == "undecided"
    second = decide(POLICY, 0.02, differences, cap=96)
    assert second.e_accept[:48] == first.e_accept
    assert second.pairs > 48
    assert "cap of 48 pairs" in first.reason


def test_what_it_decides() -> None:
    wobble = [0.010, -0.012, 0.008, -0.009, 0.014, -0.011] * 8
    faster = decide(POLICY, SCALE, [0.03 + d for d in wobble])
    same = decide(POLICY, SCALE, wobble)
    slower = decide(POLICY, SCALE, [d - 0.03 for d in wobble])
    assert (faster.verdict, same.verdict, slower.verdict) == ("accepted", "rejected", "rejected")
    assert faster.e_accept[-1] >= POLICY.accept_e
    assert same.e_futile[-1] >= POLICY.futile_e
    assert slower.pairs == POLICY.min_pairs
    assert "faster reached 100" in faster.reason
    assert "gain of 0.01 or more reached 10" in same.reason


@pytest.mark.parametrize("ratio", [1.1, 1.5, 2.0, 10.0, 1000.0])
def test_a_large_gain_needs_few_pairs_however_large(ratio: float) -> None:
    decision = decide(POLICY, SCALE, [math.log(ratio)] * 48)
    assert decision.verdict == "accepted"
    assert decision.pairs <= 14


def test_one_wild_reading_neither_makes_nor_breaks_a_decision() -> None:
    wobble = [0.010, -0.012, 0.008, -0.009, 0.014, -0.011] * 8
    good = [0.03 + d for d in wobble]
    good[4] = -0.6
    assert decide(POLICY, SCALE, good).verdict == "accepted"
    wobble[4] = 0.6
    assert decide(POLICY, SCALE, wobble).verdict == "rejected"


def test_a_new_calibration_counts_from_its_pair_on() -> None:
    differences = [0.01] * 6
    state = Sequential(POLICY, 0.01)
    for difference in differences[:3]:
        state.add(difference)
    state.add(differences[3], 0.05)
    for difference in differences[4:]:
        state.add(difference)
    scales = [0.01] * 3 + [0.05] * 3
    assert state.decision() == decide(POLICY, scales, differences)
    assert state.decision().e_accept[-1] < decide(POLICY, 0.01, differences).e_accept[-1]


def test_a_process_is_one_bet() -> None:
    differences = [0.03] * 12
    separate = decide(POLICY, SCALE, differences)
    grouped = decide(POLICY, SCALE, differences, processes=[index // 4 for index in range(12)])
    assert separate.verdict == "accepted"
    assert grouped.verdict == "continue"
    assert max(grouped.e_accept) <= 2**3
    assert grouped.e_accept[0] == grouped.e_accept[3] < grouped.e_accept[4]
    live = Sequential(POLICY, SCALE)
    for start in (0, 4, 8):
        live.add_group(differences[start : start + 4])
    assert live.decision() == grouped


def test_the_futile_path_is_the_mirrored_test() -> None:
    policy = dataclasses.replace(POLICY, idle_weight=0.0)
    differences = [0.004, -0.01, 0.02]
    mirrored = [math.log1p(policy.futile_gain) - d for d in differences]
    assert decide(policy, SCALE, differences).e_futile == decide(policy, SCALE, mirrored).e_accept


def test_no_pairs_yet() -> None:
    decision = decide(POLICY, SCALE, [])
    assert (decision.verdict, decision.pairs, decision.e_accept) == ("continue", 0, ())


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        decide(POLICY, SCALE, [0.0, math.nan])
    with pytest.raises(ValueError, match="positive finite"):
        decide(POLICY, 0.0, [0.0])
    with pytest.raises(ValueError, match="each of 2 pairs"):
        decide(POLICY, [0.1], [0.0, 0.1])
    with pytest.raises(ValueError, match="cap"):
        decide(POLICY, SCALE, [0.0], cap=0)
    with pytest.raises(ValueError, match="label for each"):
        decide(POLICY, SCALE, [0.0, 0.1], processes=[1])
    with pytest.raises(ValueError, match="consecutive"):
        decide(POLICY, SCALE, [0.0] * 3, processes=[1, 2, 1])
    with pytest.raises(ValueError, match="within a process"):
        decide(POLICY, [0.1, 0.2], [0.0, 0.0], processes=[1, 1])
    ended = Sequential(POLICY, SCALE, cap=1)
    assert ended.add(0.0) == "undecided"
    with pytest.raises(ValueError, match="ended"):
        ended.add(0.0)


def test_log_ratio() -> None:
    assert log_ratio(2.0, 1.0) == pytest.approx(math.log(2))
    assert log_ratio(1e-300, 1e300) == pytest.approx(-600 * math.log(10))
    for best, candidate, name in ((0.0, 1.0, "best"), (1.0, -1.0, "candidate"), (math.inf, 1.0, "best")):
        with pytest.raises(ValueError, match=name):
            log_ratio(best, candidate)
