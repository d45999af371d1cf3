"""Every design in cheats/ is stopped where its first lines say, and the next design still works."""

from __future__ import annotations

import dataclasses
import platform
import re
from pathlib import Path

import pytest
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.bench import CpuBench
from kernelwright.hardware.outcome import Outcome
from support.toy_kernel import RIGHT, toy, unscreened_build

FOLDER = Path(__file__).parent / "cheats"
CAUGHT = re.compile(r"^/\* caught: (\w+) ([\w-]+) \*/$", re.MULTILINE)
CASES = [
    pytest.param(path, stage, outcome, id=f"{path.stem}-{stage}")
    for path in sorted(FOLDER.glob("*.c"))
    for stage, outcome in CAUGHT.findall(path.read_text())
]
X86_ONLY = {"float_state", "aligned_load", "reads_counter"}


def met(target: CpuTarget, bench: CpuBench, source: str, stage: str, folder: Path) -> tuple[str, str]:
    """Outcome and reason of one stage for a source."""
    if stage == "review":
        report = target.review(toy(), source)
        return report.outcome, report.reason
    if stage == "hang":
        impatient = CpuTarget(sandbox=target.sandbox.level.value, cache=target.cache, build_seconds=3.0)
        build = impatient.build(toy(), source)
        return build.outcome, build.diagnostics
    build = unscreened_build(target, source, folder) if stage == "sandbox" else target.build(toy(), source)
    if stage == "build" or not build.ok:
        return build.outcome, build.diagnostics
    if stage in ("verify", "sandbox"):
        report = bench.verify(build, 99)
        return report.outcome, report.reason
    with bench.pair(target.build(toy(), RIGHT), build, 7) as session:
        pairs = session.read(["BC", "CB"] * 6, 4, pairs_per_process=12)
    assert pairs.blamed == ("nobody" if pairs.outcome is Outcome.OK else "candidate")
    return pairs.outcome, pairs.reason


@pytest.mark.parametrize(("path", "stage", "outcome"), CASES)
def test_stopped(target: CpuTarget, bench: CpuBench, tmp_path: Path, path: Path, stage: str, outcome: str) -> None:
    if path.stem in X86_ONLY and platform.machine() != "x86_64":
        pytest.skip("uses instructions of x86-64")
    found, reason = met(target, bench, path.read_text(), stage, tmp_path)
    assert found == outcome, reason
    assert reason or found == Outcome.OK
    after = bench.verify(target.build(toy(), RIGHT), 1)
    assert after.ok, after.reason


def test_every_fixture_says_what_it_does_and_what_catches_it() -> None:
    for path in FOLDER.glob("*.c"):
        text = path.read_text()
        assert text.startswith("/* does: "), path.name
        assert CAUGHT.search(text), path.name


def test_a_changed_artifact_is_not_loaded(target: CpuTarget, bench: CpuBench) -> None:
    build = target.build(toy(), RIGHT)
    other = dataclasses.replace(build, artifact="0" * 64)
    report = bench.verify(other, 1)
    assert report.outcome is Outcome.LOAD_FAILED
    assert "not the one that was built" in report.reason
