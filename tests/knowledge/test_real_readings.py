"""Lessons and closed families from real readings on this CPU, and where a person finds them.

Run with ``-m campaign``, on a machine with little else to do: comparisons are of what the device really says, and one whose
cores are taken away for longer than a reading may say otherwise.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from kernelwright.acceptance.calibration import Calibration, SameReadings
from kernelwright.acceptance.policy import Policy
from kernelwright.agents.port import NothingLeft, Proposal, ProposeTask
from kernelwright.cli.knowledge_view import print_knowledge
from kernelwright.events.log import EventLog
from kernelwright.events.views.knowledge import load_knowledge
from kernelwright.graph.runner import Plan, drive, start_run, workbench
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.bench import BenchSettings
from kernelwright.hardware.target import TargetError
from kernelwright.knowledge.lessons import closed_moves
from kernelwright.knowledge.report import knowledge_data
from rich.console import Console
from support.compilers import c_spec

WAITING = """#include "kernel.h"
#include <stddef.h>

void twice(const float *restrict x, float *restrict y)
{{
    for (volatile int turn = 0; turn < {turns}; turn++)
        ;
    for (size_t i = 0; i < N; i++)
        y[i] = x[i] + x[i];
}}
"""
"""Its time is that of so many turns of an empty loop."""
DESIGNS = (
    (120_000, {"wait": "long", "way": "a"}),
    (40_000, {"wait": "short", "way": "a"}),
    (90_000, {"wait": "short", "way": "b"}),
    (95_000, {"wait": "short", "way": "b"}),
)
"""Factors of two and more, which no machine is too busy to tell."""
QUICK = BenchSettings(max_copies=3)
POLICY = {
    "probe_slower": 1e6,
    "max_detectable_gain": 100.0,
    "calibration_e": 1e9,
    "suspect_jump": 1e6,
    "suspect_floor_margin": 0.99,
    "family_losses": 2,
    "pair_cap": 96,
    "confirm_pairs": 8,
    "anchor_pairs": 8,
}


@dataclass
class Written:
    """Proposes the designs of a list."""

    designs: Sequence[tuple[int, dict[str, str]]]
    name: str = "script"

    def propose(self, task: ProposeTask) -> Proposal | NothingLeft:
        index = len(task.tried) - 1
        if index >= len(self.designs):
            return NothingLeft(reason="the script has ended")
        turns, levers = self.designs[index]
        title = ", ".join(f"{name} {value}" for name, value in levers.items())
        kind = "whole" if index == 0 else "small"
        return Proposal(
            kind=kind,  # type: ignore[arg-type]  # one of the two
            parent=task.best,
            role="engineer",
            title=title,
            rationale="to see",
            levers=dict(levers),
            source=WAITING.format(turns=turns),
        )


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def coarse(_policy: Policy, readings: list[SameReadings], _rng: np.random.Generator) -> Calibration:
    """A scale for factors of two: what the machine's noise is just now must not decide what this module is about."""
    first = readings[0]
    return Calibration(0.1, 0.1, False, "coarse", first.calls, "coarse", first.device_seconds, 1.0, ())


@pytest.mark.campaign
def test_a_run_on_this_cpu_learns_both_signs_and_closes_what_only_lost(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.graph.steps.calibrate.calibrate", coarse)
    target = CpuTarget(cache=tmp_path / "cache", sandbox="reduced", settings=QUICK)
    try:
        target.toolchain()
    except TargetError as error:
        pytest.skip(str(error))
    spec = dataclasses.replace(c_spec(), baselines={"cpu": WAITING.format(turns=250_000)})
    start_run(log, Plan("r", "cpu", ("twice",), Policy.from_mapping(POLICY), 0, 60.0, {}, "test"))
    with workbench(log, "r", target, {"twice": spec}, Written(DESIGNS)) as wb:
        drive(wb, lambda *_: None)
        tree, toolchain = wb.view.trees["twice"], wb.view.toolchain
    assert toolchain is not None
    assert [accepted.design for accepted in tree.lineage] == ["d0001", "d0002"]
    known = load_knowledge(log, "cpu")
    lessons = {item.drawn.design: item.drawn for item in known.lessons.values()}
    effects = {name: (lesson.before, lesson.after, lesson.effect) for name, lesson in lessons.items()}
    assert effects["d0002"] == ({"wait": "long"}, {"wait": "short"}, "helped")
    assert effects["d0003"] == ({"way": "a"}, {"way": "b"}, "hurt")
    assert effects["d0004"] == ({"way": "a"}, {"way": "b"}, "hurt")
    for name, lesson in lessons.items():
        assert set(lesson.evidence) <= {reading.ref for reading in tree.designs[name].readings}
        assert (lesson.ratio > 1) == (lesson.effect == "helped")
    (family,) = known.families.values()
    closed = family.closed
    assert (closed.lever, closed.value, closed.whole) == ("way", "b", "d0001")
    assert closed.lessons == tuple(sorted(lessons[name].lesson for name in ("d0003", "d0004")))
    assert closed_moves(known, toolchain.fingerprint, "twice", closed.whole, closed.bottleneck) == {("way", "b")}

    # A person finds each with its comparison, its interval, and what the closing assumes.
    shown = io.StringIO()
    print_knowledge(Console(file=shown, width=220), knowledge_data(known, toolchain.fingerprint))
    text = shown.getvalue()
    assert "way a -> b" in text
    assert "r d0003 against d0002" in text
    assert f"in d0001, limited by {closed.bottleneck}, {toolchain.fingerprint}" in text
    assert "way = b did not help in 2 decided comparisons, and never did" in text
    assert "throughput.fma" in text or "bandwidth.memory" in text
