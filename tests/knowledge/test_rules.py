"""Diagnostics are normalized, sources reduced, and patterns made that match what fails and spare what passes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.outcome import Outcome
from kernelwright.knowledge.conditions import ladder, rung_that_spares
from kernelwright.knowledge.diagnostics import diagnose, kind_of
from kernelwright.knowledge.reduce import ddmin, nearest_passing, reduce_change, reduce_source
from kernelwright.knowledge.tokens import generalized, matches, tokenize

SOURCE = """#include "kernel.h"
/* _Rare in a comment */
static float helper(float value)
{
    return value * 2.0f;
}

void entry(const float *x, float *y)
{
    for (int i = 0; i < N; i++) {
        _Rare wide = helper(x[i]);
        y[i] = wide + 1.0f;
    }
}
"""


@given(st.lists(st.integers(0, 99).map(str), min_size=1, max_size=40, unique=True), st.data())
def test_ddmin_ends_with_exactly_what_is_needed(units: list[str], data: st.DataObject) -> None:
    needed = set(data.draw(st.lists(st.sampled_from(units), min_size=1, max_size=4)))

    def shows(chosen: Sequence[str]) -> bool:
        return needed.issubset(chosen)

    last = list(units)
    for smaller in ddmin(units, shows):
        assert shows(smaller)
        assert len(smaller) < len(last)
        last = smaller
    assert set(last) == needed or len(last) == 1


def test_a_source_is_reduced_to_what_fails_and_what_must_stay() -> None:
    def fails(source: str) -> bool:
        return "_Rare" in [t.text for t in tokenize(source)]

    made = reduce_source(SOURCE, fails, 1000, keep=lambda source: "entry(" in source)
    assert made.minimal
    assert fails(made.source)
    assert [t.text for t in tokenize(made.source)] == ["entry", "(", "_Rare"]


def test_the_budget_ends_a_reduction_with_a_witness_all_the_same() -> None:
    asked: list[str] = []

    def fails(source: str) -> bool:
        asked.append(source)
        return "_Rare" in source

    made = reduce_source(SOURCE, fails, 5)
    assert (len(asked), made.tries, made.minimal) == (5, 5, False)
    assert "_Rare" in made.source


def test_the_nearest_passing_source_lacks_the_shortest_run() -> None:
    failing = "void entry(void)\n{\n    int a = 1;\n    _Rare b;\n}\n"
    passing, tries = nearest_passing(failing, lambda s: "_Rare" not in s and "b" not in s and "{" in s, 200)
    assert passing is not None
    assert "int a = 1" in passing
    assert [t.text for t in tokenize(failing) if t.text not in ("_Rare", "b")] == [t.text for t in tokenize(passing)]
    assert tries <= 200
    assert nearest_passing(failing, lambda _s: False, 30)[0] is None


def test_a_failure_at_run_time_is_reduced_to_the_part_of_the_change_that_makes_it() -> None:
    parent = "".join(f"line {n}\n" for n in range(12))
    design = parent.replace("line 2\n", "good 2\n").replace("line 5\n", "bad 5\n").replace("line 9\n", "good 9\n")
    failing, passing, tries = reduce_change(parent, design, lambda source: "bad" in source, 50)
    assert failing == parent.replace("line 5\n", "bad 5\n")
    assert passing == parent
    assert tries <= 50


@pytest.mark.parametrize(
    ("outcome", "said", "kind"),
    [
        (Outcome.BUILD_FAILED, "kernel.c:3:5: error: unknown type name '_Float16'", "compile-error"),
        (
            Outcome.BUILD_FAILED,
            "ld: kernel.o: undefined reference to `foo'\ncollect2: error: ld returned 1",
            "link-refusal",
        ),
        (Outcome.BUILD_CRASHED, "internal compiler error: in expand", "compiler-crash"),
        (Outcome.BUILD_HUNG, "killed after 60 s", "compiler-hang"),
        (Outcome.BAD_SYMBOLS, "it needs malloc", "link-refusal"),
        (Outcome.CRASHED, "SIGILL", "run-time-trap"),
        (Outcome.WRONG_VALUE, "y[3] is 1, expected 2 within 0.1", "wrong-value"),
        (Outcome.BUILD_FAILED, "cc1: out of memory allocating 1 bytes", None),
        (Outcome.TOO_SLOW, "slow", None),
        (Outcome.DUPLICATE, "same", None),
    ],
)
def test_kinds_follow_from_outcome_and_words(outcome: Outcome, said: str, kind: str | None) -> None:
    assert kind_of(outcome, said) == kind


def test_equal_trouble_has_equal_fingerprints_whatever_names_numbers_and_places() -> None:
    one = diagnose("compile-error", "kernel.c:12:5: error: 'totel' undeclared; did you mean 'total'?", "int totel;")
    two = diagnose("compile-error", "/tmp/x/other.c:7:1: error: \u2018sume\u2019 undeclared", "int sume;")
    other = diagnose("compile-error", "kernel.c:12:5: error: '_Float16' undeclared", "int totel;")
    assert one == two
    assert other[1] != one[1]
    assert "_float16" in other[0]
    far = diagnose("wrong-value", "y[3, 7] is 1.5e-3, expected 2 within 1e-5: too far", "")
    assert far == diagnose("wrong-value", "y[1] is -7, expected 0.25 within 1: too far", "")


def test_a_ladder_goes_from_reserved_names_to_word_for_word() -> None:
    failing = "void entry(float *y)\n{\n    y[0] = __builtin_rare(y[1], 3);\n}\n"
    passing = "void entry(float *y)\n{\n    y[0] = (y[1], 3);\n}\n"
    rungs = ladder(failing, passing, "compile-error", "no such builtin")
    assert rungs[0] == (("__builtin_rare",),)
    for rung in rungs:
        assert matches(rung, tokenize(failing))
        assert not matches(rung, tokenize(passing))
    elsewhere = tokenize("float f(float *q) { return 1 + __builtin_rare(q[2], 9); }")
    assert matches(rungs[0], elsewhere)
    assert not matches(rungs[-1], elsewhere)
    assert rung_that_spares(rungs, 0, [elsewhere]) > 0
    assert rung_that_spares(rungs, 0, [tokenize(failing)]) == len(rungs)


def test_a_message_about_the_source_s_own_names_gives_no_pattern_to_veto_by() -> None:
    assert (
        ladder("int f(void) { return totel; }", "int f(void) { return ; }", "compile-error", "'<1>' undeclared") == ()
    )


def test_a_pragma_s_words_are_the_language_s() -> None:
    tokens = tokenize("#pragma omp for order(reproducible:concurrent)\nfor (int reproducible = 0;;) ;\n")
    words = [generalized(t) for t in tokens]
    assert words[:4] == ["#pragma", "#:omp", "#:for", "#:order"]
    assert words.count("#:reproducible") == 1
    rungs = ladder(
        "#pragma omp for order(reproducible:concurrent)\n",
        "#pragma omp for order(concurrent)\n",
        "compile-error",
        "expected",
    )
    assert matches(rungs[0], tokens)
    assert not matches(rungs[0], tokenize("#pragma omp for\nfor (;;) { order(reproducible:concurrent); }\n"))


def test_run_time_failures_are_matched_word_for_word() -> None:
    failing = "void f(float *y) { y[0] = y[1] + y[2] + 3.0f; }"
    rungs = ladder(failing, "void f(float *y) { y[0] = y[1]; }", "wrong-value", "y is wrong")
    assert matches(rungs[0], tokenize(failing))
    assert not matches(rungs[0], tokenize(failing.replace("3.0f", "4.0f")))


def test_comments_and_strings_never_match() -> None:
    pattern = (("_Rare",),)
    assert matches(pattern, tokenize("_Rare a;"))
    assert not matches(pattern, tokenize('/* _Rare */ const char *s = "_Rare"; // _Rare\n'))
    assert not matches((), tokenize("_Rare a;"))
