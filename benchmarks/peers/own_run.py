"""A Kernelwright run on one kernel, made by a benchmark: the loop, the playbook, the CPU target, a log in a given file."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from kernelwright import __version__
from kernelwright.acceptance.policy import Policy
from kernelwright.agents.playbook.specialist import Playbook
from kernelwright.events.log import EventLog
from kernelwright.graph.runner import Plan, drive, start_run, workbench
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.kernels.spec import KernelSpec

RUN = "kernelwright"
"""Its name in the log."""


def search(target: CpuTarget, spec: KernelSpec, minutes: float, seed: int, store: Path) -> float:
    """Search for ``minutes``; returns how many seconds it took. The result is in the log at ``store``."""
    begun = time.perf_counter()
    with contextlib.closing(EventLog.open(str(store), create=True)) as log:
        start_run(log, Plan(RUN, target.name, (spec.name,), Policy(), seed, minutes, {}, __version__))
        with workbench(log, RUN, target, {spec.name: spec}, Playbook()) as wb:
            drive(wb, lambda *_: None)
    return time.perf_counter() - begun
