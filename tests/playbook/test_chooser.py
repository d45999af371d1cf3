"""The chooser: equal answers to equal questions, never the same design twice, and sense in what it picks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from kernelwright.agents.playbook.chooser import Exhausted, Proposal, Situation, Tried, choose
from kernelwright.agents.playbook.cpu.isa import Isa
from kernelwright.agents.playbook.cpu.levers import KERNELS
from kernelwright.agents.playbook.cpu.space import CpuSpace
from kernelwright.agents.playbook.space import DesignKey, Value, key, small_changes, start, valid

AVX2 = Isa("avx2")
BASELINE = Tried("baseline", None, {}, "ok", "accepted", 0.0)
ATTENTION = CpuSpace("sliding_attention_output", AVX2)


def grown(kernel: str, fates: list[tuple[str, float]], seed: int) -> list[tuple[Situation, Proposal]]:
    """A tree grown by the chooser itself, each proposal meeting the fate of its turn."""
    tried, best, steps = [BASELINE], "baseline", []
    for number, (fate, gain) in enumerate(fates):
        situation = Situation(CpuSpace(kernel, AVX2), tuple(tried), best, seed, floor_ratio=1.5)
        proposal = choose(situation)
        if isinstance(proposal, Exhausted):
            # Where no whole design ran, there is nothing to make small changes of.
            assert not any(each.levers and each.log_gain is not None for each in tried)
            break
        steps.append((situation, proposal))
        compared = fate in ("accepted", "rejected", "undecided")
        name = f"d{number}"
        outcome, verdict = ("ok", fate) if compared else (fate, None)
        signed = abs(gain) if fate == "accepted" else gain
        tried.append(Tried(name, proposal.parent, proposal.levers, outcome, verdict, signed if compared else None))
        if fate == "accepted":
            best = name
    return steps


FATES = st.lists(
    st.tuples(
        st.sampled_from(["accepted", "rejected", "undecided", "build-failed", "wrong-value", "too-slow"]),
        st.floats(-0.3, 0.3),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=25, deadline=None)
@given(kernel=st.sampled_from(KERNELS), fates=FATES, seed=st.integers(0, 2**31))
def test_every_proposal_is_new_valid_and_hangs_on_a_known_design(
    kernel: str, fates: list[tuple[str, float]], seed: int
) -> None:
    space = CpuSpace(kernel, AVX2)
    seen: set[DesignKey] = set()
    for situation, proposal in grown(kernel, fates, seed):
        assert valid(space, proposal.levers)
        assert key(space, proposal.levers) not in seen
        seen.add(key(space, proposal.levers))
        assert proposal.parent in {t.id for t in situation.tried}
        assert f"void {kernel}(" in proposal.source
        assert proposal.title
        assert proposal.rationale


@settings(max_examples=10, deadline=None)
@given(kernel=st.sampled_from(KERNELS), fates=FATES, seed=st.integers(0, 2**31))
def test_equal_situations_get_equal_answers(kernel: str, fates: list[tuple[str, float]], seed: int) -> None:
    for situation, proposal in grown(kernel, fates, seed):
        assert choose(replace(situation)) == proposal


def first() -> tuple[dict[str, Value], list[Tried]]:
    """The first whole design as the best, and all the others tried and rejected."""
    tried = [BASELINE]
    for number, whole in enumerate(ATTENTION.wholes()):
        verdict = "rejected" if number else "accepted"
        tried.append(Tried(f"w{number}", "baseline", whole.design, "ok", verdict, 2.0 - number))
    return dict(tried[1].levers), tried


def test_whole_designs_come_first_in_their_order() -> None:
    wholes = [whole for whole in ATTENTION.wholes() if whole.first]
    proposals = [proposal for _, proposal in grown(ATTENTION.kernel, [("rejected", -0.1)] * len(wholes), 0)]
    assert [p.levers for p in proposals] == [whole.design for whole in wholes]
    assert {p.kind for p in proposals} == {"whole"}


def test_two_near_misses_are_put_together() -> None:
    best, tried = first()
    for name, change in (("a", {"unroll": 2}), ("b", {"hint": "l1"})):
        tried.append(Tried(name, "w0", {**best, **change}, "ok", "undecided", 0.008))
    proposal = choose(Situation(ATTENTION, tried, "w0", 1))
    assert isinstance(proposal, Proposal)
    assert proposal.parent == "w0"
    assert proposal.levers == {**best, "unroll": 2, "hint": "l1"}
    assert "+0.8 %" in proposal.rationale


def test_a_move_that_helped_elsewhere_comes_before_those_that_hurt() -> None:
    _, tried = first()
    other = start(CpuSpace("sliding_project_qkv", AVX2))
    elsewhere = [
        Tried("q", None, other, "ok", "accepted", 0.0),
        Tried("good", "q", {**other, "unroll": 2}, "ok", "accepted", 0.08),
    ]
    situation = Situation(ATTENTION, tried, "w0", 1, elsewhere=elsewhere)
    proposal = choose(situation)
    assert isinstance(proposal, Proposal)
    assert proposal.title == "unroll 2"
    hurt = [elsewhere[0], replace(elsewhere[1], verdict="rejected", log_gain=-0.3)]
    order = choose(replace(situation, elsewhere=hurt))
    assert isinstance(order, Proposal)
    assert order.title != "unroll 2"


def test_after_a_run_of_misses_the_runner_up_gets_a_turn() -> None:
    best, tried = first()
    changes = small_changes(ATTENTION, best)[:8]
    tried += [Tried(f"m{i}", "w0", c.design, "ok", "rejected", -0.9 - i) for i, c in enumerate(changes)]
    # The other whole designs count as misses too, so the parity is set by their number.
    for extra in range(2):
        proposal = choose(Situation(ATTENTION, tried, "w0", 3))
        assert isinstance(proposal, Proposal)
        if proposal.parent != "w0":
            break
        tried.append(Tried(f"x{extra}", "w0", proposal.levers, "ok", "rejected", -0.9))
    assert isinstance(proposal, Proposal)
    assert proposal.parent == "w1"


def test_a_person_s_design_as_the_best_is_no_obstacle() -> None:
    _, tried = first()
    tried.append(Tried("person", "w0", {}, "ok", "accepted", 0.1))
    proposal = choose(Situation(ATTENTION, tried, "person", 3))
    assert isinstance(proposal, Proposal)
    assert proposal.kind == "small"
    assert proposal.parent == "w0"


def test_when_all_is_tried_it_says_so() -> None:
    space = CpuSpace(ATTENTION.kernel, Isa("portable"))
    tried, best = [BASELINE], "baseline"
    everything = {key(space, w.design): w.design for w in space.wholes()}
    for whole in list(everything.values()):
        for change in small_changes(space, whole):
            everything.setdefault(key(space, change.design), change.design)
    tried += [Tried(f"d{i}", "baseline", d, "build-failed", None, None) for i, d in enumerate(everything.values())]
    answer = choose(Situation(space, tried, best, 1))
    assert isinstance(answer, Exhausted)
    assert str(len(everything)) in answer.reason
