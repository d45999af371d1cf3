"""The loop where there is no device: designs are ordered by estimates, values are checked, and nothing is accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.events.device import Device
from kernelwright.events.log import EventLog
from kernelwright.events.tree import AnchorCompared, DesignAccepted, NoiseCalibrated, PairsRead
from kernelwright.events.views.explain import explain, status_of
from kernelwright.events.views.load import load_run
from kernelwright.events.views.replay import replay_run
from kernelwright.events.views.run import RunView
from kernelwright.events.views.snapshot import keep_view, restore_view
from kernelwright.events.views.summary import run_summary
from kernelwright.graph.runner import Plan, drive, resume, start_run, stop, submit_design, workbench
from support.simulated import LookingTarget, PredictingTarget, Script, SimulatedTarget, source, toy_spec

SCRIPT = (
    source(10e-3),
    source(12e-3),
    source(9e-3, fails="build"),
    source(8e-3, fails="verify"),
    source(5e-3, limit="HBM"),
    source(6e-3),
    source(1.0, estimate="none"),
)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def quietly(_view: RunView, _step: object, _outcome: str) -> None:
    pass


def played(log: EventLog, target: PredictingTarget, script: tuple[str, ...] = SCRIPT) -> RunView:
    start_run(log, Plan("r", "simulated", ("double",), Policy(), 0, 8.0, {}, "test"))
    with workbench(log, "r", target, {"double": toy_spec()}, Script(script)) as wb:
        drive(wb, quietly)
        return wb.view


def statuses(view: RunView) -> dict[str, str]:
    tree = view.trees["double"]
    return {d.proposed.title: status_of(tree, d) for d in tree.designs.values()}


def test_each_design_ends_as_it_should(log: EventLog) -> None:
    view = played(log, PredictingTarget())
    assert statuses(view) == {
        "the kernel's baseline": "baseline",
        "line 0": "held",
        "line 1": "too-slow",
        "line 2": "build-failed",
        "line 3": "wrong-value",
        "line 4": "provisional best by estimate",
        "line 5": "too-slow",
        "line 6": "held",
    }
    tree = view.trees["double"]
    assert (tree.best, tree.provisional, tree.lineage) == (tree.baseline, "d0005", [])
    assert tree.designs["d0005"].passed("recheck")
    assert not tree.designs["d0002"].passed("oracle"), "what is not better by estimate is not run"


def test_nothing_is_accepted_and_no_device_is_asked(log: EventLog) -> None:
    view = played(log, PredictingTarget())
    kinds = {type(recorded.event) for recorded in log.stream()}
    assert not kinds & {DesignAccepted, PairsRead, NoiseCalibrated, AnchorCompared}
    assert log.version(Device, "simulated") == 0
    summary = run_summary(view)
    kernel = summary["kernels"][0]
    assert (summary["geomean_speedup"], kernel["speedup"], kernel["best_seconds"], kernel["floor_ratio"]) == (None,) * 4
    assert kernel["provisional"] == {
        "design": "d0005",
        "seconds": 5e-3,
        "baseline_seconds": 20e-3,
        "speedup": pytest.approx(4.0),
        "floor_ratio": pytest.approx(5e-3 / 0.9e-3, rel=0.2),
        "limit": "HBM",
        "model": "said/1",
        "values": "right",
    }
    assert summary["geomean_provisional"] == pytest.approx(4.0)
    assert kernel["designs"]["held"] == 3


def test_a_design_that_cannot_be_run_is_held_with_its_values_unknown(log: EventLog) -> None:
    view = played(log, PredictingTarget(values=False), (source(10e-3), source(5e-3)))
    tree = view.trees["double"]
    assert tree.refused is None
    assert tree.provisional == "d0002"
    assert run_summary(view)["kernels"][0]["provisional"]["values"] == "unknown"
    assert not any(check.check == "recheck" for check in tree.designs["d0002"].checks)
    assert "values are unknown" in explain(log, view, tree, tree.designs["d0002"])["verdict"]["reason"]


def test_a_provisional_best_that_is_wrong_on_unseen_seeds_loses_its_place(log: EventLog) -> None:
    view = played(log, PredictingTarget(), (source(10e-3), source(5e-3, fails="later")))
    tree = view.trees["double"]
    assert [check.outcome for check in tree.designs["d0002"].checks if check.check == "recheck"] == ["wrong-value"]
    assert (tree.provisional, list(tree.held)) == ("d0001", ["d0001"])
    assert tree.designs["d0001"].passed("recheck"), "the next one is looked at again before it takes the place"


def test_the_view_is_the_same_from_the_log_from_a_snapshot_and_live(log: EventLog) -> None:
    live = played(log, PredictingTarget())
    folded = load_run(log, "r")
    keep_view(log, live)
    restored = restore_view(log, "r")
    assert restored is not None
    for view in (folded, restored):
        tree = view.trees["double"]
        assert run_summary(view)["kernels"] == run_summary(live)["kernels"]
        assert (tree.held, tree.provisional, tree.device) == (live.trees["double"].held, "d0005", False)


def test_no_other_policy_changes_what_was_never_read(log: EventLog) -> None:
    played(log, PredictingTarget())
    found = replay_run(log, "r", ["accept_e=1000"])
    assert (found["flips"], found["comparisons"], found["decisions"]) == ([], [], 0)


def test_a_person_s_design_is_held_as_well(log: EventLog) -> None:
    played(log, PredictingTarget(), (source(10e-3),))
    with workbench(log, "r", PredictingTarget(), {"double": toy_spec()}, Script(())) as wb:
        found = submit_design(wb, "double", source(3e-3), "mine", quietly)
        assert (found["verdict"], found["outcome"]) == ("held", "ok")
        assert wb.view.trees["double"].provisional == found["design"]


def test_another_toolchain_takes_the_best_estimates_up_again(log: EventLog) -> None:
    played(log, PredictingTarget())
    target = PredictingTarget(parts={"compiler": "2"})
    with workbench(log, "r", target, {"double": toy_spec()}, Script(SCRIPT)) as wb:
        resume(wb, 16.0, "search")
        drive(wb, quietly)
        tree = wb.view.trees["double"]
        assert tree.provisional == "d0005"
        assert tree.designs["d0005"].judged_under == target.toolchain().fingerprint
        assert [each.why for each in tree.designs["d0005"].reopened] == ["confirm"]
    back = PredictingTarget()
    with workbench(log, "r", back, {"double": toy_spec()}, Script(SCRIPT)) as wb:
        resume(wb, 24.0, "search")
        drive(wb, quietly)
        tree = wb.view.trees["double"]
        assert set(tree.held) == {"d0001", "d0005"}
        assert len(tree.designs["d0005"].epochs) == 2, "restored, not checked again"


def test_a_device_that_appears_reads_the_most_promising_ones(log: EventLog) -> None:
    played(log, PredictingTarget())
    target = SimulatedTarget(parts={"compiler": "1", "device": "one"})
    with workbench(log, "r", target, {"double": toy_spec()}, Script(SCRIPT)) as wb:
        resume(wb, 60.0, "search")
        drive(wb, quietly, until=lambda view: bool(view.trees["double"].lineage))
        tree = wb.view.trees["double"]
        assert [each.design for each in tree.lineage] == ["d0005"]
        assert tree.provisional is None
        stop(wb, "interrupted")


def test_where_values_take_long_the_best_is_verified_in_full_at_the_end(log: EventLog) -> None:
    script = (source(10e-3), source(9e-3, fails="verify"), source(5e-3, fails="later"), source(4e-3, fails="later"))
    target = LookingTarget(runs={})
    view = played(log, target, script)
    tree = view.trees["double"]
    oracle = {d.id: [c.reason for c in d.checks if c.check == "oracle"] for d in tree.designs.values()}
    assert oracle["d0001"] == ["a few cases"]
    assert tree.designs["d0002"].outcome == "wrong-value"
    assert tree.designs["d0004"].passed("recheck"), "the first full run of it finds nothing"
    assert list(target.runs.values()) == [1], "only the best by estimate was verified in full"
