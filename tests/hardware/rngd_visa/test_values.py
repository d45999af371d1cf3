"""Values on the CPU: what counts against a design, and what only shows where the emulator ends."""

from __future__ import annotations

import pytest
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.visa import values as module
from support.rngd.workshop import design, spec

from .conftest import Make


@pytest.mark.parametrize(
    ("said", "outcome", "words"),
    [
        ({}, Outcome.OK, ""),
        ({"values": "wrong"}, Outcome.WRONG_VALUE, "max|d| = 9.5"),
        ({"values": "panic"}, Outcome.NO_VALUES, "in the emulator or its library"),
        ({"values": "own-panic"}, Outcome.NO_VALUES, "in the project, perhaps for the emulator, at src/ops.rs:3:5"),
        ({"values": "nothing"}, Outcome.NO_VALUES, "compared nothing of double"),
        ({"values": "refused"}, Outcome.BUILD_FAILED, "to_trf"),
    ],
)
def test_outcomes(make: Make, said: dict[str, object], outcome: Outcome, words: str) -> None:
    target = make()
    with target.open(spec(), 1) as bench:
        report = bench.verify(target.build(spec(), design(**said)), 7)
    assert report.outcome is outcome, report.reason
    assert words in report.reason
    if outcome is Outcome.OK:
        assert report.details == {"comparisons": 1, "max_difference": 0.03125}


def test_a_run_without_an_end(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "VALUES_SECONDS", 2.0)
    report = module.values(make().tools, spec(), design(values="hang"))
    assert report.outcome is Outcome.NO_VALUES
    assert "was ended" in report.reason
