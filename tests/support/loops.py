"""Whole runs on the simulated target, quickly and repeatably: fixed entropy, a calibration that is not simulated."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from kernelwright.acceptance.calibration import Calibration
from kernelwright.acceptance.policy import Policy
from kernelwright.events.log import EventLog
from kernelwright.events.views.run import RunView
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.graph.steps import calibrate as calibrate_step
from kernelwright.graph.workbench import Workbench
from kernelwright.hardware.lease import RUNTIME_VARIABLE

from support.simulated import GOOD_SCRIPT, NOISE, Script, SimulatedTarget, toy_spec

ENTROPY = "00112233445566778899aabbccddeeff"
KERNELS = ("double",)


def known_noise(policy: Policy, readings: object, rng: object) -> Calibration:
    """A calibration that knows the simulation's noise; the real one simulates thousands of comparisons."""
    scale = NOISE * 2**0.5
    return Calibration(scale, 0.02, False, "known", 1, "mean", 0.0, 1.0, ())


@contextmanager
def repeatable(runtime: Path | None = None) -> Iterator[None]:
    """Runs made inside have the same entropy, and calibrate in no time. ``runtime`` is their folder of device leases."""
    with (
        # A lease folder of its own: a run made elsewhere on the host does not make this one wait.
        nullcontext(str(runtime)) if runtime else TemporaryDirectory(prefix="kernelwright-test-") as folder,
        patch.dict(os.environ, {RUNTIME_VARIABLE: folder}),
        patch("secrets.token_hex", lambda _bytes: ENTROPY),
        patch.object(calibrate_step, "calibrate", known_noise),
    ):
        yield


def begin(log: EventLog, run: str = "r", minutes: float = 60.0, policy: Policy | None = None) -> None:
    """Record the start of a run."""
    start_run(log, Plan(run, "simulated", KERNELS, policy or Policy(), 0, minutes, {}, "test"))


@contextmanager
def bench(log: EventLog, run: str = "r", journal: Path | None = None) -> Iterator[Workbench]:
    """A workbench of a run on the simulated target."""
    target = SimulatedTarget(journal=journal)
    with workbench(log, run, target, {name: toy_spec(name) for name in KERNELS}, Script(GOOD_SCRIPT)) as wb:
        yield wb


def quietly(_view: RunView, _step: object, _outcome: str) -> None:
    """An observer that does not look."""


def whole_run(
    log: EventLog, run: str = "r", *, until: Callable[[RunView], bool] | None = None, policy: Policy | None = None
) -> RunView:
    """A run from its start to its end, or until ``until`` holds."""
    with repeatable():
        begin(log, run, policy=policy)
        with bench(log, run) as wb:
            drive(wb, quietly, until=until)
            return wb.view


def go_on(log: EventLog, run: str = "r", journal: Path | None = None) -> RunView:
    """Take a run up again and bring it to its end."""
    with repeatable(), bench(log, run, journal) as wb:
        if wb.view.stopped is None or wb.view.stopped.reason != "finished":
            resume(wb, wb.view.minutes, "search")
            drive(wb, quietly)
        return wb.view
