"""The AVX-512 dialect compiles without a warning for a machine that has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.agents.playbook.cpu.emit import emit
from kernelwright.agents.playbook.space import Whole
from support.written_c import AVX512, SAPPHIRE_RAPIDS, SPECS, decodes, name


@pytest.mark.parametrize(("kernel", "whole"), decodes(AVX512), ids=name)
def test_decodes_compile(kernel: str, whole: Whole, tmp_path: Path) -> None:
    missing = SAPPHIRE_RAPIDS.missing()
    if missing is not None:
        pytest.skip(missing)
    SAPPHIRE_RAPIDS.compile(SPECS[kernel], emit(kernel, AVX512, whole.design), tmp_path, program=False)
