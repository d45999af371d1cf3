"""The portable dialect, for a plain CPU: every whole design compiles without a warning and is right."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.agents.playbook.cpu.emit import emit
from kernelwright.agents.playbook.space import Whole
from support.written_c import PLAIN, PORTABLE, name, right, wholes


@pytest.mark.parametrize(("kernel", "whole"), wholes(PORTABLE), ids=name)
def test_portable_wholes_are_right(kernel: str, whole: Whole, tmp_path: Path) -> None:
    right(PLAIN, kernel, emit(kernel, PORTABLE, whole.design), tmp_path)
