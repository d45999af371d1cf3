"""``calibrate`` and ``power`` through the real entry point."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KERNEL_FILE = Path(__file__).parent / "tiny_attention.py"
PROGRAM = [sys.executable, "-c", "from kernelwright.cli import main; main()"]
LENIENT = ["--policy", "max_detectable_gain=1e9", "--policy", "calibration_e=1e300"]


def kernelwright(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=240, check=False
    )


def simulated(cwd: Path, *arguments: object) -> Any:
    done = kernelwright("power", "--sequences", 400, "--json", *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_calibrate_reads_the_baseline_against_itself_and_leaves_nothing(tmp_path: Path) -> None:
    # A tiny kernel is noisy: whether the device is refused must not decide this test.
    done = kernelwright("calibrate", "--kernel-file", KERNEL_FILE, "--json", *LENIENT, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert "error" not in found, found
    # No gain below 100 % detected (None) is a refusal whatever the policy says.
    assert found["refused"] is (found["minimum_detectable_gain"] is None)
    assert done.returncode == (1 if found["refused"] else 0)
    assert found["kernel"] == "sliding_attention_output"
    assert found["reason"]
    calls = [each["calls"] for each in found["readings"]]
    assert calls == [1, 4, 16][: len(calls)]  # on a busy machine long readings are left out
    assert calls
    for each in found["readings"]:
        assert each["pairs"] == 8
        assert each["scale"] > 0
        assert each["device_seconds"] > 0
    assert found["device_seconds"] == pytest.approx(sum(each["device_seconds"] for each in found["readings"]))
    assert found["calls_per_reading"] in (1, 4, 16)
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_cannot_tell_what_is_asked_for_is_refused(tmp_path: Path) -> None:
    strict = ["--policy", "max_detectable_gain=1e-9", "--policy", "calibration_e=1e300"]
    done = kernelwright("calibrate", "--kernel-file", KERNEL_FILE, *strict, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "REFUSED: too noisy" in done.stdout


def test_power_says_what_a_policy_costs_and_detects(tmp_path: Path) -> None:
    found = simulated(tmp_path, "--sigma", 0.01, "--effect", 0.03)
    assert found["power"] > 0.95
    assert found["false_acceptance"] <= 0.02
    assert 8 <= found["mean_pairs_better"] < found["mean_pairs_equal"] <= 48
    assert found == simulated(tmp_path, "--sigma", 0.01, "--effect", 0.03)
    assert simulated(tmp_path, "--sigma", 0.05, "--effect", 0.03)["power"] < found["power"]
    # Fewer pairs than the test can be won in.
    assert simulated(tmp_path, "--sigma", 0.05, "--effect", 0.01, "--policy", "pair_cap=8")["power"] < 0.2
    text = kernelwright("power", "--sigma", 0.01, "--effect", 0.02, "--sequences", 200, cwd=tmp_path).stdout
    assert "false acceptance" in text
    assert "power" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["power", "--sigma", "-1", "--effect", "0.02"], "positive"),
        (["power", "--sigma", "0.01", "--effect", "0.02", "--policy", "acept_e=100"], "accept_e"),
        (["calibrate", "--kernel", "sliding_project_qvk"], "did you mean sliding_project_qkv"),
        (["calibrate", "--target", "cpx"], "cpu"),
    ],
)
def test_bad_input_is_one_line_that_helps(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = kernelwright(*arguments, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr
