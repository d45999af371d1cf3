"""Policies: what is refused and how it is said, round trips, and the digest."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.acceptance.policy import _RANGES, Policy, PolicyError


def test_every_field_has_a_range_and_a_docstring_worthy_name() -> None:
    assert set(_RANGES) == {field.name for field in dataclasses.fields(Policy)}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"acept_e": 50}, ["acept_e", "unknown", "'accept_e'"]),
        ({"pair_capp": 50}, ["pair_capp", "'pair_cap'"]),
        ({"nonsense": 1}, ["nonsense", "known:", "accept_e", "probe_slower"]),
        ({"accept_e": "100"}, ["accept_e", "a number", "'100'"]),
        ({"accept_e": True}, ["accept_e", "a number", "True"]),
        ({"accept_e": None}, ["accept_e", "a number"]),
        ({"min_pairs": 8.0}, ["min_pairs", "a whole number", "8.0"]),
        ({"min_pairs": False}, ["min_pairs", "a whole number"]),
        ({"shifts": 0.01}, ["shifts", "a list of numbers"]),
        ({"shifts": ["0.01"]}, ["shifts", "a list of numbers"]),
        ({"shifts": []}, ["shifts", "one or more"]),
        ({"shifts": [0.01, -0.02]}, ["shifts", "above 0"]),
        ({"accept_e": 1}, ["accept_e", "above 1"]),
        ({"accept_e": float("nan")}, ["accept_e", "above 1"]),
        ({"futile_e": float("inf")}, ["futile_e", "above 1"]),
        ({"tail_weight": 0}, ["tail_weight", "between 0 and 1"]),
        ({"idle_weight": 1.0}, ["idle_weight", "below 1"]),
        ({"pair_cap": 4}, ["pair_cap", "min_pairs (8)"]),
    ],
)
def test_a_bad_mapping_is_refused_with_key_and_expectation(values: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(PolicyError) as refused:
        Policy.from_mapping(values)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("accept_e", ["accept_e", "key=value"]),
        ("accept_e=many", ["accept_e", "a number", "'many'"]),
        ("min_pairs=8.5", ["min_pairs", "a whole number", "'8.5'"]),
        ("shifts=0.01,x", ["shifts", "a list of numbers"]),
        ("shifts=", ["shifts", "one or more"]),
        ("Accept_E=3", ["Accept_E", "unknown", "accept_e"]),
        ("=3", ["unknown"]),
        ("confidence=95", ["confidence", "between 0 and 1"]),
    ],
)
def test_a_bad_override_is_refused(override: str, words: list[str]) -> None:
    with pytest.raises(PolicyError) as refused:
        Policy().with_overrides([override])
    for word in words:
        assert word in str(refused.value)


def test_overrides_apply_in_order_and_leave_the_original_alone() -> None:
    policy = Policy()
    changed = policy.with_overrides(
        ["accept_e=20", "shifts = 0.02, 0.04", "accept_e=50", "min_pairs=6", "scales=(1.0)"]
    )
    assert (changed.accept_e, changed.shifts, changed.min_pairs, changed.scales) == (50.0, (0.02, 0.04), 6, (1.0,))
    assert policy == Policy()
    assert policy.with_overrides([]) == policy


def test_a_pair_of_overrides_is_judged_together() -> None:
    changed = Policy().with_overrides(["min_pairs=60", "pair_cap=96"])
    assert (changed.min_pairs, changed.pair_cap) == (60, 96)


def test_whole_numbers_serve_as_numbers_and_lists_as_tuples() -> None:
    policy = Policy.from_mapping({"accept_e": 50, "shifts": [1, 0.5]})
    assert policy.accept_e == 50.0
    assert isinstance(policy.accept_e, float)
    assert policy.shifts == (1.0, 0.5)


def test_round_trip_through_json() -> None:
    policy = Policy(accept_e=33.5, shifts=(0.1, 0.2), pair_cap=77)
    again = Policy.from_mapping(json.loads(json.dumps(policy.as_dict())))
    assert again == policy
    assert again.digest == policy.digest


@given(st.sampled_from(dataclasses.fields(Policy)))
def test_the_digest_tells_every_field_apart(field: dataclasses.Field[Any]) -> None:
    policy = Policy()
    value = getattr(policy, field.name)
    changed: Any = value[:1] if isinstance(value, tuple) else value + 1 if isinstance(value, int) else value * 0.99
    assert dataclasses.replace(policy, **{field.name: changed}).digest != policy.digest


def test_the_digest_of_the_defaults_changes_only_on_purpose() -> None:
    # Stored judgements name it. A new default or a new rule is a new digest; then change it here.
    assert Policy().digest == "34dfe8089ed0865e"
