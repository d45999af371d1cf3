"""A toolchain is replaced under a run: staleness, recheck, retirement, reopening, fallback, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.events.log import EventLog
from kernelwright.events.run import StepFinished, ToolchainObserved
from kernelwright.events.tree import DesignReopened
from kernelwright.events.views.knowledge import left_at, load_knowledge
from kernelwright.events.views.load import load_run
from kernelwright.events.views.run import RunView
from kernelwright.events.views.snapshot import keep_view
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.graph.step import Step
from support.simulated import Script, source, toy_spec
from support.upgrading import UpgradingTarget

DESIGNS = (
    source(8e-3),
    source(3e-3, needs=2),
    source(4e-3, until=1),
    source(7.9e-3, needs=2, note="_Other"),
)
"""A gain with both compilers; a larger one that compiler 1 refuses; the best that compiler 2 refuses; another refusal."""
Until = Callable[[RunView], bool]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def work(
    log: EventLog, target: UpgradingTarget, until: Until | None = None, *, first: bool = False
) -> tuple[RunView, list[Step]]:
    """Work at the run until it stops or ``until`` holds; the view and the steps that were done."""
    done: list[Step] = []

    def observe(_view: RunView, step: Step | None, outcome: str) -> None:
        if step is not None and outcome:
            done.append(step)

    if first:
        start_run(log, Plan("r", "simulated", ("double",), Policy(), 0, 8.0, {}, "test"))
    with workbench(log, "r", target, {"double": toy_spec()}, Script(DESIGNS)) as wb:
        if not first:
            resume(wb, 8.0, "search")
        drive(wb, observe, until=until)
        return wb.view, done


def names(steps: list[Step]) -> list[str]:
    return [step.name for step in steps]


def lineage(view: RunView) -> list[str]:
    return [each.design for each in view.trees["double"].lineage]


def statuses(log: EventLog, toolchain: str) -> dict[str, str]:
    known = load_knowledge(log, "simulated")
    items: list[Any] = [*known.rules.values(), *known.probes_by_name.values()]
    return {item.id: item.standing(toolchain, known.toolchains).status for item in items}


def test_everything_about_an_upgrade_and_the_way_back(log: EventLog) -> None:
    target = UpgradingTarget()
    before, _ = work(log, target, first=True)
    old = before.toolchain.fingerprint if before.toolchain else ""
    assert lineage(before) == ["d0001", "d0003"]
    assert before.trees["double"].designs["d0002"].outcome == "build-failed"
    (rule,) = load_knowledge(log, "simulated").rules

    target.use(compiler="2")
    after, steps = work(log, target)
    new = after.toolchain.fingerprint if after.toolchain else ""
    tree = after.trees["double"]
    # Witnesses first, then probes, then the baseline and the best.
    assert names(steps)[:4] == ["observe", "check_item", "probe", "build"]
    assert statuses(log, new)[rule] == "retired"
    # The old best does not build any more; what only the retired rule had stopped is tried, and is the best now.
    assert tree.designs["d0003"].outcome == "build-failed"
    assert [r.why for r in tree.designs["d0003"].reopened] == ["confirm"]
    assert [(r.why, r.rule) for r in tree.designs["d0002"].reopened] == [("rule", rule)]
    assert tree.best == "d0002"
    # The best before it was re-confirmed as well, so that the gain of the new one is over that.
    assert lineage(after) == ["d0001", "d0002"]
    assert all(each.toolchain == new for each in tree.lineage)

    # As of the old toolchain, both tree and knowledge are what they were.
    known = load_knowledge(log, "simulated")
    position = left_at(known, log, "simulated", old)
    assert position is not None
    then = load_run(log, "r", until=position)
    assert lineage(then) == lineage(before)
    assert then.trees["double"].counts == before.trees["double"].counts
    then_known = load_knowledge(log, "simulated", until=position)
    assert then_known.rules[rule].standing(old, then_known.toolchains).status == "valid"

    # Back: nothing that was checked there is checked again, and the old tree stands.
    reads, builds = len(target.reads), target.builds
    target.use(compiler="1")
    back, steps = work(log, target)
    assert lineage(back) == lineage(before)
    assert statuses(log, old)[rule] == "valid"
    assert "reopen" not in names(steps)
    assert rule not in [step.item for step in steps]
    assert "probe" not in names(steps)
    # Only noise and the anchor are of the moment: the best is loaded for them, and no candidate is.
    best = back.trees["double"].designs["d0003"]
    assert {read[1] for read in target.reads[reads:]} == {best.artifact}
    assert target.builds - builds <= 4
    assert load_run(log, "r", from_snapshot=False).trees == back.trees


def test_a_new_host_kernel_touches_readings_and_not_rules(log: EventLog) -> None:
    target = UpgradingTarget()
    work(log, target, first=True)
    target.use(host_kernel="6.2")
    view, steps = work(log, target)
    assert "check_item" not in names(steps)
    assert "probe" in names(steps)
    assert lineage(view) == ["d0003"]
    assert view.trees["double"].lineage[0].over == "d0000"


def test_a_new_compiler_leaves_bandwidth_valid(log: EventLog) -> None:
    target = UpgradingTarget()
    work(log, target, first=True)
    target.use(compiler="2")
    assert_stale = load_knowledge(log, "simulated")
    assert_stale.toolchains["new"] = target.parts
    assert assert_stale.probes_by_name["bandwidth.memory"].standing("new", assert_stale.toolchains).status == "valid"
    assert assert_stale.probes_by_name["call"].standing("new", assert_stale.toolchains).status == "stale"


def test_a_change_between_two_steps_is_seen_before_the_next_proposal(log: EventLog) -> None:
    target = UpgradingTarget()
    work(log, target, lambda view: view.trees["double"].best == "d0001", first=True)
    with workbench(log, "r", target, {"double": toy_spec()}, Script(DESIGNS)) as wb:
        target.use(compiler="2")
        drive(wb, lambda *_: None)
        assert wb.view.observations == 2
        assert wb.view.trees["double"].toolchain == wb.view.toolchain.fingerprint if wb.view.toolchain else ""
        assert wb.view.trees["double"].best == "d0002"
    observed = [r.event for r in log.stream() if isinstance(r.event, ToolchainObserved)]
    assert [event.changed for event in observed] == [(), ("compiler",)]


@pytest.mark.parametrize("stop_after", [1, 2, 5, 9])
def test_killed_in_the_middle_of_a_recheck_it_goes_on_there(log: EventLog, stop_after: int) -> None:
    target = UpgradingTarget()
    work(log, target, first=True)
    target.use(compiler="2")
    finished = sum(isinstance(r.event, StepFinished) for r in log.stream())
    # A workbench that is dropped without a word is what a kill leaves.
    work(log, target, lambda view: view.steps >= finished + stop_after)
    view, _ = work(log, target)
    assert lineage(view) == ["d0001", "d0002"]
    keys = [r.event.key for r in log.stream() if isinstance(r.event, StepFinished)]
    assert len(keys) == len(set(keys)), "no step has finished twice"
    reopened = [r.event.design for r in log.stream() if isinstance(r.event, DesignReopened)]
    assert sorted(name for name in reopened if name != "d0000") == ["d0001", "d0002", "d0003", "d0004"]


def test_a_view_from_a_snapshot_knows_of_the_upgrade(log: EventLog) -> None:
    target = UpgradingTarget()
    work(log, target, first=True)
    target.use(compiler="2")
    view, _ = work(log, target)
    keep_view(log, view)
    restored = load_run(log, "r")
    folded = load_run(log, "r", from_snapshot=False)
    assert restored.trees["double"].designs == folded.trees["double"].designs
    assert restored.trees == folded.trees


def test_the_best_is_confirmed_again_by_fresh_readings(log: EventLog) -> None:
    target = UpgradingTarget()
    work(log, target, first=True)
    target.use(chip="b")
    before = len(target.reads)
    view, steps = work(log, target)
    tree = view.trees["double"]
    assert lineage(view) == ["d0003"]
    assert {"screen", "compare", "confirm", "accept"} <= set(names(steps))
    accepted = tree.designs["d0003"].accepted
    assert accepted is not None
    assert accepted.toolchain == tree.toolchain
    assert len(target.reads) > before
    assert [epoch.accepted is not None for epoch in tree.designs["d0003"].epochs] == [True]
