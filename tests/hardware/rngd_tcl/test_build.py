"""Builds by the real furiosa-tcc: judged by what they leave and say, kept by content, and never blamed for the sandbox."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.tcl.build import CROSS_COMPILER, Compilation, build, read_record
from kernelwright.hardware.rngd.tcl.confined import run
from kernelwright.hardware.rngd.tcl.estimate import MODEL, lane_cycles
from kernelwright.hardware.rngd.tcl.target import TclTarget
from kernelwright.hardware.rngd.tcl.tool import Tool
from kernelwright.hardware.target import TargetError
from kernelwright.kernels import registry
from support.rngd.tcc import F4_SECOND, SUM, tiny_f4, tiny_sum

from .conftest import OLD, Make


def test_a_build_keeps_its_program_its_schedule_and_its_cycles(target: TclTarget) -> None:
    built = target.build(tiny_sum(), "# says\n" + SUM)
    assert built.outcome is Outcome.OK, built.diagnostics
    assert built.path is not None
    record = read_record(built.path)
    assert record.source == SUM
    assert record.npu == "renegade-8pe"
    assert record.cycles == max(each.end for each in record.schedule)
    again = target.build(tiny_sum(), "# says\n" + SUM)
    assert again.artifact == built.artifact
    assert again.seconds == 0


def test_another_cache_gives_the_same_artifact(target: TclTarget, tmp_path: Path) -> None:
    here = target.build(tiny_sum(), SUM)
    there = build(replace(target.compilation, cache=tmp_path), tiny_sum(), SUM)
    assert here.artifact == there.artifact


def test_programs_that_take_equal_time_are_still_told_apart(target: TclTarget) -> None:
    """A pass costs the same whatever it computes: the schedule alone would make duplicates of them."""
    one, other = (target.build(tiny_sum(), SUM.replace("%2 + %1", text)) for text in ("%2 + %1", "%2 - %1"))
    assert one.ok
    assert other.ok
    assert one.artifact != other.artifact
    assert target.build(tiny_sum(), "# a comment\n" + SUM).artifact == one.artifact


@pytest.mark.parametrize(
    ("old", "new", "outcome", "says"),
    [
        ("%2 + %1", "%2 + 1.0", Outcome.BUILD_FAILED, "error: parse error: Nom(MapRes)"),
        ("+ t[K] %0", "+ t[K] %0 + i1", Outcome.BUILD_FAILED, "error: parse error"),
        ("ve.exec(%2 + %1)", "ve.exec(%2 + i1)", Outcome.BUILD_FAILED, "ve inputs should equal"),
        ("tk.ReduceByVe", "tk.EinsumByVe", Outcome.BUILD_FAILED, "EinsumByVe should have broadcast"),
        ("%3 = ve.exec(%2 + %1)", "%3 = ve.exec(%2 + %2)", Outcome.BUILD_FAILED, "error: "),
    ],
)
def test_a_refusal_is_one_line_of_diagnosis(target: TclTarget, old: str, new: str, outcome: Outcome, says: str) -> None:
    built = target.build(tiny_sum(), SUM.replace(old, new))
    assert built.outcome is outcome
    assert built.artifact is None
    assert says in built.diagnostics.splitlines()[0]


def test_damage_in_the_cache_is_seen(target: TclTarget, tmp_path: Path) -> None:
    tools = replace(target.compilation, cache=tmp_path)
    built = build(tools, tiny_sum(), SUM)
    assert built.path is not None
    built.path.write_text(built.path.read_text().replace("DmaEngine", "Nothing"))
    again = build(tools, tiny_sum(), SUM)
    assert again.artifact == built.artifact
    assert again.seconds > 0


def test_a_compiler_that_does_not_end_is_killed_and_asked_again(target: TclTarget, tmp_path: Path) -> None:
    tools = replace(target.compilation, cache=tmp_path, evaluate_seconds=0.01)
    assert build(tools, tiny_sum(), SUM).outcome is Outcome.BUILD_HUNG
    assert build(target.compilation, tiny_sum(), SUM).ok


def stand_in(tmp_path: Path, script: str, tools: Compilation) -> Compilation:
    """The same, with a program in the compiler's place."""
    folder = tmp_path / "stand-in"
    folder.mkdir()
    program = folder / "furiosa-tcc"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    for place in (tmp_path, *tmp_path.parents[:2]):
        place.chmod(place.stat().st_mode | 0o055)
    tool = Tool(program, "stand-in v0", True, "no", None, (folder,))
    return replace(tools, tool=tool, cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo 'no such program'", "no cycles and no schedule"),
        ("echo 12; echo '{\"instructions\": []}' > plot.json", "takes 0 cycles, and 12 were said"),
        ("echo 12; echo 'not a plot' > plot.json", "not a schedule"),
        ("echo 12; ln -s /etc/passwd plot.json", "no cycles and no schedule"),
        ("echo many; echo '{\"instructions\": []}' > plot.json", "no cycles and no schedule"),
    ],
)
def test_an_exit_status_alone_proves_nothing(target: TclTarget, tmp_path: Path, script: str, says: str) -> None:
    built = build(stand_in(tmp_path, script, target.compilation), tiny_sum(), SUM)
    assert built.outcome is Outcome.BUILD_FAILED
    assert says in built.diagnostics


def test_a_compiler_ended_by_a_signal_has_crashed(target: TclTarget, tmp_path: Path) -> None:
    built = build(stand_in(tmp_path, "kill -SEGV $$", target.compilation), tiny_sum(), SUM)
    assert built.outcome is Outcome.BUILD_CRASHED


def test_the_program_sees_nothing_of_the_host(target: TclTarget, tmp_path: Path) -> None:
    if target.sandbox.level != "full":
        pytest.skip("the reduced sandbox shows the host's files")
    secret = tmp_path / "secret"
    secret.write_text("not for a candidate")
    tools = stand_in(tmp_path, f"cat {secret}; cat /etc/shadow; env; exit 1", target.compilation)
    built = build(tools, tiny_sum(), SUM)
    assert "not for a candidate" not in built.diagnostics
    assert "root:" not in built.diagnostics
    assert "KERNELWRIGHT" not in built.diagnostics


def test_a_sandbox_that_does_not_start_is_no_fault_of_a_design(target: TclTarget, tmp_path: Path) -> None:
    if target.sandbox.level != "full":
        pytest.skip("there is no bubblewrap to fail")
    tool = replace(target.tool, roots=(tmp_path / "nothing-is-here",))
    with pytest.raises(TargetError, match="sandbox does not start"):
        run(target.jail, tool, tmp_path, ["true"], 10.0)


def test_vector_work_is_priced_by_its_lanes(target: TclTarget) -> None:
    """The compiler's own price of a pass over 15,728,640 elements is that of a pass over 64."""
    spec = registry.kernel("sliding_attention_output")
    built = target.build(spec, target.baseline(spec))
    found = target.estimate(spec, built, {})
    assert found is not None
    assert found.model == MODEL
    assert found.details["compiler_cycles"] == 13649
    # The transfer of the weights takes 11,865 cycles, and the pass over them does not begin before.
    assert found.details["cycles"] > 11_865 + lane_cycles(15_728_640, 8)
    assert found.seconds == pytest.approx(found.details["cycles"] * 1e-9)
    assert found.limit == "HBM"


def test_a_release_that_does_not_evaluate_compiles_and_says_so(make: Make) -> None:
    if shutil.which(CROSS_COMPILER) is None:
        pytest.skip(f"{CROSS_COMPILER} is not installed")
    old = make(OLD)
    built = old.build(tiny_sum(), SUM)
    assert built.outcome is Outcome.OK, built.diagnostics
    assert built.path is not None
    record = read_record(built.path)
    assert record.cycles is None
    assert record.binary is not None
    assert old.estimate(tiny_sum(), built, {}) is None
    assert not old.build(tiny_sum(), SUM.replace("%2 + %1", "%2 + 1.0")).ok
    assert [(probe.name, probe.value) for probe in old.probes()] == [("model", 0.0)]
    with old.open(tiny_sum(), 1) as bench:
        assert "datasheet" in bench.floor_seconds().conditions["rate"]


def test_without_a_cross_compiler_the_old_release_says_what_is_missing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = make(OLD).compilation
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(TargetError, match="apt-get install gcc-aarch64-linux-gnu"):
        build(tools, tiny_sum(), SUM)


def test_what_is_priced_is_not_always_compiled(make: Make) -> None:
    """A pass is evaluated with a price, and refused when it is lowered: f4 as the operand that does not stream."""
    if shutil.which(CROSS_COMPILER) is None:
        pytest.skip(f"{CROSS_COMPILER} is not installed")
    target = make(binary="best")
    fine, refused = target.build(tiny_sum(), SUM), target.build(tiny_f4(), F4_SECOND)
    assert fine.ok
    assert refused.ok, "the evaluation takes it"
    with target.open(tiny_sum(), 1) as bench:
        report = bench.verify(fine, 1)
        assert report.outcome is Outcome.NO_VALUES
        assert "compiled to the chip's binary" in report.reason
    with target.open(tiny_f4(), 1) as bench:
        report = bench.verify(refused, 1)
        assert report.outcome is Outcome.BUILD_CRASHED, report.reason
        assert "unsupported fetch type conversion" in report.reason
