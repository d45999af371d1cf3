"""Which toolchain is used, and what is asked of pip for a new one. Nothing is installed here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from kernelwright.hardware.environments import DATA_VARIABLE
from kernelwright.hardware.rngd.target import RngdTarget
from kernelwright.hardware.rngd.tcl import tool
from kernelwright.hardware.rngd.tcl.diagnosis import essence, told
from kernelwright.hardware.target import TargetError


def record(data: Path, name: str, estimates: str, values: str) -> None:
    """An environment as it looks when it was made."""
    folder = data / "toolchains" / "rngd" / name
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "furiosa-tcc").write_text("#!/bin/sh\nexit 0\n")
    (folder / "bin" / "furiosa-tcc").chmod(0o755)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    facts = {"tcc": f"tcc v{name}", "estimates": estimates, "values": values}
    (folder / "kernelwright-toolchain.json").write_text(json.dumps({"name": name, "facts": facts, "requirements": []}))


def test_the_best_toolchain_estimates_then_has_values_then_is_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    record(tmp_path, "tcc-2026.3.0", "no", "no")
    assert tool.find_tool(None).version == "tcc vtcc-2026.3.0"
    record(tmp_path, "tcc-2026.4.0", "yes", "no")
    record(tmp_path, "tcc-2026.10.0", "yes", "no")
    assert tool.find_tool(None).version == "tcc vtcc-2026.10.0"
    record(tmp_path, "tcc-2026.4.0-torch", "yes", "furiosa-torch 2026.4.0")
    best = tool.find_tool(None)
    assert best.version == "tcc vtcc-2026.4.0-torch"
    assert best.python is not None
    assert Path("/usr") in best.roots
    assert tool.find_tool("tcc-2026.3.0").estimates is False
    with pytest.raises(TargetError, match=r"tcc-2026\.3\.0"):
        tool.find_tool("tcc-2025.1.0")


def test_without_any_the_command_that_helps_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(TargetError, match="kernelwright toolchain add rngd --tcc"):
        tool.find_tool(None)


def test_a_recipe_names_the_vendor_and_its_licence() -> None:
    small = tool.recipe({"tcc": "2026.3.0"})
    assert small.requirements == ("furiosa-tcc==2026.3.0",)
    assert small.name == "tcc-2026.3.0"
    large = tool.recipe({"tcc": "2026.4.0", "torch-env": "yes"})
    assert large.requirements == ("furiosa-tcc==2026.4.0", "furiosa-torch==2026.4.0")
    assert large.name != tool.recipe({"tcc": "2026.4.0"}).name
    for each in (small, large):
        assert "licence" in each.describe
        assert "FuriosaAI" in each.describe
    with pytest.raises(TargetError, match="no release"):
        tool.recipe({"tcc": "newest"})


def test_options_are_checked() -> None:
    for options, says in (
        ({"pes": 3}, "2, 4, 8"),
        ({"sandbox": "none"}, "full"),
        ({"binary": "often"}, "never"),
        ({"dsl": "c"}, "tcl"),
    ):
        with pytest.raises(TargetError, match=says):
            RngdTarget(**options)


def test_messages_come_down_to_one_line() -> None:
    panic = (
        "thread 'main' (5) panicked at /usr/local/x/crates/npu-ir-common/src/furiops.rs:1504:9:\n"
        "assertion `left == right` failed\n  left: 64\n right: 32\nstack backtrace:\nnote: Some details"
    )
    assert essence(panic) == "panicked at furiops.rs: assertion `left == right` failed left: 64 right: 32"
    verifying = (
        "failed to evaluate TCL: in fn 'g', stmt: \ny = tk.EinsumByVe(\n)): while verifying g_y: verification of operator"
        " failed:\nSymTacticKernel\ninner: kind: EinsumByVe\n\nname: g_y\n  total bytes: 0: EinsumByVe should have broadcast"
    )
    assert essence(verifying) == "EinsumByVe should have broadcast"
    assert (
        essence("failed to evaluate TCL: T9 is not an npu execution input") == "a tensor is not an npu execution input"
    )
    assert (
        essence("failed to evaluate TCL: parse error:\n  at line 7, col 22: Nom(MapRes)\n\n")
        == "parse error: Nom(MapRes)"
    )
    assert essence("") == "nothing was said"
    assert told(panic, 20).startswith("error: panicked at furiops.rs")
