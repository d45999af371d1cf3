"""A comparison that is followed reading by reading decides as one that is decided from all its readings."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from kernelwright.acceptance.policy import Policy
from kernelwright.events.base import Context
from kernelwright.events.tree import DesignProposed, DesignTree, PairsRead
from kernelwright.events.views.decisions import comparison, decision
from kernelwright.events.views.design import DesignView

LOOKS = st.lists(st.tuples(st.lists(st.floats(-0.2, 0.3), max_size=6), st.sampled_from([0.01, 0.03])), max_size=12)


def a_design(tree: DesignTree) -> DesignView:
    content: dict[str, Any] = {"by": "test", "title": "", "rationale": "", "levers": {}, "source": "s" * 64}
    for name, kind, parent in (("d0000", "baseline", None), ("d0001", "whole", "d0000")):
        event = tree.propose(Context(), design=name, kind=kind, parent=parent, normalized=name, **content)
    assert isinstance(event, DesignProposed)
    return DesignView(event, event.ref)


def a_reading(tree: DesignTree, differences: list[float], scale: float, turn: int) -> PairsRead:
    event = tree.read(
        Context(),
        purpose="decide" if turn else "screen",
        best="d0000",
        candidate="d0001",
        best_artifact="a",
        candidate_artifact="b",
        calls=1,
        scale=scale,
        turn=turn,
        orders=("BC",) * len(differences),
        best_seconds=tuple(exp(difference) for difference in differences),
        candidate_seconds=(1.0,) * len(differences),
        outcome="ok",
        reason="",
        blamed="nobody",
        device_seconds=1.0,
    )
    assert isinstance(event, PairsRead)
    return event


@given(LOOKS, st.data())
def test_followed_and_decided_at_once_are_the_same(looks: list[tuple[list[float], float]], data: st.DataObject) -> None:
    policy, tree = Policy(), DesignTree.new("r", "k")
    design = a_design(tree)
    for turn, (look, scale) in enumerate(looks):
        design.readings.append(a_reading(tree, look, scale, turn))
        if data.draw(st.booleans(), "look"):
            assert comparison(policy, design, "d0000").decision() == decision(policy, design.readings)
            ahead = comparison(policy, design, "d0000").copy()
            if ahead.verdict == "continue":
                ahead.add(0.1, 0.02)
    assert comparison(policy, design, "d0000").decision() == decision(policy, design.readings)


@given(LOOKS)
def test_another_policy_or_other_readings_begin_anew(looks: list[tuple[list[float], float]]) -> None:
    policy, tree = Policy(), DesignTree.new("r", "k")
    design = a_design(tree)
    design.readings = [a_reading(tree, look, scale, turn) for turn, (look, scale) in enumerate(looks)]
    comparison(policy, design, "d0000")
    slower = replace(policy, min_pairs=policy.min_pairs + 3)
    assert comparison(slower, design, "d0000").decision() == decision(slower, design.readings)
    design.readings = [a_reading(tree, [0.1, 0.2], 0.02, 0)]
    assert comparison(slower, design, "d0000").decision() == decision(slower, design.readings)
    assert comparison(slower, design, "d0009").decision() == decision(slower, [])
