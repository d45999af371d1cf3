"""Judgements as data, replayed; alarms; the two screens."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.acceptance.alarm import anchors_due, check_anchor
from kernelwright.acceptance.estimate import Gain
from kernelwright.acceptance.policy import Policy
from kernelwright.acceptance.screens import plainly_slower, suspicion
from kernelwright.acceptance.verdict import Judgement, judge, rejudge

POLICY = Policy()
WOBBLE = [0.010, -0.012, 0.008, -0.009, 0.014, -0.011] * 8


def ids(differences: list[float]) -> list[str]:
    return [f"pair-{index}" for index in range(len(differences))]


@given(st.lists(st.floats(-0.06, 0.08), max_size=50), st.integers(1, 3), st.floats(0.003, 0.05))
def test_a_judgement_survives_json_and_is_made_again_equal(values: list[float], per: int, scale: float) -> None:
    processes = None if per == 1 else [index // per for index in range(len(values))]
    made = judge(POLICY, scale, ids(values), values, processes=processes)
    stored = Judgement.from_dict(json.loads(json.dumps(made.as_dict())))
    assert stored == made
    assert rejudge(stored, values) == made


def test_what_it_says() -> None:
    faster = [0.03 + d for d in WOBBLE]
    made = judge(POLICY, 0.014, ids(faster), faster)
    assert made.verdict == "accepted"
    assert made.pairs < len(made.evidence) == 48
    assert made.e_accept >= 100 > made.e_futile
    assert made.policy == POLICY.digest
    assert made.thresholds["accept_e"] == 100
    assert made.wanted_pairs == 0


def test_too_few_pairs_are_undecided_and_none_are_held() -> None:
    short = judge(POLICY, 0.014, ids(WOBBLE[:5]), WOBBLE[:5])
    assert (short.verdict, short.wanted_pairs) == ("undecided", 43)
    none = judge(POLICY, 0.014, [], [])
    assert (none.verdict, none.pairs, none.e_accept) == ("held", 0, 1.0)


def test_another_policy_flips_it_or_asks_for_more() -> None:
    faster = [0.03 + d for d in WOBBLE]
    made = judge(POLICY, 0.014, ids(faster), faster[:])
    used = faster[: made.pairs]
    recorded = judge(POLICY, 0.014, ids(used), used)
    assert rejudge(recorded, used, POLICY.with_overrides(["accept_e=20"])).pairs < made.pairs
    stricter = rejudge(recorded, used, POLICY.with_overrides(["accept_e=100000"]))
    assert (stricter.verdict, stricter.wanted_pairs) == ("undecided", 48 - made.pairs)
    assert stricter.policy != recorded.policy


def test_a_comparison_taken_up_again_keeps_its_visits_under_another_policy() -> None:
    twice = judge(POLICY, 0.014, ids(WOBBLE), WOBBLE, cap=96)
    assert rejudge(twice, WOBBLE, POLICY.with_overrides(["pair_cap=20", "futile_e=1e9"])).cap == 40


def test_a_judgement_from_before_a_policy_field_existed_is_made_again_equal() -> None:
    made = judge(POLICY, 0.014, ids(WOBBLE), WOBBLE)
    fewer = {key: value for key, value in made.thresholds.items() if key != "probe_pairs"}
    old = Judgement.from_dict({**made.as_dict(), "thresholds": fewer, "policy": "0123456789abcdef"})
    assert rejudge(old, WOBBLE) == old


def test_a_judgement_of_another_rule_is_not_made_again_silently() -> None:
    made = judge(POLICY, 0.014, ids(WOBBLE), WOBBLE)
    other = Judgement.from_dict({**made.as_dict(), "rule": "something-else/3"})
    with pytest.raises(ValueError, match="something-else/3"):
        rejudge(other, WOBBLE)


def test_what_is_refused() -> None:
    made = judge(POLICY, 0.014, ids(WOBBLE), WOBBLE).as_dict()
    with pytest.raises(ValueError, match="fields"):
        Judgement.from_dict({key: value for key, value in made.items() if key != "reason"})
    with pytest.raises(ValueError, match="verdict 'won'"):
        Judgement.from_dict({**made, "verdict": "won"})
    with pytest.raises(ValueError, match="one id for each"):
        judge(POLICY, 0.014, ["a"], [0.1, 0.2])


def gain(ratio: float, half: float, confidence: float = 0.95) -> Gain:
    return Gain(ratio, ratio * math.exp(-half), ratio * math.exp(half), 16, confidence)


def test_claims_that_are_there_raise_no_alarm() -> None:
    check = check_anchor([gain(1.02, 0.01)] * 10, gain(1.215, 0.01, 0.99))
    assert not check.alarm
    assert not check.outside
    assert "inside" in check.reason


def test_claims_that_are_not_there_raise_one() -> None:
    check = check_anchor([gain(1.02, 0.01)] * 10, gain(1.05, 0.01, 0.99))
    assert check.alarm
    assert check.outside
    assert "1.219" in check.reason
    assert "more than" in check.reason
    low = check_anchor([gain(1.02, 0.01)] * 2, gain(1.5, 0.01, 0.99))
    assert low.alarm
    assert "less than" in low.reason


def test_claims_just_outside_are_told_apart_from_an_alarm() -> None:
    # Product 1.219; the bare interval ends at 1.209, ten claims of +-1 % are uncertain by 3 %.
    check = check_anchor([gain(1.02, 0.01)] * 10, gain(1.197, 0.01, 0.99))
    assert check.outside
    assert not check.alarm
    assert "own uncertainty" in check.reason
    assert check.low < check.measured.low < check.measured.high < check.high


def test_certain_claims_are_held_to_the_bare_interval() -> None:
    for product, expected in ((1.1 * 1.0095, False), (1.1 * 1.0105, True), (1.1 / 1.0095, False), (1.1 / 1.0105, True)):
        assert check_anchor([gain(product, 0.0)], gain(1.1, 0.01, 0.99)).alarm is expected


def test_without_claims_the_champion_must_be_the_anchor() -> None:
    assert not check_anchor([], gain(1.001, 0.01, 0.99)).alarm
    assert check_anchor([], gain(1.05, 0.01, 0.99)).alarm


@pytest.mark.parametrize(
    ("acceptances", "ended", "expected"),
    [
        (0, False, ()),
        (0, True, ()),
        (1, False, ()),
        (9, False, ()),
        (10, False, (0,)),
        (11, False, ()),
        (20, False, (0, 10)),
        (23, True, (0, 13)),
        (3, True, (0,)),
    ],
)
def test_when_anchors_are_due(acceptances: int, ended: bool, expected: tuple[int, ...]) -> None:
    assert anchors_due(POLICY, acceptances, ended=ended) == expected


def test_the_probe_drops_what_is_slower_in_every_pair() -> None:
    slow = -math.log(1.2)
    assert plainly_slower(POLICY, [slow] * 3)
    assert not plainly_slower(POLICY, [slow, slow, -0.01])
    assert not plainly_slower(POLICY, [-math.log(1.1)] * 3)
    assert not plainly_slower(POLICY, [])


def test_suspicion() -> None:
    assert suspicion(POLICY, 2.0, 1.0, 0.9) is None
    assert suspicion(POLICY, 2.0, 0.85, 0.9) is None  # Inside the margin of the floor.
    assert "of the floor" in (suspicion(POLICY, 2.0, 0.8, 0.9) or "")
    assert "in one step" in (suspicion(POLICY, 100.0, 1.0, 0.9) or "")
    assert "in one step" in (suspicion(POLICY, 100.0, 1.0) or "")
    assert suspicion(POLICY, 2.0, 0.001 * 1000) is None
