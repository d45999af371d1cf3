"""Verification, paired readings and the floor, with real processes on a toy kernel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.bench import CpuBench
from kernelwright.hardware.lease import Holder
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import Bench, Target, TargetError
from kernelwright.kernels import decoder_feedforward, sliding_attention_output, sliding_project_qkv
from kernelwright.kernels.spec import KernelSpec
from support.toy_kernel import RIGHT, toy


def test_the_target_keeps_the_protocol(target: CpuTarget, bench: CpuBench) -> None:
    plain: Target = target
    placed: Bench = bench
    assert isinstance(plain, Target)
    assert placed is bench
    assert plain.name == "cpu"
    assert plain.has_device


@pytest.mark.parametrize("module", [sliding_project_qkv, sliding_attention_output, decoder_feedforward])
def test_a_baseline_is_right_and_read_in_pairs(target: CpuTarget, module: object) -> None:
    spec: KernelSpec = module.tiny()  # type: ignore[attr-defined]
    build = target.build(spec, target.baseline(spec))
    assert build.ok, build.diagnostics
    with target.open(spec, 3) as bench:
        report = bench.verify(build, 4)
        assert report.ok, report.reason
        assert 0 < float(report.details["worst_ratio"]) <= 1
        with bench.pair(build, build, 5) as session:
            first = session.read(["BC", "CB"], 1)
            second = session.read(["CB"], 4)
    assert first.outcome is second.outcome is Outcome.OK
    assert [pair.order for pair in (*first.pairs, *second.pairs)] == ["BC", "CB", "CB"]
    assert all(pair.best_seconds > 0 and pair.candidate_seconds > 0 for pair in (*first.pairs, *second.pairs))
    assert first.device_seconds > 0


def test_readings_go_on_when_a_process_has_seen_all_inputs(target: CpuTarget, bench: CpuBench) -> None:
    build = target.build(toy(), RIGHT)
    with bench.pair(build, build, 6) as session:
        # 5 inputs for a reading of 4 calls and 36 combinations: each process lasts for some of these pairs only.
        pairs = session.read(["BC", "CB"] * 10, 4, pairs_per_process=20)
    assert pairs.outcome is Outcome.OK
    assert len(pairs.pairs) == 20


def test_more_calls_than_slots_are_refused(target: CpuTarget, bench: CpuBench) -> None:
    build = target.build(toy(), RIGHT)
    with bench.pair(build, build, 6) as session, pytest.raises(ValueError, match="a reading has 1 to"):
        session.read(["BC"], 1000)


def test_a_design_that_is_no_artifact_is_blamed(target: CpuTarget, bench: CpuBench) -> None:
    good = target.build(toy(), RIGHT)
    bad = target.build(toy(), "this is not C\n")
    assert bench.verify(bad, 1).outcome is Outcome.BUILD_FAILED
    with bench.pair(good, bad, 1) as session:
        pairs = session.read(["BC"], 1)
    assert (pairs.outcome, pairs.blamed, pairs.pairs) == (Outcome.LOAD_FAILED, "candidate", ())


def test_the_floor_names_its_conditions(bench: CpuBench) -> None:
    floor = bench.floor_seconds()
    assert floor.value > 0
    assert floor.unit == "s"
    assert floor.conditions["bytes"] == str(toy().streamed_bytes)


def test_same_seed_same_weights(target: CpuTarget) -> None:
    """A resumed run must measure on the weights it had."""

    def content(seed: int) -> bytes:
        with target.open(toy(), seed) as opened:
            assert isinstance(opened, CpuBench)
            region = opened.loader.weights.region
            return os.pread(region.descriptor, region.bytes, 0)

    assert content(1) == content(1)
    assert content(1) != content(2)


CAMPAIGN = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from kernelwright.hardware.cpu import CpuTarget
from support.toy_kernel import RIGHT, toy
target = CpuTarget(sandbox=sys.argv[3], cache=Path(sys.argv[1]))
build = target.build(toy(), RIGHT)
with target.open(toy(), 1) as bench:
    with bench.pair(build, build, 2) as session:
        session.read(["BC"], 1)
        print("reading", flush=True)
        time.sleep(600)
"""


def descendants(root: int) -> set[int]:
    """Process ids of everything below ``root``."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:  # it ended meanwhile
            continue
        parents[int(text.split()[0])] = int(text.rsplit(")", 1)[1].split()[1])
    found: set[int] = set()
    new = {root}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return found


def gone(pid: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def test_no_process_outlives_a_killed_run(target: CpuTarget) -> None:
    support = str(Path(__file__).parents[1])
    run = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CAMPAIGN), str(target.cache), support, target.sandbox.level.value],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "reading\n"
    below = descendants(run.pid)
    assert len(below) >= 3, "the conductor and two workers"
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=30)
    deadline = time.monotonic() + 20
    while not all(gone(pid) for pid in below):
        assert time.monotonic() < deadline, "a process outlived its run"
        time.sleep(0.05)


def test_a_busy_device_is_waited_for_and_said_so(target: CpuTarget, tmp_path: Path) -> None:
    hold = textwrap.dedent(
        """
        import sys
        from kernelwright.hardware.lease import lease
        with lease("cpu", "another run"):
            print("held", flush=True)
            sys.stdin.readline()
        """
    )
    told: list[Holder | None] = []
    others: list[subprocess.Popen[str]] = []

    def on_wait(holder: Holder | None) -> None:
        told.append(holder)
        others[0].communicate("\n", timeout=20)

    waiting = CpuTarget(sandbox=target.sandbox.level.value, cache=target.cache, on_wait=on_wait)
    build = waiting.build(toy(), RIGHT)
    with waiting.open(toy(), 1) as bench, bench.pair(build, build, 2) as session:
        pipe = subprocess.PIPE
        others.append(subprocess.Popen([sys.executable, "-c", hold], stdin=pipe, stdout=pipe, text=True))
        assert others[0].stdout is not None
        assert others[0].stdout.readline() == "held\n"
        pairs = session.read(["BC"], 1)
    assert pairs.outcome is Outcome.OK
    assert [holder.name for holder in told if holder] == ["another run"]


def test_a_conductor_that_is_gone_is_no_fault_of_a_design(target: CpuTarget) -> None:
    build = target.build(toy(), RIGHT)
    with target.open(toy(), 1) as bench:
        assert isinstance(bench, CpuBench)
        bench._conductor._process.kill()
        with pytest.raises(TargetError, match="the conductor is gone"):
            bench.verify(build, 1)
