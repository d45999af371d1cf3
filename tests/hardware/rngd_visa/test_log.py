"""Logs of the contest's test program: readings, what is missing, and lines that cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.rngd.visa.arena.log import medians, parse_log

LOG = """==> waiting on job 18961
[sliding_project_qkv q run0] max|Δ|=0.03125 (1.45% of expected)
    mean|Δ|=0.000996 within tol=100.00% -> PASS
[sliding_project_qkv k run0] max|d|=0.0156 within tol=100.00% -> PASS
    median cycles=92419 (of 3 runs: [101675, 92419, 92007])

[sliding_attention_output run0] max|d|=0.2 within tol=99.10% -> FAIL
    cycles=45109

[decoder_feedforward run0] max|d|=0.0078 within tol=100.00% -> PASS
    cycles=none observed
all 3 tests passed
"""


def test_the_three_forms_of_cycles() -> None:
    log = parse_log(LOG)
    qkv, attention, feedforward = log.readings
    assert (qkv.kernel, qkv.runs, qkv.passed) == ("sliding_project_qkv", (101675, 92419, 92007), True)
    assert (attention.runs, attention.passed) == ((45109,), False)
    assert feedforward.missing
    assert feedforward.passed
    assert [check.label for check in log.checks] == ["q run0", "k run0", "run0", "run0"]
    assert log.checks[0].max_difference == 0.03125
    assert log.problems == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("    cycles=12x45", "not a whole number"),
        ("    cycles=", "not a whole number"),
        ("    cycles=0", "no launch can take"),
        ("    cycles=-7", "not a whole number"),
        ("    median cycles=5 (of 3 runs: [5, 5])", "says 3 runs and lists 2"),
        ("    median cycles=9 (of 3 runs: [5, 6, 7])", "is not that of the runs"),
        ("    median cycles=5 (of 3 runs: [5, 6", "not a whole number"),
        ("@@kernelwright begin pair=1@@", "a mark that cannot be read"),
        ("@@AB_END 1 A rc=0@@", "did not begin"),
        ("[sliding_project_qkv v run0] max|d|=many", "not a number"),
    ],
)
def test_bad_lines_are_named(line: str, why: str) -> None:
    log = parse_log(f"[k run0] max|d|=0.1 -> PASS\n{line}\n")
    (problem,) = log.problems
    assert problem.line == 2
    assert why in problem.why
    assert log.readings == ()


def test_what_other_harnesses_add() -> None:
    log = parse_log("[k run0] max|d|=0 -> PASS\n  median cycles=77 min=70 max=80\n  k q cycles=78 sd=1.5%\n")
    assert [reading.runs for reading in log.readings] == [(77,), (78,)]
    assert log.problems == ()


def test_cycles_of_nothing_and_a_verdict_that_never_comes() -> None:
    assert "no kernel" in parse_log("cycles=5\n").problems[0].why
    assert parse_log("[k run0] max|d|=0.1\n").problems[0].why == "no verdict follows"


def test_not_a_number_is_a_difference_without_bound() -> None:
    (check,) = parse_log("[k run0] max|d|=NaN within tol=0% -> FAIL\n").checks
    assert check.max_difference == float("inf")


def test_marks_of_another_harness() -> None:
    log = parse_log(
        "@@AB_BEGIN 1 A@@\n[k run0] max|d|=0 -> PASS\n    cycles=10\n@@AB_END 1 A rc=0@@\n"
        "@@AB_BEGIN 1 B@@\n[k run0] max|d|=0 -> PASS\n    cycles=11\n"
    )
    assert [(each.pair, each.arm, each.status) for each in log.launches] == [("1", "A", 0), ("1", "B", None)]
    assert [reading.launch for reading in log.readings] == [0, 1]


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=9), st.sampled_from(("", "median ")), st.booleans())
def test_what_is_printed_is_read(runs: list[int], word: str, windows: bool) -> None:
    listed = f"median cycles={medians(tuple(runs))[0]} (of {len(runs)} runs: {runs})"
    text = f"[k run0] max|Δ|=0.1 -> PASS\n    {listed if word or len(runs) > 1 else f'cycles={runs[0]}'}\n"
    log = parse_log(text.replace("\n", "\r\n") if windows else text)
    assert [reading.runs for reading in log.readings] == [tuple(runs)]
    assert log.problems == ()


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    log = parse_log(text)
    assert all(reading.runs == () or min(reading.runs) > 0 for reading in log.readings)
