"""The NEON dialect is right under an emulator, where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.agents.playbook.cpu.emit import emit
from kernelwright.agents.playbook.space import Whole
from support.written_c import ARM, NEON, name, right, wholes


@pytest.mark.parametrize(("kernel", "whole"), wholes(NEON), ids=name)
def test_neon_wholes_are_right(kernel: str, whole: Whole, tmp_path: Path) -> None:
    right(ARM, kernel, emit(kernel, NEON, whole.design), tmp_path)
