"""A real upgrade: a run under furiosa-tcc 2026.3.0 goes on under 2026.4.0, which knows more and has another command line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.events.log import EventLog
from kernelwright.events.views.knowledge import load_knowledge
from kernelwright.events.views.run import RunView
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.graph.step import Step
from kernelwright.hardware.rngd.tcl.build import CROSS_COMPILER
from kernelwright.hardware.rngd.tcl.target import TclTarget
from support.rngd.tcc import SUM, tiny_sum
from support.simulated import Script

from .conftest import NEW, OLD, Make

TWO_PASSES = """def tiny_sum(N: Axis = 256, K: Axis = 512, a: [N, K]/bf16, b: [N]/bf16) -> [N]/f32:
    bare: [N]/f32 = tk.ReduceByVe(
        %0 = read(a, typecast_to=f32)
        %1 = ve.exec(+ t[K] %0)
        write.to([N]/f32)
    )
    total: [N]/f32 = tk.Interleaving(
        %0 = read(bare)
        %1 = read(b, typecast_to=f32)
        %2 = ve.exec(%0 + %1)
        write.to([N]/f32)
    )
    return total
"""
DESIGNS = (TWO_PASSES, SUM.replace("tk.ReduceByVe", "tk.EinsumByVe"))
"""One that both releases take, and one that neither does."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def work(log: EventLog, target: TclTarget, *, first: bool) -> tuple[RunView, list[str]]:
    """Work at the run until it stops; the view, and the names of the steps that were done."""
    done: list[str] = []

    def observe(_view: RunView, step: Step | None, outcome: str) -> None:
        if step is not None and outcome:
            done.append(step.name)

    if first:
        start_run(log, Plan("r", "rngd", ("tiny_sum",), Policy(), 0, 8.0, {}, "test"))
    with workbench(log, "r", target, {"tiny_sum": tiny_sum()}, Script(DESIGNS)) as wb:
        if not first:
            resume(wb, 8.0, "search")
        drive(wb, observe)
        return wb.view, done


def test_a_run_moves_to_a_release_that_evaluates(log: EventLog, make: Make) -> None:
    if shutil.which(CROSS_COMPILER) is None:
        pytest.skip(f"{CROSS_COMPILER} is not installed: the old release compiles to nothing else than binaries")
    before, _ = work(log, make(OLD, binary_seconds=40.0), first=True)
    old = before.toolchain.fingerprint if before.toolchain else ""
    tree = before.trees["tiny_sum"]
    # The old release compiles and has no price: what it takes is held, and nothing is the best.
    assert tree.designs["d0001"].verdict is not None
    assert tree.designs["d0001"].verdict.verdict == "held"
    assert tree.leader_seconds is None
    assert tree.designs["d0002"].outcome.startswith("build-")
    rules = load_knowledge(log, "rngd").rules
    assert len(rules) == 1

    after, steps = work(log, make(NEW), first=False)
    new = after.toolchain.fingerprint if after.toolchain else ""
    assert new != old
    assert steps[0] == "observe"
    assert "check_item" in steps, "what was learned under the old release is tried again"
    known = load_knowledge(log, "rngd")
    standing = {rule.id: rule.standing(new, known.toolchains).status for rule in known.rules.values()}
    assert "stale" not in standing.values()
    # Now there is a price: the baseline has one, and so has what the probes ask.
    tree = after.trees["tiny_sum"]
    assert tree.baseline is not None
    baseline = tree.designs[tree.baseline]
    assert baseline.estimate is not None
    assert float(baseline.estimate.details["seconds"]) > 0
    assert known.probes_by_name["stream.f8_e4"].standing(new, known.toolchains).status == "valid"
