"""Other structures, and points drawn from all over the AVX2 space, compile without a warning and are right."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from kernelwright.agents.playbook.cpu.emit import emit
from kernelwright.agents.playbook.cpu.levers import KERNELS
from kernelwright.agents.playbook.cpu.space import CpuSpace
from kernelwright.agents.playbook.space import Whole
from support.written_c import AVX2, HERE, NEEDS_AVX2, decodes, name, right, wholes


@pytest.mark.parametrize(("kernel", "whole"), [pair for pair in wholes(AVX2) if pair not in decodes(AVX2)], ids=name)
@NEEDS_AVX2
def test_other_structures_are_right(kernel: str, whole: Whole, tmp_path: Path) -> None:
    right(HERE, kernel, emit(kernel, AVX2, whole.design), tmp_path)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", range(2))
@NEEDS_AVX2
def test_drawn_points_are_right(kernel: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(20 + seed)
    space = CpuSpace(kernel, AVX2)
    drawn = {lever.name: rng.choice(lever.values) for lever in space.levers}
    right(HERE, kernel, space.emit(space.canonical(drawn)), tmp_path)
