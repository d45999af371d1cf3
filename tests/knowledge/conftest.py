"""Calibration is tested elsewhere; here its simulation of power, which takes a second, is left out."""

from __future__ import annotations

import numpy as np
import pytest
from kernelwright.acceptance.calibration import Calibration, SameReadings
from kernelwright.acceptance.policy import Policy


def quick(_policy: Policy, readings: list[SameReadings], _rng: np.random.Generator) -> Calibration:
    """The scale from the readings, and no search for the smallest detectable gain."""
    first = readings[0]
    scale = float(np.std(first.differences)) or 0.01
    return Calibration(scale, 0.02, False, "as it was read", first.calls, "quick", first.device_seconds, 1.0, ())


@pytest.fixture(autouse=True)
def quick_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.graph.steps.calibrate.calibrate", quick)
