"""Keys of this process are in no process that builds or runs a candidate on the CPU target, and in nothing they say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.target import TargetError
from support.toy_kernel import RIGHT, SETTINGS, toy, unscreened_build

CANARY = "sk-canary-0123456789abcdef"
LOOKS = """#include <string.h>
extern char **environ;
static int finds(void) {
  for (char **each = environ; each && *each; each++)
    if (strstr(*each, "sk-canary")) return 1;
  return 0;
}
"""
"""C that looks for the key in the environment of its process."""


@pytest.fixture(params=["full", "reduced"])
def target(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CpuTarget:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TOY_KEY"):
        monkeypatch.setenv(name, CANARY)
    try:
        made = CpuTarget(cache=tmp_path / "cache", sandbox=request.param, settings=SETTINGS)
        made.build(toy(), RIGHT)
    except TargetError as error:
        pytest.skip(str(error))
    return made


def test_a_source_cannot_include_the_environment_of_its_compiler(target: CpuTarget) -> None:
    for place in ("/proc/self/environ", f"/proc/{os.getpid()}/environ", "/proc/1/environ"):
        built = target.build(toy(), f'#include "{place}"\n{RIGHT}')
        assert not built.ok
        assert CANARY not in built.diagnostics


def test_a_design_finds_no_key_where_it_runs(target: CpuTarget, tmp_path: Path) -> None:
    program = tmp_path / "looks.c"
    program.write_text(f"{LOOKS}int main(void) {{ return finds(); }}\n")
    subprocess.run([*target.compiler.command, program, "-o", tmp_path / "looks"], check=True)
    assert subprocess.run([tmp_path / "looks"], check=False).returncode == 1, "here it is found"
    # The design is wrong where it finds the key, and right where it does not.
    spying = LOOKS + RIGHT.replace("float sum = 0;", "float sum = finds() ? 1e30f : 0;")
    build = unscreened_build(target, spying, tmp_path)
    with target.open(toy(), 1) as bench:
        report = bench.verify(build, 2)
        with bench.pair(build, build, 3) as session:
            read = session.read(["BC"], 2)
    assert report.ok, report.reason
    assert len(read.pairs) == 1, "every timed output is right, too"
