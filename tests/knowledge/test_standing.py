"""Statuses are folds: what a check says holds wherever the parts that it rests on are the same, and nowhere else."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from kernelwright.events.views.standing import Finding, fingerprints_alike, stand

PARTS = ("chip", "compiler", "flags")
TOOLCHAINS = {
    f"{chip}{compiler}{flags}": {"chip": chip, "compiler": compiler, "flags": flags}
    for chip in "ab"
    for compiler in "12"
    for flags in "xy"
}
toolchains = st.sampled_from(sorted(TOOLCHAINS))
depends = st.sets(st.sampled_from(PARTS)).map(lambda names: tuple(sorted(names)))


@st.composite
def histories(draw: st.DrawFn) -> list[Finding]:
    outcomes = st.sampled_from(["held", "failed", "unable"])
    made = draw(st.lists(st.tuples(outcomes, toolchains, depends), max_size=8))
    return [Finding(o, t, d, f"f:{n}", n) for n, (o, t, d) in enumerate(made)]  # type: ignore[arg-type]  # a literal


@given(histories(), toolchains)
def test_the_latest_telling_check_under_a_like_toolchain_decides(findings: list[Finding], now: str) -> None:
    like = [f for f in findings if fingerprints_alike(f.toolchain, now, f.depends, TOOLCHAINS)]
    telling = [f for f in like if f.outcome != "unable"]
    standing = stand(findings, now, TOOLCHAINS)
    if telling:
        assert standing.status == ("valid" if telling[-1].outcome == "held" else "refuted")
        assert standing.finding == telling[-1]
    elif like:
        assert standing.status == "unchecked"
    else:
        assert standing.status == ("stale" if findings else "unchecked")


@given(histories(), toolchains, toolchains, depends)
def test_what_happens_under_another_toolchain_changes_nothing_here(
    findings: list[Finding], here: str, there: str, on: tuple[str, ...]
) -> None:
    elsewhere = Finding("failed", there, on, "f:new", 99)
    assume(not fingerprints_alike(there, here, on, TOOLCHAINS))
    before, after = stand(findings, here, TOOLCHAINS), stand([*findings, elsewhere], here, TOOLCHAINS)
    if findings:
        assert after.status == before.status
    else:
        assert (before.status, after.status) == ("unchecked", "stale")


@given(toolchains, toolchains)
def test_switching_back_restores_validity_without_a_check(first: str, second: str) -> None:
    findings = [Finding("held", first, ("compiler",), "f:1", 1)]
    under_second = stand(findings, second, TOOLCHAINS).status
    same_compiler = TOOLCHAINS[first]["compiler"] == TOOLCHAINS[second]["compiler"]
    assert under_second == ("valid" if same_compiler else "stale")
    assert stand(findings, first, TOOLCHAINS).status == "valid"


def test_a_new_compiler_leaves_a_reading_of_the_chip_alone_and_a_new_chip_does_not() -> None:
    reading = [Finding("held", "a1x", ("chip",), "f:1", 1)]
    assert stand(reading, "a2x", TOOLCHAINS).status == "valid"
    assert stand(reading, "b1x", TOOLCHAINS).status == "stale"


def test_an_item_that_rests_on_everything_is_stale_after_any_change() -> None:
    assert stand([Finding("held", "a1x", (), "f:1", 1)], "a1y", TOOLCHAINS).status == "stale"


def test_a_toolchain_whose_parts_are_unknown_is_like_no_other() -> None:
    assert stand([Finding("held", "?", ("chip",), "f:1", 1)], "a1x", TOOLCHAINS).status == "stale"
    assert stand([Finding("held", "?", ("chip",), "f:1", 1)], "?", TOOLCHAINS).status == "valid"


def test_retired_is_the_word_for_a_rule_that_does_not_hold() -> None:
    findings = [Finding("held", "a1x", ("compiler",), "f:1", 1), Finding("failed", "a2x", ("compiler",), "f:2", 2)]
    assert stand(findings, "a2x", TOOLCHAINS, failed="retired").status == "retired"
    assert stand(findings, "a1x", TOOLCHAINS, failed="retired").status == "valid"
