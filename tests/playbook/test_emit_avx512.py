"""The AVX-512 dialect: it compiles for a machine that has it, and is right lane by lane on one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.agents.playbook import space
from kernelwright.agents.playbook.emit import emit
from support.written_c import AVX512, HERE, NEEDS_AVX2, SAPPHIRE_RAPIDS, SPECS, name, right, wholes

FIRST = [(kernel, whole) for kernel, whole in wholes(AVX512) if whole.title.startswith("decode")]


@pytest.mark.parametrize(("kernel", "whole"), FIRST, ids=name)
@NEEDS_AVX2
def test_decodes_are_right_in_emulation(kernel: str, whole: space.Whole, tmp_path: Path) -> None:
    emulation = Path(__file__).with_name("avx512_emulation.h")
    right(HERE, kernel, emit(kernel, AVX512, whole.design), tmp_path, include=emulation)


@pytest.mark.parametrize(("kernel", "whole"), FIRST, ids=name)
def test_decodes_compile(kernel: str, whole: space.Whole, tmp_path: Path) -> None:
    missing = SAPPHIRE_RAPIDS.missing()
    if missing is not None:
        pytest.skip(missing)
    SAPPHIRE_RAPIDS.compile(SPECS[kernel], emit(kernel, AVX512, whole.design), tmp_path, program=False)
