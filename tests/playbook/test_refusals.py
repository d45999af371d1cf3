"""What the compiler refused is kept away from: by value, by pair, along levers that grow, and across kernels."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from kernelwright.agents.playbook.chooser import Exhausted, Proposal, Situation, Tried, choose
from kernelwright.agents.playbook.refusals import HOPELESS, Refusals
from kernelwright.agents.playbook.space import Design, Lever, Space, Value, Whole, key, start

LEVERS = (
    Lever("how", ("a", "b"), "decode", "how it is done", structural=True),
    Lever("block", (128, 256, 512, 1024), "memory", "rows in a block", grows=True),
    Lever("buffers", (2, 3, 4), "memory", "blocks in flight", grows=True),
    Lever("path", ("mxu", "vpu", "odd"), "latency", "which unit multiplies"),
    Lever("order", ("rows", "columns"), "memory", "which dimension is outermost"),
)


@dataclass(frozen=True)
class Toy:
    """A space whose designs are refused by a machine that the test plays."""

    kernel: str = "toy"
    levers: tuple[Lever, ...] = LEVERS

    def wholes(self) -> tuple[Whole, ...]:
        return tuple(Whole(f"how {how}", "a structure", {**start(self), "how": how}, first=True) for how in ("a", "b"))

    def canonical(self, design: Design) -> Design:
        return design

    def emit(self, design: Design, says: str = "") -> str:
        return f"# {says}\n{sorted(design.items())}\n"


def design(**levers: Value) -> Design:
    return {**start(Toy()), **levers}


def tried(number: int, outcome: str, **levers: Value) -> Tried:
    return Tried(f"d{number}", None, design(**levers), outcome, None, None)


def test_a_toy_is_a_space() -> None:
    assert isinstance(Toy(), Space)


def test_one_refusal_blames_nothing() -> None:
    assert Refusals(LEVERS, [tried(0, "build-failed", path="odd")]).chance(design(path="odd")) == 0


def test_a_value_that_was_refused_again_and_again_is_to_blame() -> None:
    refused = [tried(n, "build-failed", path="odd", order=o) for n, o in enumerate(("rows", "columns", "rows"))]
    found = Refusals(LEVERS, [*refused, tried(9, "ok"), tried(10, "too-slow", order="columns")])
    assert found.chance(design(path="odd", order="columns", buffers=3)) >= HOPELESS
    assert found.reason(design(path="odd")) == "path odd was refused 3 times"
    assert found.chance(design()) < 0.5
    assert found.chance(design(path="vpu")) < 0.5


def test_a_pair_is_to_blame_where_each_value_alone_compiles() -> None:
    refused = [tried(n, "build-failed", path="vpu", order="columns", buffers=b) for n, b in enumerate((2, 3, 4))]
    compiled = [tried(3 + n, "ok", path="vpu", buffers=b) for n, b in enumerate((2, 3, 4))]
    compiled += [tried(6 + n, "ok", order="columns", buffers=b) for n, b in enumerate((2, 3, 4))]
    found = Refusals(LEVERS, [*refused, *compiled])
    assert found.chance(design(path="vpu", order="columns")) >= HOPELESS
    assert found.chance(design(path="vpu")) < 0.5
    assert found.chance(design(order="columns")) < 0.5


def test_what_is_too_large_is_so_at_larger_values_too() -> None:
    refused = [tried(n, "build-failed", block=512, path=path) for n, path in enumerate(("mxu", "vpu", "odd"))]
    compiled = [tried(3 + n, "ok", block=256, path=path) for n, path in enumerate(("mxu", "vpu", "odd"))]
    found = Refusals(LEVERS, [*refused, *compiled])
    assert found.chance(design(block=1024)) >= HOPELESS
    assert found.chance(design(block=128)) < 0.5


def test_refusals_elsewhere_count_half() -> None:
    far = [Tried("k/9", None, design(), "ok", None, None)]
    far += [Tried(f"k/{n}", None, design(path="odd"), "build-failed", None, None) for n in range(3)]
    here = [tried(0, "ok")]
    assert Refusals(LEVERS, here, far).chance(design(path="odd")) == 0
    assert Refusals(LEVERS, here, [*far, far[-1]]).chance(design(path="odd")) > 0.5


def test_what_compiles_elsewhere_says_nothing_of_what_is_refused_here() -> None:
    refused = [tried(n, "build-failed", path="odd", buffers=b) for n, b in enumerate((2, 3))]
    far = [Tried(f"k/{n}", None, design(path="odd"), "ok", None, None) for n in range(9)]
    assert Refusals(LEVERS, [tried(8, "ok"), *refused], far).chance(design(path="odd")) >= HOPELESS


def test_what_compiles_here_is_not_refused_for_what_is_so_elsewhere() -> None:
    far = [Tried("k/0", None, design(), "ok", None, None)]
    far += [Tried(f"k/{n}", None, design(path="odd"), "build-failed", None, None) for n in range(1, 9)]
    assert Refusals(LEVERS, [tried(0, "ok")], far).chance(design(path="odd")) >= HOPELESS
    assert Refusals(LEVERS, [tried(0, "ok", path="odd")], far).chance(design(path="odd")) == 0


def test_what_compiles_at_times_does_not_take_the_blame_of_what_never_does() -> None:
    """A base whose own values met many refusals, each for another move, is not why any of them was refused."""
    moves: list[dict[str, Value]] = [{"path": "odd"}, {"order": "columns"}, {"buffers": 4}, {"block": 1024}]
    refused = [tried(n, "build-failed", **move) for n, move in enumerate([*moves, *moves, *moves])]
    found = Refusals(LEVERS, [tried(20, "ok"), *refused])
    assert all(found.chance(design(**move)) >= HOPELESS for move in moves)
    assert found.chance(design(path="vpu")) < HOPELESS


def test_nothing_is_to_blame_while_nothing_has_compiled() -> None:
    refused = [tried(n, "build-failed", how=how) for n, how in enumerate(("a", "b", "a"))]
    assert Refusals(LEVERS, refused).chance(design()) == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ok", "build-failed", "too-slow", "vetoed", "duplicate"]),
            st.sampled_from([128, 256, 512, 1024]),
            st.sampled_from(["mxu", "vpu", "odd"]),
        )
    )
)
def test_a_chance_is_a_chance_and_comes_with_its_reason(fates: list[tuple[str, int, str]]) -> None:
    found = Refusals(LEVERS, [tried(n, o, block=b, path=p) for n, (o, b, p) in enumerate(fates)])
    for path in ("mxu", "vpu", "odd"):
        chance = found.chance(design(path=path))
        assert 0 <= chance < 1
        assert bool(chance) == bool(found.reason(design(path=path)))


def refused_by_the_machine(levers: Design) -> bool:
    return levers["path"] == "odd" or int(levers["block"]) * int(levers["buffers"]) > 1536


def test_a_search_learns_what_does_not_compile() -> None:
    """Of a space where half the designs are refused, the later half of the search meets fewer than the earlier."""
    space, done, best, level = Toy(), [Tried("base", None, {}, "ok", "accepted", None)], "base", 0.0
    failed = []
    while isinstance(answer := choose(Situation(space, done, best, 7)), Proposal):
        refused = refused_by_the_machine(answer.levers)
        failed.append(refused)
        gain = 0.1 * LEVERS[1].values.index(answer.levers["block"]) + 0.05 * int(answer.levers["buffers"])
        better = not refused and gain > level
        done.append(
            Tried(
                f"d{len(done)}",
                answer.parent,
                answer.levers,
                "build-failed" if refused else "ok",
                None if refused else "accepted" if better else "rejected",
                None if refused else gain - level,
            )
        )
        if better:
            best, level = done[-1].id, gain
    assert isinstance(answer, Exhausted)
    half = len(failed) // 2
    assert sum(failed[:half]) > sum(failed[half:])
    assert sum(failed) < len(failed) / 2
    assert "refused again and again" in answer.reason
    tried_keys = [key(space, t.levers) for t in done[1:]]
    assert len(set(tried_keys)) == len(tried_keys)
