"""What a reading may consist of: as many calls as fit, and never fewer than those that the best was accepted by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.graph.steps.calibrate import CALLS, kinds_of_reading
from kernelwright.graph.steps.compare import LONGEST_READING_SECONDS, MOST_CALLS


@pytest.mark.parametrize(
    ("seconds", "least", "kinds"),
    [
        (10e-6, 1, CALLS),
        (10e-6, 4, (4, MOST_CALLS)),
        (10e-6, MOST_CALLS, (MOST_CALLS,)),
        (LONGEST_READING_SECONDS, 1, (1,)),
        (10 * LONGEST_READING_SECONDS, 1, (1,)),
        (LONGEST_READING_SECONDS, 4, (4,)),
    ],
)
def test_kinds(seconds: float, least: int, kinds: tuple[int, ...]) -> None:
    assert kinds_of_reading(seconds, least) == kinds


@given(st.floats(1e-7, 10.0), st.sampled_from(CALLS))
def test_a_faster_best_is_never_read_by_fewer_calls(seconds: float, least: int) -> None:
    found = kinds_of_reading(seconds, least)
    assert found
    assert min(found) >= least
    assert kinds_of_reading(seconds / 3, least)[-1] >= found[-1]
