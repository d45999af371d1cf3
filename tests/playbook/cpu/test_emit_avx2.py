"""The AVX2 dialect: every decode compiles without a warning and is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.agents.playbook.cpu.emit import emit
from kernelwright.agents.playbook.space import Whole
from support.written_c import AVX2, HERE, NEEDS_AVX2, decodes, name, right


@pytest.mark.parametrize(("kernel", "whole"), decodes(AVX2), ids=name)
@NEEDS_AVX2
def test_decodes_are_right(kernel: str, whole: Whole, tmp_path: Path) -> None:
    right(HERE, kernel, emit(kernel, AVX2, whole.design), tmp_path)
