"""Levels of the sandbox, and a command's end at its limit."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from kernelwright.hardware.cpu import CpuTarget, doctor
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.sandbox import Jail, Limits, Mount, SandboxLevel, run_bounded
from kernelwright.hardware.sandbox.jail import Wanted
from kernelwright.hardware.target import TargetError
from support.toy_kernel import RIGHT, SETTINGS, toy, unscreened_build

CHEATS = Path(__file__).parent / "cheats"


@pytest.fixture(scope="module")
def reduced(target: CpuTarget) -> CpuTarget:
    """A target whose user has allowed the reduced level by name."""
    return CpuTarget(sandbox="reduced", cache=target.cache, settings=SETTINGS, build_seconds=60.0)


def test_the_reduced_level_says_so_and_works(reduced: CpuTarget) -> None:
    assert reduced.sandbox.level is SandboxLevel.REDUCED
    assert "no namespaces" in reduced.sandbox.description
    build = reduced.build(toy(), RIGHT)
    assert build.ok, build.diagnostics
    with reduced.open(toy(), 1) as bench:
        assert bench.verify(build, 2).ok
        with bench.pair(build, build, 3) as session:
            assert session.read(["BC"], 2).outcome is Outcome.OK


@pytest.mark.parametrize("name", ["fork", "socket", "file", "kills_others", "infinite_loop", "huge_static"])
def test_the_reduced_level_still_holds(reduced: CpuTarget, tmp_path: Path, name: str) -> None:
    expected = {"infinite_loop": Outcome.HUNG, "huge_static": Outcome.OUT_OF_MEMORY}.get(name, Outcome.FORBIDDEN_CALL)
    build = unscreened_build(reduced, (CHEATS / f"{name}.c").read_text(), tmp_path)
    with reduced.open(toy(), 1) as bench:
        assert bench.verify(build, 2).outcome is expected


def test_the_reduced_level_shows_no_file_of_the_host(reduced: CpuTarget, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("'the secret of the host\n")
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    build = reduced.build(toy(), f'#include "kernel.h"\n#include "{secret}"\n{RIGHT}')
    assert build.outcome in (Outcome.VETOED, Outcome.BUILD_FAILED)
    assert "the secret of the host" not in build.diagnostics


def test_without_bubblewrap_nothing_is_lowered_silently(target: CpuTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = target.helpers.launcher
    monkeypatch.setattr("kernelwright.hardware.sandbox.jail.shutil.which", lambda _name: None)
    levels: tuple[Wanted, ...] = ("auto", "full")
    for wanted in levels:
        with pytest.raises(TargetError, match=r"apt-get install bubblewrap.*sandbox = reduced"):
            Jail(launcher, wanted)
    assert Jail(launcher, "reduced").level is SandboxLevel.REDUCED


def test_a_bubblewrap_that_does_not_work_is_not_trusted(
    target: CpuTarget, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As where the system forbids namespaces: it is there, and fails."""
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    broken.chmod(0o755)
    monkeypatch.setattr("kernelwright.hardware.sandbox.jail.shutil.which", lambda _name: str(broken))
    with pytest.raises(TargetError, match=r"setting up uid map: Permission denied.*userns"):
        Jail(target.helpers.launcher, "auto")


def test_the_full_level_shows_nothing_but_the_toolchain(target: CpuTarget, tmp_path: Path) -> None:
    if target.sandbox.level is not SandboxLevel.FULL:
        pytest.skip("needs namespaces")
    argv = target.jail.command(
        ["/usr/bin/env", "sh", "-c", "ls / /proc/1/root/home /root; id -u; cat /proc/self/status; env"], Limits()
    )
    said = run_bounded(argv, timeout_seconds=20, environment={"ONLY": "this"}).output
    assert "home" not in said.split()
    assert "work" not in said.split()
    assert "CapEff:\t0000000000000000" in said
    assert "CapBnd:\t0000000000000000" in said
    assert "NoNewPrivs:\t1" in said
    assert "ONLY=this" in said


def test_a_program_of_the_owners_home_runs_without_privileges(target: CpuTarget, tmp_path: Path) -> None:
    """What lies behind folders that only the owner may enter is shown, and the command that sees it has no rights."""
    if target.jail.level is not SandboxLevel.FULL:
        pytest.skip("no full sandbox here")
    home = tmp_path / "home"
    shown = home / "shown"
    shown.mkdir(parents=True)
    (shown / "text").write_text("seen\n")
    (home / "hidden").write_text("hidden\n")
    home.chmod(0o700)
    tool = f"cat {shown}/text; cat {home}/hidden; id -u; cat /proc/self/status; touch {shown}/new"
    argv = target.jail.command_of_owner(["/bin/sh", "-c", tool], Limits(), [Mount(shown)])
    said = run_bounded(argv, timeout_seconds=20, environment={"PATH": "/usr/bin:/bin"}).output
    assert "seen" in said
    assert "hidden\n" not in said.replace(f"{home}/hidden", "")
    assert not (shown / "new").exists()
    assert "CapEff:\t0000000000000000" in said
    assert "CapPrm:\t0000000000000000" in said
    assert "NoNewPrivs:\t1" in said
    assert "\n0\n" not in said  # it is not root


def test_the_limit_ends_a_whole_group_that_ignores_signals(tmp_path: Path) -> None:
    script = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n"
        f"    open({str(tmp_path / 'child')!r}, 'w').write(str(os.getpid()))\n"
        "print('working', flush=True)\n"
        "time.sleep(600)\n"
    )
    done = run_bounded([sys.executable, "-c", script], timeout_seconds=3, environment={})
    assert done.status is None
    assert "working" in done.output
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_output_without_end_is_cut() -> None:
    script = "import sys\nfor _ in range(3000): sys.stdout.write('x' * 1000)\n"
    done = run_bounded([sys.executable, "-c", script], timeout_seconds=60, environment={}, output_limit_bytes=5000)
    assert (done.status, len(done.output), done.truncated) == (0, 5000, True)


def test_doctor_says_what_is_there_and_what_is_not(monkeypatch: pytest.MonkeyPatch, target: CpuTarget) -> None:
    facts = doctor(sandbox="reduced")
    assert facts["compiler"] == target.compiler.version
    assert facts["sandbox"] == "reduced"
    assert facts["cores"] >= 1
    assert any(line.startswith("sandbox: reduced") for line in facts["lines"])
    monkeypatch.setattr("kernelwright.hardware.sandbox.jail.shutil.which", lambda _name: None)
    poor = doctor()
    assert poor["sandbox"] is None
    assert any("apt-get install bubblewrap" in each for each in poor["missing"])
    assert any(line.startswith("missing: ") for line in poor["lines"])
