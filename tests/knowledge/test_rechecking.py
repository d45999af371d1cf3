"""Which bests a recheck confirms: those in use, or those of the runs that are named; and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.cli import assemble, rechecking
from kernelwright.cli.rechecking import confirm, open_bests, runs_in_use
from kernelwright.events.log import EventLog
from kernelwright.graph.runner import Plan, drive, start_run, workbench
from kernelwright.kernels.spec import KernelSpec
from support.simulated import Script, source, toy_spec
from support.upgrading import UpgradingTarget

GAINS = (source(8e-3), source(4e-3, until=1))
"""A gain with both compilers; a larger one that only the first builds."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def played(log: EventLog, target: UpgradingTarget, run: str, kernels: tuple[str, ...], *sources: str) -> None:
    start_run(log, Plan(run, "simulated", kernels, Policy(), 0, 8.0, {}, "test"))
    specs = {kernel: toy_spec(kernel) for kernel in kernels}
    with workbench(log, run, target, specs, Script(sources)) as wb:
        drive(wb, lambda *_: None)


def names(views: list[Any]) -> list[str]:
    return [view.name for view in views]


def test_the_bests_in_use_are_those_of_the_newest_run_of_each_kernel(log: EventLog) -> None:
    target = UpgradingTarget()
    played(log, target, "both", ("double", "other"), *GAINS)
    played(log, target, "older", ("double",), *GAINS)
    played(log, target, "newer", ("double",), GAINS[0])
    played(log, target, "nothing", ("double",))
    played(log, target, "worse", ("other",), source(30e-3))
    views = runs_in_use(log, "simulated")
    assert names(views) == ["newer", "both"], "of `other` only the oldest run found something"
    assert runs_in_use(log, "cpu") == []
    assert names(runs_in_use(log, "simulated", ["older", "older"])) == ["older"]
    toolchain = views[0].toolchain.fingerprint if views[0].toolchain else ""
    assert open_bests(views, toolchain) == {}
    assert open_bests(views, "another") == {"newer": {"double": "d0001"}, "both": {"double": "d0002", "other": "d0002"}}


def test_each_run_in_use_is_confirmed_or_falls_back(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    target = UpgradingTarget()
    played(log, target, "one", ("double",), *GAINS)
    played(log, target, "two", ("other",), *GAINS)
    target.use(compiler="2")
    specs: dict[str, KernelSpec] = {name: toy_spec(name) for name in ("double", "other")}

    def parts(*_: Any, **__: Any) -> Any:
        return {}, SimpleNamespace(target=target, specs=specs, panel=Script(GAINS))

    monkeypatch.setattr(assemble, "assemble_recorded", parts)
    views = runs_in_use(log, "simulated")
    assert confirm(log, views, {}, as_json=True) == {"two": {"other": "d0001"}, "one": {"double": "d0001"}}
    built = target.builds
    again = confirm(log, runs_in_use(log, "simulated"), {}, as_json=True)
    assert again == {"two": {"other": "d0001"}, "one": {"double": "d0001"}}
    assert target.builds == built, "what stands is not confirmed again"


def test_a_run_that_is_being_worked_at_is_left_alone(
    log: EventLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = UpgradingTarget()
    played(log, target, "one", ("double",), *GAINS)
    target.use(compiler="2")
    parts: Any = {}, SimpleNamespace(target=target, specs={"double": toy_spec()}, panel=Script(GAINS))
    monkeypatch.setattr(assemble, "assemble_recorded", lambda *_, **__: parts)
    views = rechecking.runs_in_use(log, "simulated")
    with log.hold("one"):
        other = EventLog.open(log.where)
        assert confirm(other, views, {}, as_json=True) == {}
        other.close()
    assert "it rechecks its own bests" in capsys.readouterr().err
