"""The AVX-512 dialect is right, lane by lane, also on a machine that does not have it."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.agents.playbook.cpu.emit import emit
from kernelwright.agents.playbook.space import Whole
from support.written_c import AVX512, HERE, NEEDS_AVX2, decodes, name, right


@pytest.mark.parametrize(("kernel", "whole"), decodes(AVX512), ids=name)
@NEEDS_AVX2
def test_decodes_are_right_in_emulation(kernel: str, whole: Whole, tmp_path: Path) -> None:
    emulation = Path(__file__).with_name("avx512_emulation.h")
    right(HERE, kernel, emit(kernel, AVX512, whole.design), tmp_path, include=emulation)
