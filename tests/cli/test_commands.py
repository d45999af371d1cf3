"""The command line through its real entry point: a short run on the real CPU target, and everything that can go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

KERNEL_FILE = Path(__file__).parent / "tiny_attention.py"
KERNEL = "sliding_attention_output"
PROGRAM = [sys.executable, "-c", "from kernelwright.cli import main; main()"]
# Tiny kernels take microseconds: noise that would make a device unfit for real ones is normal there.
LENIENT = ["--policy", "max_detectable_gain=100", "--policy", "calibration_e=1e9", "--policy", "suspect_jump=1000"]
LENIENT += ["--policy", "suspect_floor_margin=0.99"]


def kernelwright(*arguments: object, cwd: Path, timeout: float = 280) -> subprocess.CompletedProcess[str]:
    """Run the program; never through a shell."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False
    )


def as_json(*arguments: object, cwd: Path) -> Any:
    """The JSON that a command prints; it must succeed and print nothing else to standard output."""
    done = kernelwright(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A short run of a tiny kernel, and the folder that its log lies in."""
    folder = tmp_path_factory.mktemp("run")
    return folder, as_json("run", "--kernel-file", KERNEL_FILE, "--minutes", 2.0, *LENIENT, cwd=folder)


def test_a_run_ends_with_its_result(run: tuple[Path, dict[str, Any]]) -> None:
    _, result = run
    assert result["state"] == "finished"
    (kernel,) = result["kernels"]
    assert kernel["refused"] is None
    assert kernel["name"] == KERNEL
    assert kernel["designs"]["proposed"] >= 1
    assert kernel["baseline_seconds"] > 0
    assert kernel["floor_seconds"] > 0
    assert kernel["speedup_low"] <= kernel["speedup"] <= kernel["speedup_high"]
    assert result["overhead_seconds_per_candidate"] > 0
    assert result["device_seconds"] > 0


def test_status_says_what_run_said(run: tuple[Path, dict[str, Any]]) -> None:
    folder, result = run
    assert as_json("status", cwd=folder) == result
    text = kernelwright("status", result["run"], cwd=folder)
    assert KERNEL in text.stdout


def test_runs_tree_explain_and_source_agree(run: tuple[Path, dict[str, Any]]) -> None:
    folder, result = run
    name = result["run"]
    (listed,) = as_json("runs", cwd=folder)
    assert (listed["run"], listed["target"], listed["kernels"]) == (name, "cpu", [KERNEL])
    tree = as_json("tree", name, KERNEL, cwd=folder)
    assert tree["best"] == result["kernels"][0]["best_design"]
    story = as_json("explain", name, f"{KERNEL}/d0001", cwd=folder)
    assert story["kernel"] == KERNEL
    source = as_json("source", name, f"{KERNEL}/d0001", cwd=folder)
    assert source["digest"] == story["identity"]["source"]
    assert f"void {KERNEL}(" in source["source"]
    for command in (("tree", name, KERNEL), ("explain", name, "d0001"), ("source", name, "d0001"), ("runs",)):
        assert kernelwright(*command, cwd=folder).returncode == 0


def test_submitted_designs_get_typed_outcomes(run: tuple[Path, dict[str, Any]]) -> None:
    folder, result = run
    sources = {
        "build-failed": "int x = ;",
        "wrong-value": f'#include "kernel.h"\nvoid {KERNEL}(const uint16_t *restrict a, const uint8_t *restrict w_o, const '
        "uint16_t *restrict s_o, const uint16_t *restrict w_post, uint16_t *restrict residual) { residual[0] = 0; }",
    }
    for outcome, text in sources.items():
        path = folder / f"{outcome}.c"
        path.write_text(text)
        said = as_json("submit", result["run"], "--kernel", KERNEL, "--source", path, cwd=folder)
        assert said["verdict"] is None
        assert said["outcome"] in (outcome, "vetoed"), said
        assert said["reason"]
    assert as_json("status", result["run"], cwd=folder)["state"] == "finished"


def test_ctrl_c_leaves_a_log_that_resumes(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "run", "--kernel-file", str(KERNEL_FILE), "--minutes", "30", *LENIENT],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for_designs(tmp_path, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "kernelwright resume" in errors
    assert "Traceback" not in errors
    before = as_json("status", cwd=tmp_path)
    assert before["state"] == "interrupted"
    after = as_json("resume", before["run"], "--minutes", before["elapsed_seconds"] / 60 + 0.05, cwd=tmp_path)
    assert after["state"] == "finished"
    assert after["kernels"][0]["designs"]["proposed"] >= before["kernels"][0]["designs"]["proposed"]


def test_kill_9_leaves_a_log_that_resumes(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "run", "--kernel-file", str(KERNEL_FILE), "--minutes", "30", *LENIENT],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for_designs(tmp_path, process)
    process.kill()
    process.wait(timeout=30)
    before = as_json("status", cwd=tmp_path)
    assert before["state"] == "running"
    after = as_json("resume", before["run"], "--minutes", before["elapsed_seconds"] / 60 + 0.05, cwd=tmp_path)
    assert after["state"] == "finished"
    assert after["device_seconds"] >= before["device_seconds"]


def wait_for_designs(folder: Path, process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Until the run has registered a design beside the baseline."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, "the run ended by itself"
        done = kernelwright("status", "--json", cwd=folder)
        if done.returncode == 0 and json.loads(done.stdout)["kernels"][0]["designs"]["proposed"] >= 1:
            return
        time.sleep(0.5)
    pytest.fail("no design was proposed within two minutes")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--kernels", "sliding_project_qvk"], "did you mean sliding_project_qkv"),
        (["run", "--target", "cpx"], "cpu"),
        (["run", "--policy", "accept_e=lots"], "accept_e"),
        (["run", "--policy", "acept_e=100"], "accept_e"),
        (["run", "--minutes", "-1"], "budgets.minutes"),
        (["run", "--config", "none.toml"], "none.toml"),
        (["run", "--kernel-file", "none.py"], "none.py"),
        (["run", "--store", "/proc/nowhere/log.sqlite"], "/proc/nowhere/log.sqlite"),
        (["run", "--store", "."], "is a folder"),
        (["status"], "there is no log"),
        (["resume", "r1"], "there is no log"),
    ],
)
def test_bad_input_is_one_line_that_helps(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = kernelwright(*arguments, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_unknown_names_have_the_nearest_ones(run: tuple[Path, dict[str, Any]]) -> None:
    folder, result = run
    name = result["run"]
    for arguments, message in (
        (("status", name + "x"), f"did you mean {name}"),
        (("tree", name, "sliding_attention_outptu"), f"did you mean {KERNEL}"),
        (("explain", name, "d00001"), "did you mean"),
        (("source", name, "nothing"), "has no design"),
        (("submit", name, "--kernel", KERNEL, "--source", "none.c"), "none.c"),
        (("resume", name), "--minutes"),
    ):
        done = kernelwright(*arguments, cwd=folder)
        assert done.returncode in (1, 2), done.stdout
        assert message in done.stderr
        told = kernelwright(*arguments, "--json", cwd=folder)
        assert message in json.loads(told.stdout)["error"]


def test_two_processes_do_not_work_at_one_run(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "run", "--kernel-file", str(KERNEL_FILE), "--minutes", "30", *LENIENT],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_designs(tmp_path, process)
        run = as_json("status", cwd=tmp_path)["run"]
        done = kernelwright("resume", run, cwd=tmp_path)
        assert done.returncode == 1
        assert run in done.stderr
        assert process.poll() is None
    finally:
        process.kill()
        process.wait(timeout=30)


def test_help_and_status_do_not_import_what_is_slow() -> None:
    code = (
        "import sys\nfrom kernelwright.cli.main import app\n"
        "import kernelwright.cli.access, kernelwright.events.views.summary, kernelwright.cli.report\n"
        "slow = {'langgraph', 'scipy.stats', 'autogen_agentchat', 'autogen_core', 'torch'} & set(sys.modules)\n"
        "sys.exit(f'imported: {slow}' if slow else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_doctor_reads_only(tmp_path: Path) -> None:
    facts = as_json("doctor", cwd=tmp_path)
    assert facts
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where it may not")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    done = kernelwright("run", "--kernel-file", KERNEL_FILE, cwd=tmp_path)
    assert done.returncode == 1
    assert "permissions" in done.stderr
