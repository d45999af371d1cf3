"""The compile adapter on a stand-in for cargo: outcomes, the schedule, fresh builds, proofs that A is not B."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.visa import commands
from kernelwright.hardware.rngd.visa.build import build, compile_in, find_kernel
from kernelwright.hardware.rngd.visa.estimate import analysis, estimate
from kernelwright.hardware.rngd.visa.identity import Identity, proved
from kernelwright.hardware.rngd.visa.program import executable, program
from kernelwright.hardware.rngd.visa.target import VisaTarget
from kernelwright.hardware.rngd.visa.tools import mismatch
from kernelwright.hardware.rngd.visa.workspace import KEPT, design_folder, new_folder, root
from kernelwright.hardware.target import TargetError
from kernelwright.knowledge.diagnostics import diagnose
from support.rngd.workshop import KERNEL, Workshop, design, spec

from .conftest import Make


def test_a_build_gives_artifact_schedule_and_estimate(make: Make) -> None:
    target = make()
    built = target.build(spec(), design(span=120_000))
    assert built.outcome is Outcome.OK, built.diagnostics
    assert built.artifact is not None
    found = target.estimate(spec(), built, {})
    assert found is not None
    assert found.seconds == pytest.approx(120e-6)
    assert found.details["makespan_cycles"] == 120_000
    assert found.details["share.DmaEngine"] == pytest.approx(0.6)
    assert found.limit == "DMA"
    assert "src/ops.rs:9:13" in analysis(built)
    again = target.build(spec(), design(span=120_000))
    assert (again.artifact, again.seconds) == (built.artifact, 0.0)
    other = target.build(spec(), design(span=120_001))
    assert other.artifact != built.artifact


def test_exit_status_decides_though_finished_follows(make: Make) -> None:
    failed = make().build(spec(), design(fail="visa: while lowering TensorUnit | reduce axis should not have padding"))
    assert failed.outcome is Outcome.BUILD_FAILED
    assert "Finished" in failed.diagnostics
    message, _ = diagnose("compile-error", failed.diagnostics, design())
    assert message == "visa: while lowering tensorunit; caused by: reduce axis should not have padding"


@pytest.mark.parametrize(
    ("said", "outcome", "words"),
    [
        (
            {"fail": "visa: internal compiler error: attempt to subtract with overflow"},
            Outcome.BUILD_CRASHED,
            "subtract",
        ),
        ({"fail": "mir: this node needs more slots than a VE pass has", "status": 1}, Outcome.BUILD_FAILED, "slots"),
        ({"compile": "no-artifact"}, Outcome.BUILD_FAILED, "exit status 0, but no .bin, .edf of ops::double"),
    ],
)
def test_failures(make: Make, said: dict[str, object], outcome: Outcome, words: str) -> None:
    built = make().build(spec(), design(**said))
    assert built.outcome is outcome
    assert words in built.diagnostics
    assert built.artifact is None


def test_a_hang_ends_and_is_not_kept(make: Make) -> None:
    tools = dataclasses.replace(make().tools, build_seconds=2.0)
    source = design(compile="hang")
    assert build(tools, spec(), source).outcome is Outcome.BUILD_HUNG
    assert build(tools, spec(), source).seconds > 1.0


def test_a_schedule_that_cannot_be_read_costs_the_estimate_alone(make: Make) -> None:
    built = make().build(spec(), design(schedule="broken"))
    assert built.ok
    assert estimate(built) is None
    assert built.diagnostics.startswith("note: no estimate: not a schedule")


def test_files_that_a_design_may_not_bring(make: Make) -> None:
    built = make().build(spec(), "//// file: build.rs\nfn main() {}\n")
    assert built.outcome is Outcome.VETOED
    assert "build.rs" in built.diagnostics


def test_a_design_of_one_file_keeps_the_projects_parts(make: Make, workshop: Workshop) -> None:
    project = make().project
    project.copy(workshop.folder / "copy", {"src/ops.rs": "x"})
    assert (workshop.folder / "copy/src/device/parts.rs").exists()
    project.copy(workshop.folder / "other", {"src/ops.rs": "x", "src/device/own.rs": "y"})
    assert sorted(path.name for path in (workshop.folder / "other/src/device").iterdir()) == ["own.rs"]


def test_one_kernel_of_several_with_like_names(tmp_path: Path) -> None:
    for name in ("k::ops::double.bin", "k::ops::double.edf", "k::ops::double_wide.bin", "k::other::double.bin"):
        (tmp_path / name).write_bytes(name.encode())
    found = find_kernel(tmp_path, f"ops::{KERNEL}")
    assert found == {".bin": b"k::ops::double.bin", ".edf": b"k::ops::double.edf"}
    (tmp_path / "k::ops::triple.bin").symlink_to("/etc/passwd")
    assert find_kernel(tmp_path, "ops::triple") == {}


def test_kernels_kept_by_name_do_not_pass_for_another_source(make: Make) -> None:
    """The stand-in answers from what it kept in the target folder: a shared folder gives A's kernel for B."""
    tools = make().tools
    first, second = design(span=1), design(span=2)
    with new_folder(tools, {"src/ops.rs": first}) as shared:
        one = compile_in(tools, spec(), shared)
        (shared / "src/ops.rs").write_text(second)
        assert compile_in(tools, spec(), shared).artifact == one.artifact
    found: dict[str, str | None] = {}
    for source in (first, second, first):
        with design_folder(tools, {"src/ops.rs": source}) as folder:
            made = compile_in(tools, spec(), folder)
        assert found.setdefault(source, made.artifact) == made.artifact
    assert len(set(found.values())) == 2


def test_a_folder_is_kept_for_its_design_alone(make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    tools = make().tools
    with design_folder(tools, {"src/ops.rs": "a"}) as folder:
        (folder / "target" / "library").write_text("compiled")
        (folder / "target" / "furiosa-opt").mkdir()
        (folder / "kernels" / "old.bin").write_text("x")
        (folder / "src" / "left-behind").write_text("x")
        first = folder
    with design_folder(tools, {"src/ops.rs": "a"}) as folder:
        assert folder == first
        assert (folder / "target" / "library").read_text() == "compiled"
        assert not (folder / "target" / "furiosa-opt").exists()
        assert list((folder / "kernels").iterdir()) == []
        assert not (folder / "src" / "left-behind").exists()
        # What hostile code may leave in its place.
        shutil.rmtree(folder / "target")
        (folder / "target").symlink_to("/etc")
    with design_folder(tools, {"src/ops.rs": "a"}) as folder:
        assert not (folder / "target").is_symlink()
        assert list((folder / "target").iterdir()) == []
    for name in "bcde":
        with design_folder(tools, {"src/ops.rs": name}) as folder:
            assert folder != first
    assert len([each for each in first.parent.parent.iterdir() if each.is_dir()]) == KEPT
    assert not first.exists()
    other = tmp_path / f"kernelwright-visa-{os.geteuid()}"
    shutil.rmtree(other)
    other.symlink_to("/etc")
    with pytest.raises(TargetError, match="belongs to somebody else"):
        root()


def test_proofs(make: Make) -> None:
    target = make()
    one, two = design(span=1), design(span=2)
    a, b = target.build(spec(), one), target.build(spec(), two)
    assert proved(target.tools, spec(), (one, a), (two, b)) is Identity.DIFFERENT
    assert proved(target.tools, spec(), (one, a), (one, a)) is Identity.SAME_SOURCE
    # A build that some cache had answered: the fresh one tells.
    mixed_up = dataclasses.replace(b, artifact=a.artifact)
    assert proved(target.tools, spec(), (one, a), (two, mixed_up)) is Identity.STALE
    # A change that does nothing: files that only the sources' order of marks tells apart.
    failed = target.build(spec(), design(fail="visa: no"))
    assert proved(target.tools, spec(), (one, a), (design(fail="visa: no"), failed)) is Identity.UNKNOWN


def test_the_command_names_one_kernel_exactly(make: Make) -> None:
    argv = commands.compile_command("cargo", make().project, KERNEL)
    assert argv[:4] == ["cargo", "furiosa-opt", "compile", "ops::double"]
    assert {"--exact", "--message-format", "json", "--dump-schedule", "-p", "kernels"} <= set(argv)


def test_versions_that_cannot_work_together(make: Make, workshop: Workshop) -> None:
    (workshop.bin / "version").write_text("0.7.0")
    with pytest.raises(TargetError, match="fails on a missing FURIOSA_OPT_OUT_DIR"):
        make().toolchain()
    assert mismatch("0.6.1", "0.6.0") == ""
    assert "released together" in mismatch("0.8.1", "0.7.0")


def test_what_is_missing_is_said(make: Make, workshop: Workshop) -> None:
    with pytest.raises(TargetError, match="needs a project"):
        make(project=None).toolchain()
    with pytest.raises(TargetError, match="is not installed"):
        make(cargo="no-such-cargo").toolchain()
    with pytest.raises(TargetError, match="no fixture"):
        make(fixtures="gone.safetensors").toolchain()
    (workshop.project / "Cargo.toml").write_text('[package]\nname = "kernels"\n')
    with pytest.raises(TargetError, match="not a kernel package"):
        make().toolchain()


def test_parts_follow_what_is_installed(make: Make, workshop: Workshop) -> None:
    before = make().toolchain()
    assert before.parts["furiosa_opt"] == "0.6.0"
    assert before.parts["profile_variable"] == "TUC_PROFILE_LEVEL"
    assert before.parts["device"] == "none"
    for path, text in (
        ("bin/version", "0.8.1"),
        ("kernels/Cargo.lock", '[[package]]\nname = "furiosa-opt-std"\nversion = "0.8.1"\n'),
    ):
        (workshop.folder / path).write_text(text)
    after = make().toolchain()
    assert set(after.changed(before)) == {"furiosa_opt", "library", "profile_variable", "project"}
    assert after.parts["profile_variable"] == "FURIOSA_OPT_PROFILE"


def test_a_stamp_changes_with_the_project(make: Make, workshop: Workshop) -> None:
    target = make()
    before = target.toolchain_stamp()
    assert target.toolchain_stamp() == before
    (workshop.project / "src/ops.rs").write_text(design(span=7))
    assert target.toolchain_stamp() != before


@pytest.mark.parametrize(
    "options",
    [{"module": "ops; rm"}, {"bench": "a b"}, {"kernel_variable": "A=1 B"}, {"pairs_per_job": 0}, {"sandbox": "none"}],
)
def test_options_that_no_command_line_may_hold(options: dict[str, object]) -> None:
    with pytest.raises(TargetError):
        VisaTarget(**options)  # type: ignore[arg-type]  # wrong on purpose


def test_a_fixture_may_not_take_the_place_of_an_arm(make: Make, workshop: Workshop) -> None:
    (workshop.project / "best").write_bytes(b"x")
    with pytest.raises(TargetError, match="a file of its own called best"):
        _ = make(fixtures="best").project


def test_the_program_is_none_that_lies_outside(tmp_path: Path) -> None:
    message = {"reason": "compiler-artifact", "target": {"name": "t"}, "executable": "/build/target/release/deps/t-1"}
    assert executable(json.dumps(message), "t") == "target/release/deps/t-1"
    assert executable(json.dumps({**message, "executable": "/tmp/x/project/target/a"}), "t") == "target/a"
    for path in ("/etc/passwd", "/build/target/../../etc/passwd", None, 7):
        assert executable(json.dumps({**message, "executable": path}), "t") == ""
    assert executable("{broken\n[1]\n" + json.dumps(message), "other") == ""


def test_the_reduced_sandbox_builds_the_same_way(make: Make) -> None:
    """Without namespaces the folder is where it is; what is built, dumped and launched is found all the same."""
    target = make(sandbox="reduced")
    built = target.build(spec(), design(span=777, note="reduced"))
    assert built.outcome is Outcome.OK, built.diagnostics
    found = estimate(built)
    assert found is not None
    assert found.details["makespan_cycles"] == 777
    assert program(target.tools, spec(), built).content.startswith(b"#!")
    with target.open(spec(), 1) as bench:
        assert bench.verify(built, 1).ok
