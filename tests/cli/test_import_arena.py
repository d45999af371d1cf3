"""Past Arena logs as readings: what the command records, what it says, and what it cannot use."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.cli.main import app
from kernelwright.hardware.rngd.visa.arena.imported import LogFile, collect
from typer.testing import CliRunner

KERNEL = "sliding_project_qkv"
Run = Callable[..., tuple[int, Any]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def command(*arguments: str, code: int = 0) -> tuple[int, Any]:
        store = ["--store", str(tmp_path / "log.sqlite")]
        done = CliRunner().invoke(app, [*arguments, *store], catch_exceptions=False)
        assert done.exit_code == code, done.output
        return done.exit_code, json.loads(done.stdout) if "--json" in arguments else done.output

    return command


def launch(cycles: float, rng: random.Random, *, kernel: str = KERNEL, verdict: str = "PASS") -> list[str]:
    runs = [round(cycles * 1.04), *(round(cycles * rng.gauss(1, 0.006)) for _ in range(2))]
    return [
        f"[{kernel} q run0] max|Δ|=0.03 (1.2% of expected)",
        f"    mean|Δ|=0.0009 within tol=100.00% -> {verdict}",
        f"    median cycles={sorted(runs)[1]} (of 3 runs: {runs})",
    ]


def job(seed: int, rounds: int, **cycles: float) -> str:
    """A job that alternates its arms, the first one rotated."""
    rng, lines = random.Random(seed), ["some other line"]
    for number in range(rounds):
        arms = list(cycles) if number % 2 == 0 else list(reversed(cycles))
        for arm in arms:
            own = launch(cycles[arm], rng)
            lines += [f"@@AB_BEGIN {number} {arm}@@", *own, f"@@AB_END {number} {arm} rc=0@@"]
    return "\n".join(lines) + "\n"


def test_a_comparison_of_two_jobs(tmp_path: Path, run: Run) -> None:
    (tmp_path / "one.log").write_text(job(1, 8, A=78_000, B=75_600) + "    cycles=12x\n@@AB_BEGIN torn\n")
    (tmp_path / "two.log").write_text(job(2, 8, A=79_500, B=77_000))
    logs = [str(tmp_path / name) for name in ("one.log", "two.log")]
    found = run("import-arena", *logs, "--name", "past", "--json")[1]
    (kernel,) = found["kernels"]
    assert [(arm["arm"], arm["design"], arm["readings"]) for arm in kernel["arms"]] == [
        ("A", "d0000", 16),
        ("B", "d0001", 16),
    ]
    assert kernel["arms"][0]["reference"]["speedup_over_official_baseline"] == pytest.approx(3.2, abs=0.1)
    (comparison,) = kernel["comparisons"]
    assert (comparison["best"], comparison["candidate"], comparison["pairs"]) == ("A", "B", 16)
    assert comparison["verdict"] == "accepted"
    assert comparison["ratio_low"] < 78 / 75.6 < comparison["ratio_high"]
    assert 0.001 < kernel["scale"] < 0.02
    assert [(each["line"], each["text"]) for each in found["unused"]] == [
        (82, "cycles=12x"),
        (83, "@@AB_BEGIN torn"),
    ]
    # It is a run like others: explained, decided again, whole.
    explained = run("explain", "past", f"{KERNEL}/d0001", "--json")[1]
    assert explained["by"] == "imported"
    assert explained["verdict"]["verdict"] == "accepted"
    deciding = [reading for reading in explained["readings"] if reading["purpose"] == "decide"]
    assert [len(reading["pairs"]) for reading in deciding] == [16]
    assert deciding[0]["reason"].startswith("imported from ")
    assert {pair["order"] for pair in deciding[0]["pairs"]} == {"BC", "CB"}
    replayed = run("replay", "past", "--policy", "accept_e=1e9", "--json")[1]
    assert [(flip["recorded"], flip["replayed"]) for flip in replayed["flips"]] == [("accepted", "needs pairs")]
    assert run("replay", "past", "--json")[1]["flips"] == []
    assert run("verify", "--json")[1]["ok"]
    status = run("status", "past", "--json")[1]
    assert status["kernels"][0]["designs"]["accepted"] == 0
    (beside,) = status["references"]
    assert beside["official_baseline_cycles"] == 250_514
    assert "the official baseline" in run("status", "past")[1]
    assert "no search in it" in run("resume", "past", "--minutes", "5", code=2)[1]
    assert "exists already" in run("import-arena", *logs, "--name", "past", code=2)[1]


def test_arms_that_do_not_differ_are_not_accepted(tmp_path: Path, run: Run) -> None:
    (tmp_path / "one.log").write_text(job(3, 12, A=78_000, B=78_000))
    found = run("import-arena", str(tmp_path / "one.log"), "--json")[1]
    assert found["kernels"][0]["comparisons"][0]["verdict"] != "accepted"


def test_logs_of_one_arm_each_pair_only_when_asked_to(tmp_path: Path, run: Run) -> None:
    names: list[str] = []
    for number in range(6):
        for arm, cycles in (("old", 78_000), ("new", 70_000)):
            path = tmp_path / f"{arm}{number}.log"
            path.write_text("\n".join(launch(cycles, random.Random(len(names)))) + "\n")
            names.append(f"{arm}={path}")
    found = run("import-arena", *names, "--json")[1]
    assert found["kernels"][0]["comparisons"] == []
    assert "no two arms were read beside each other" in run("import-arena", *names, "--name", "b")[1]
    found = run("import-arena", *names, "--across-jobs", "--name", "c", "--json")[1]
    (comparison,) = found["kernels"][0]["comparisons"]
    assert (comparison["candidate"], comparison["pairs"]) == ("new", 6)
    assert any("span two jobs" in note for note in found["notes"])
    found = run("import-arena", *names, "--across-jobs", "--name", "d", "--baseline", "new", "--json")[1]
    assert found["kernels"][0]["comparisons"][0]["ratio"] < 1


def test_what_is_not_judged_and_why(tmp_path: Path, run: Run) -> None:
    (tmp_path / "short.log").write_text(job(4, 2, A=78_000, B=75_000))
    found = run("import-arena", str(tmp_path / "short.log"), "--json")[1]
    (comparison,) = found["kernels"][0]["comparisons"]
    assert comparison["verdict"] == "not judged"
    assert "--scale" in comparison["reason"]
    found = run("import-arena", str(tmp_path / "short.log"), "--scale", "0.01", "--name", "s", "--json")[1]
    assert found["kernels"][0]["comparisons"][0]["verdict"] == "undecided"
    lines = [*launch(78_000, random.Random(1)), *launch(70_000, random.Random(2), verdict="FAIL")]
    text = "@@AB_BEGIN 1 A@@\n" + "\n".join(lines[:3]) + "\n@@AB_END 1 A rc=0@@\n"
    text += "@@AB_BEGIN 1 B@@\n" + "\n".join(lines[3:]) + "\n@@AB_END 1 B rc=1@@\n"
    (tmp_path / "wrong.log").write_text(job(5, 6, A=78_000, B=75_000) + text)
    found = run("import-arena", str(tmp_path / "wrong.log"), "--name", "w", "--json")[1]
    kernel = found["kernels"][0]
    assert "max|d| = 0.03" in kernel["arms"][1]["wrong_values"]
    assert kernel["comparisons"][0]["verdict"] == "not judged"
    assert found["unused"][0]["why"] == "its values were wrong"


def test_errors_are_told(tmp_path: Path, run: Run) -> None:
    empty = tmp_path / "empty.log"
    empty.write_text("nothing here\n    cycles=none observed\n")
    assert "no reading" in run("import-arena", str(empty), code=2)[1]
    assert "cannot be read" in run("import-arena", str(tmp_path / "gone.log"), code=2)[1]
    good = tmp_path / "good.log"
    good.write_text(job(6, 4, A=1000, B=1000))
    assert "the same log" in run("import-arena", str(good), str(good), code=2)[1]
    assert "no log holds the arm 'C'" in run("import-arena", str(good), "--baseline", "C", code=2)[1]
    assert "expected ARM=FILE" in run("import-arena", str(good), "--source", "A", code=2)[1]


arms = st.lists(st.sampled_from("ABC"), min_size=1, max_size=3, unique=True)


@given(st.lists(st.tuples(arms, st.integers(1, 10**6)), max_size=8))
def test_every_reading_counts_once(rounds: list[tuple[list[str], int]]) -> None:
    lines, read = [], []
    for number, (members, cycles) in enumerate(rounds):
        for arm in members:
            lines += [f"@@AB_BEGIN {number} {arm}@@", "[k run0] max|d|=0 -> PASS", f"    cycles={cycles}"]
            lines += [f"@@AB_END {number} {arm} rc=0@@"]
            read.append(arm)
    found = collect([LogFile("a.log", "\n".join(lines))])
    assert [reading.arm for reading in found.readings] == read
    assert len(found.pairs) == sum(len(members) * (len(members) - 1) // 2 for members, _ in rounds)
    for arm in "ABC":
        assert len([pair for pair in found.same if pair.best == arm]) == read.count(arm) // 2
    for pair in found.pairs:
        first, second = (pair.best, pair.candidate) if pair.order == "BC" else (pair.candidate, pair.best)
        members = next(m for m, _ in rounds if first in m and second in m and m.index(first) < m.index(second))
        assert members
