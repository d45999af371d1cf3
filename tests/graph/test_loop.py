"""The whole loop on a simulated target: what is decided, what is recorded, and that it can be taken up again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.agents.port import Specialist
from kernelwright.events.log import EventLog
from kernelwright.events.run import StepFinished, StepStarted
from kernelwright.events.views.explain import explain, status_of
from kernelwright.events.views.load import load_run
from kernelwright.events.views.run import RunView
from kernelwright.events.views.summary import list_runs, run_summary
from kernelwright.graph.runner import Plan, drive, resume, start_run, stop, submit_design, workbench
from kernelwright.graph.workbench import Workbench
from kernelwright.hardware.target import TargetError
from support.simulated import GOOD_SCRIPT, Script, SimulatedTarget, source, toy_spec


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def begin(log: EventLog, run: str = "r", minutes: float = 8.0) -> None:
    start_run(log, Plan(run, "simulated", ("double",), Policy(), 0, minutes, {}, "test"))


@contextmanager
def bench(log: EventLog, target: SimulatedTarget, specialist: Specialist | None = None) -> Iterator[Workbench]:
    with workbench(log, "r", target, {"double": toy_spec()}, specialist or Script(GOOD_SCRIPT)) as wb:
        yield wb


def quietly(_view: RunView, _step: object, _outcome: str) -> None:
    pass


def test_each_design_ends_as_it_should(log: EventLog) -> None:
    begin(log)
    with bench(log, SimulatedTarget()) as wb:
        drive(wb, quietly)
        tree = wb.view.trees["double"]
        found = {design.proposed.title: status_of(tree, design) for design in tree.designs.values()}
    equal = found.pop("line 5")
    assert equal in ("rejected", "undecided")  # as the noise has it; never accepted
    assert found == {
        "the kernel's baseline": "baseline",
        "line 0": "accepted",
        "line 1": "build-failed",
        "line 2": "wrong-value",
        "line 3": "too-slow",
        "line 4": "accepted",
        "line 6": "vetoed",
        "line 7": "crashed",
        "line 8": "suspect",
        "line 9": "best",
    }
    summary = run_summary(wb.view)
    assert summary["state"] == "finished"
    kernel = summary["kernels"][0]
    assert kernel["speedup_low"] < 20e-3 / 1.5e-3 < kernel["speedup_high"]
    assert kernel["designs"]["screened"] == {"review": 1, "build": 1, "oracle": 1, "screen": 2, "timed": 1}
    assert summary["geomean_speedup"] == pytest.approx(kernel["speedup"])


def test_view_rebuilt_from_the_log_equals_the_live_one(log: EventLog) -> None:
    begin(log)
    with bench(log, SimulatedTarget()) as wb:
        drive(wb, quietly)
        live = wb.view
    rebuilt = load_run(log, "r")
    assert run_summary(rebuilt) == run_summary(live)
    assert rebuilt.trees == live.trees


def test_a_step_has_an_intent_before_its_outcome_and_runs_once(log: EventLog) -> None:
    begin(log)
    with bench(log, SimulatedTarget()) as wb:
        drive(wb, quietly)
    started, finished = Counter[str](), Counter[str]()
    for recorded in log.stream():
        if isinstance(recorded.event, StepStarted):
            started[recorded.event.key] += 1
            assert not finished[recorded.event.key]
        elif isinstance(recorded.event, StepFinished):
            finished[recorded.event.key] += 1
    assert set(finished.values()) == {1}
    assert started.keys() - finished.keys() == {key for key in started if key not in finished}
    assert len(started.keys() - finished.keys()) == 1  # the last step ends the run, and has no outcome after that


def test_stopped_and_resumed_anywhere_it_takes_no_reading_twice(log: EventLog) -> None:
    begin(log)
    target = SimulatedTarget()
    steps = 0
    while True:
        with bench(log, target) as wb:
            if wb.view.stopped is not None:
                if wb.view.stopped.reason == "finished":
                    break
                resume(wb, wb.view.minutes, "search")
            goal = wb.view.steps + 3
            drive(wb, quietly, until=lambda view, goal=goal: view.steps >= goal)  # type: ignore[misc]  # bound now
            if wb.view.stopped is None:
                stop(wb, "interrupted")
            steps += 1
    assert steps > 20
    assert run_summary(load_run(log, "r"))["kernels"][0]["designs"]["accepted"] == 3
    reads = sum(
        len(reading.orders)
        for tree in load_run(log, "r").trees.values()
        for reading in [
            *tree.calibration,
            *tree.anchor_readings,
            *(r for d in tree.designs.values() for r in d.readings),
        ]
    )
    assert sum(count for _best, _candidate, count in target.reads) == reads


def test_a_submitted_design_is_compared_like_any_other(log: EventLog) -> None:
    begin(log)
    with bench(log, SimulatedTarget(), Script(())) as wb:
        drive(wb, quietly)
    with bench(log, SimulatedTarget(), Script(())) as wb:
        good = submit_design(wb, "double", source(5e-3), "mine", quietly)
        same = submit_design(wb, "double", source(5e-3, note="again"), "mine again", quietly)
        broken = submit_design(wb, "double", source(1e-3, fails="build"), "broken", quietly)
    assert (good["verdict"], good["outcome"]) == ("accepted", "ok")
    assert same["outcome"] == "ok"
    assert same["verdict"] in ("rejected", "undecided")
    assert (broken["verdict"], broken["outcome"]) == (None, "build-failed")
    assert "error: asked for" in broken["reason"]
    assert load_run(log, "r").state == "finished"


def test_a_submission_needs_no_finished_preparation(log: EventLog) -> None:
    begin(log)
    with bench(log, SimulatedTarget(), Script(())) as wb:
        result = submit_design(wb, "double", source(5e-3), "mine", quietly)
    assert result["verdict"] == "accepted"


def test_explain_tells_the_story_from_the_log_alone(log: EventLog) -> None:
    begin(log)
    with bench(log, SimulatedTarget()) as wb:
        drive(wb, quietly)
    view = load_run(log, "r")
    tree = view.trees["double"]
    story = explain(log, view, tree, tree.designs["d0005"])
    assert story["status"] == "accepted"
    assert story["verdict"]["e_accept"][-1] >= 100
    assert len(story["verdict"]["e_accept"]) == story["verdict"]["pairs"]
    purposes = [reading["purpose"] for reading in story["readings"]]
    assert purposes[0] == "screen"
    assert purposes[-1] == "confirm"
    assert story["accepted"]["gain_low"] < 2.0 < story["accepted"]["gain_high"]
    assert "+seconds: 0.002" in story["diff"]


def test_a_baseline_that_fails_leaves_the_kernel_out(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(log)
    spec = toy_spec()
    target = SimulatedTarget()
    monkeypatch.setattr(target, "baseline", lambda _spec: source(1e-3, fails="verify"))
    with workbench(log, "r", target, {"double": spec}, Script(())) as wb:
        drive(wb, quietly)
        assert "wrong results" in (wb.view.trees["double"].refused or "")
        assert wb.view.state == "finished"


def test_time_runs_out(log: EventLog) -> None:
    begin(log, minutes=1e-9)
    with bench(log, SimulatedTarget()) as wb:
        drive(wb, quietly)
    assert run_summary(wb.view)["kernels"][0]["designs"]["proposed"] == 0


def test_a_lost_device_is_an_error_not_a_reading(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelwright.hardware.outcome import Outcome
    from kernelwright.hardware.target import Pairs
    from support.simulated import SimulatedSession

    monkeypatch.setattr(SimulatedSession, "read", lambda *_: Pairs((), Outcome.NO_DEVICE, "unplugged", 0.0, "nobody"))
    begin(log)
    with bench(log, SimulatedTarget()) as wb, pytest.raises(TargetError, match="unplugged"):
        drive(wb, quietly)


def test_runs_are_listed_newest_first(log: EventLog) -> None:
    begin(log, "first")
    begin(log, "second")
    listed = list_runs(log)
    assert [each["run"] for each in listed] == ["second", "first"]
    assert listed[0]["state"] == "running"
    assert listed[0]["kernels"] == ["double"]
