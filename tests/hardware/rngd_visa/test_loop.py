"""The whole loop on the stand-ins: a run that is killed while its job waits, taken up again, to an accepted design."""

from __future__ import annotations

import multiprocessing
import signal
from pathlib import Path

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.agents.brief import analyst_task
from kernelwright.agents.desk import desk_of
from kernelwright.cli.references import reference_lines
from kernelwright.events.device import LeaseGranted
from kernelwright.events.log import EventLog
from kernelwright.events.run import StepStarted
from kernelwright.events.tree import PairsRead
from kernelwright.events.views.answers import AnswersView
from kernelwright.events.views.load import history, load_run
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.hardware.discovery import find_target
from kernelwright.hardware.lease import RUNTIME_VARIABLE
from kernelwright.hardware.rngd.visa.target import NAME, VisaTarget
from kernelwright.hardware.target import TargetError
from support.rngd.workshop import Workshop, design, spec
from support.simulated import Script

from .conftest import Make

DESIGNS = (
    design(cycles=99_000, fail="visa: while lowering TensorUnit | reduce axis should not have padding"),
    design(cycles=70_000, values="wrong"),
    design(cycles=80_000, span=900, values="panic"),
)
"""One that does not compile, one whose values are wrong on the CPU, and one that is faster on the chip and that the CPU's
emulator cannot express."""


@pytest.fixture(autouse=True)
def own_leases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(RUNTIME_VARIABLE, str(tmp_path / "leases"))


def work(store: str, target: VisaTarget, *, first: bool) -> None:
    log = EventLog.open(store, create=first)
    try:
        if first:
            start_run(log, Plan("r", NAME, ("double",), Policy(anchor_pairs=8), 0, 60.0, {}, "test"))
        with workbench(log, "r", target, {"double": spec()}, Script(DESIGNS)) as wb:
            if not first:
                resume(wb, 60.0, "search")
            drive(wb, lambda *_: None)
    finally:
        log.close()


def test_killed_resumed_accepted(
    make: Make, workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", f"{workshop.bin}:/usr/bin:/bin")
    (workshop.project / "src/ops.rs").write_text(design(cycles=100_000, span=1000, values="panic"))
    target, store = make(arena="auto", pairs_per_job=12), str(tmp_path / "log.sqlite")
    workshop.order(killed_after_submit=1)
    child = multiprocessing.get_context("fork").Process(target=work, args=(store, target), kwargs={"first": True})
    child.start()
    child.join(300)
    assert child.exitcode == -signal.SIGKILL
    assert workshop.calls("submit") == 1

    work(store, target, first=False)
    log = EventLog.open(store)
    view = load_run(log, "r")
    tree = view.trees["double"]
    assert [(name, tree.designs[name].outcome) for name in ("d0001", "d0002", "d0003")] == [
        ("d0001", "build-failed"),
        ("d0002", "wrong-value"),
        ("d0003", "ok"),
    ]
    assert tree.best == "d0003"
    checks = {check.check: check.outcome for check in tree.designs["d0003"].checks}
    assert checks["oracle"] == checks["recheck"] == "no-values"
    (accepted,) = tree.lineage
    assert accepted.gain_low < 1.25 < accepted.gain_high
    assert tree.best_seconds == pytest.approx(80_000 / 2e9, rel=0.01)
    assert tree.floor is not None
    assert tree.floor.conditions["by"] == "arithmetic"

    # The step that was cut off ran as a second attempt, and took the log of the job that the first had handed in.
    again = [e.event for e in history(log, "r") if isinstance(e.event, StepStarted) and e.event.attempt == 2]
    assert [event.name for event in again] == ["calibrate"]
    names = [job.name for job in workshop.client().mine()]
    assert len(names) == len({name.rpartition("-a")[0] for name in names}) == workshop.calls("submit")
    assert [name.rpartition("-")[2] for name in names[:2]] == ["a1", "a2"]
    pairs = [e.event for e in history(log, "r") if isinstance(e.event, PairsRead)]
    assert all(event.outcome == "ok" for event in pairs)
    assert any(isinstance(each.event, LeaseGranted) for each in log.stream())
    # The analyst is told what the schedule of the best says.
    task = analyst_task(desk_of(log, "r", target, {"double": spec()}), AnswersView(), "double")
    (piece,) = [piece for piece in task.pieces if piece.name == "what the build of d0003 said"]
    assert "makespan 900 cycles" in piece.text
    assert "DmaEngine: busy 540 cycles, 60.0 %" in piece.text
    log.close()


def test_found_by_name_and_told_apart_from_tcl() -> None:
    assert isinstance(find_target(NAME), VisaTarget)
    with pytest.raises(TargetError, match="--target rngd-visa"):
        find_target("rngd", {"dsl": "visa"})


def test_results_are_shown_beside_the_official_ones_only_where_they_were_read_alike() -> None:
    summary = {"kernels": [{"name": "sliding_project_qkv", "best_seconds": 60_000 / 2e9, "provisional": None}]}
    (line,) = reference_lines(summary, {"dsl": "visa"})
    assert "60,000 cycles, 4.18x the official baseline, 1.03x the cycles of the best public result" in line
    assert reference_lines(summary, {"compiler": "gcc"}) == []
    summary["kernels"][0] |= {"provisional": {"seconds": 1.0}}
    assert reference_lines(summary, {"dsl": "visa"}) == []
