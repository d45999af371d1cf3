"""Vetoes, audits, corrections, lessons, families and estimates in the loop, on a simulated target."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.cli.knowledge_view import print_knowledge
from kernelwright.events.base import Context
from kernelwright.events.knowledge import KnowledgeBase
from kernelwright.events.log import EventLog
from kernelwright.events.views.knowledge import KnowledgeView, load_knowledge
from kernelwright.events.views.run import RunView
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.hardware.study import Estimate
from kernelwright.hardware.target import Build
from kernelwright.kernels.spec import KernelSpec
from kernelwright.knowledge.lessons import closed_moves
from kernelwright.knowledge.report import knowledge_data
from rich.console import Console
from support.simulated import Script, SimulatedTarget, fields, source, toy_spec


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def seed_rule(log: EventLog, target: SimulatedTarget) -> str:
    """A rule against ``_Rare``, learned under the toolchain in use."""
    base = log.load(KnowledgeBase, "simulated")
    now = target.toolchain()
    context = Context(toolchain=now.fingerprint)
    base.seen(context, "simulated", now.fingerprint, dict(now.parts), {})
    blob = log.blobs.put("seconds: 1\n_Rare")
    base.derive(
        context,
        rule="r-rare",
        kind="compile-error",
        explanation="the compiler refuses it: _Rare",
        condition=((("_Rare",),), (("_Rare", "<name>"),)),
        level=0,
        failing=blob,
        passing=log.blobs.put("seconds: 1"),
        original=blob,
        kernel="double",
        diagnostic="_rare",
        fingerprint="0" * 16,
        run="earlier",
        design="d0001",
        tries=1,
        depends=(),
    )
    log.record(base)
    return "r-rare"


def work(
    log: EventLog, target: SimulatedTarget, script: tuple[str, ...], policy: Policy, first: bool = True
) -> RunView:
    if first:
        start_run(log, Plan("r", "simulated", ("double",), policy, 0, 8.0, {}, "test"))
    with workbench(log, "r", target, {"double": toy_spec()}, Levers(script)) as wb:
        if not first:
            resume(wb, 8.0, "search")
        drive(wb, lambda *_: None)
        return wb.view


class Levers(Script):
    """A script whose designs have one lever, ``width``, as their source says."""

    def propose(self, task: Any) -> Any:
        answer = super().propose(task)
        if not hasattr(answer, "source"):
            return answer
        said = fields(answer.source)
        return answer.model_copy(update={"levers": {"width": said.get("width", "0"), "depth": said.get("depth", "0")}})


def known(log: EventLog) -> KnowledgeView:
    return load_knowledge(log, "simulated")


def tables(log: EventLog) -> str:
    """What ``knowledge`` shows a person, one space between words."""
    shown = io.StringIO()
    print_knowledge(Console(file=shown, width=240), knowledge_data(known(log), known(log).toolchain))
    return " ".join(shown.getvalue().replace("\u2502", " ").split())


def test_a_valid_rule_keeps_a_design_from_the_compiler(log: EventLog) -> None:
    target = SimulatedTarget()
    rule = seed_rule(log, target)
    view = work(log, target, (source(4e-3, code="_Rare a"),), Policy(veto_audit_share=0.0))
    design = view.trees["double"].designs["d0001"]
    assert design.failed is not None
    assert (design.failed.check, design.failed.outcome, design.failed.details["rule"]) == ("review", "vetoed", rule)
    assert (known(log).rules[rule].vetoes, known(log).rules[rule].hits) == (1, 1)
    saved = known(log).rules[rule].seconds_saved
    assert f"rules: 1 hits, 1 vetoes, 0 audits, 0 wrong, {saved:.1f} s of compiling saved" in tables(log)


def test_an_audit_finds_a_wrong_rule_which_is_narrowed_and_then_retires(log: EventLog) -> None:
    target = SimulatedTarget()
    rule = seed_rule(log, target)
    script = (source(9e-3, code="_Rare"), source(5e-3, code="_Rare a"))
    view = work(log, target, script, Policy(veto_audit_share=1.0))
    item = known(log).rules[rule]
    assert [audit.right for audit in item.audits] == [False, False]
    assert item.wrong_vetoes == 2
    assert item.level == 1
    assert "rules: 2 hits, 0 vetoes, 2 audits, 2 wrong, 0.0 s of compiling saved" in tables(log)
    toolchain = view.toolchain.fingerprint if view.toolchain else ""
    assert item.standing(toolchain, known(log).toolchains).status == "retired"
    assert [design.accepted is not None for design in view.trees["double"].designs.values()] == [False, True, True]


def test_what_a_retired_rule_had_stopped_is_tried_after_all(log: EventLog) -> None:
    target = SimulatedTarget()
    rule = seed_rule(log, target)
    before = work(log, target, (source(4e-3, code="_Rare a"),), Policy(veto_audit_share=0.0))
    assert before.trees["double"].stopped == {"d0001": rule}
    target.parts = {"compiler": "2"}
    after = work(log, target, (source(4e-3, code="_Rare a"),), Policy(), first=False)
    assert after.trees["double"].best == "d0001"
    assert [each.rule for each in after.trees["double"].designs["d0001"].reopened] == [rule]


def test_lessons_have_both_signs_and_come_from_decided_comparisons_only(log: EventLog) -> None:
    script = (
        source(10e-3, width=1),
        source(5e-3, width=2),
        source(5.5e-3, width=3),
        source(5e-3, width=2, note="the same"),
        source(4e-3, width=4, fails="verify"),
    )
    view = work(log, SimulatedTarget(), script, Policy(probe_slower=0.5))
    tree = view.trees["double"]
    lessons = {item.drawn.design: item.drawn for item in known(log).lessons.values()}
    assert lessons["d0002"].effect == "helped"
    assert lessons["d0002"].before == {"width": "1"}
    assert lessons["d0002"].after == {"width": "2"}
    assert lessons["d0002"].ratio == pytest.approx(2.0, rel=0.05)
    assert lessons["d0003"].effect == "hurt"
    assert lessons["d0003"].ratio_high < 1
    for name, lesson in lessons.items():
        verdict = tree.designs[name].verdict
        assert verdict is not None
        assert verdict.verdict in ("accepted", "rejected")
        assert set(lesson.evidence) <= {reading.ref for reading in tree.designs[name].readings}
    assert "d0005" not in lessons


def test_losses_close_a_family_and_a_new_toolchain_opens_it(log: EventLog) -> None:
    script = (
        source(10e-3, width=1),
        source(11e-3, width=2),
        source(5e-3, width=1, depth=1),
        source(5.6e-3, width=2, depth=1),
    )
    target = SimulatedTarget()
    view = work(log, target, script, Policy(probe_slower=0.5, family_losses=2))
    found = known(log)
    ((family),) = found.families.values()
    assert (family.closed.lever, family.closed.value) == ("width", "2")
    assert len(family.closed.lessons) == 2
    toolchain = view.toolchain.fingerprint if view.toolchain else ""
    whole, limit = family.closed.whole, family.closed.bottleneck
    assert closed_moves(found, toolchain, "double", whole, limit) == {("width", "2")}
    assert closed_moves(found, toolchain, "double", whole, "memory") == frozenset()
    assert closed_moves(found, toolchain, "double", "another", limit) == frozenset()
    assert closed_moves(found, toolchain, "other", whole, limit) == frozenset()
    found.toolchains["new"] = {"compiler": "2"}
    assert closed_moves(found, "new", "double", whole, limit) == frozenset()


class Estimating(SimulatedTarget):
    """Predicts what a source says of itself."""

    def estimate(self, spec: KernelSpec, build: Build, probes: Mapping[str, float]) -> Estimate | None:
        said = fields(str(build.path))
        return Estimate(float(said.get("predicted", said["seconds"])), "said", {})


def test_an_estimate_drops_candidates_once_its_sign_was_right_often_enough(log: EventLog) -> None:
    policy = Policy(
        probe_slower=0.5, estimate_min_pairs=2, estimate_sign_share=1.0, estimate_audit_share=0.0, estimate_slower=0.05
    )
    script = (
        source(10e-3, width=1),
        source(8e-3, width=2),
        source(9e-3, width=3),
        source(9.5e-3, width=4),
    )
    view = work(log, Estimating(), script, policy)
    tree = view.trees["double"]
    dropped = [d.id for d in tree.designs.values() if d.failed is not None and d.failed.check == "estimate"]
    assert dropped == ["d0004"]
    assert not tree.designs["d0004"].readings
    pairs = known(log).trust["width"].pairs
    assert [(p.estimated > 0) == (p.measured > 0) for p in pairs] == [True, True]


def test_wrongly_dropped_candidates_are_found_by_the_sample(log: EventLog) -> None:
    policy = Policy(
        probe_slower=0.5, estimate_min_pairs=1, estimate_sign_share=0.5, estimate_audit_share=1.0, estimate_slower=0.05
    )
    script = (
        source(10e-3, width=1),
        source(8e-3, width=2),
        source(6e-3, width=3, predicted=20e-3),
    )
    view = work(log, Estimating(), script, policy)
    assert view.trees["double"].best == "d0003"
    sampled = [pair for pair in known(log).trust["width"].pairs if pair.sampled]
    assert [(pair.design, pair.accepted) for pair in sampled] == [("d0003", True)]
    assert "width 2 1 (50%) 1 100%" in tables(log), "class, pairs, right signs, sampled, wrongly dropped"
