"""Numbers as people read them."""

from __future__ import annotations

import pytest
from kernelwright.cli.output import seconds_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (3.4e-7, "340 ns"),
        (3.93e-5, "39.3 us"),
        (9.0e-4, "900 us"),
        (0.0123, "12.3 ms"),
        (0.9997, "1000 ms"),
        (1.0, "1 s"),
        (437.6, "438 s"),
    ],
)
def test_durations_have_three_digits_and_a_fitting_unit(value: float | None, text: str) -> None:
    assert seconds_text(value) == text
