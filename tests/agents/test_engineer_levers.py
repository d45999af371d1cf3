"""The levers of the benchmark's scripted engineer do what they say, and their C is right."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from kernelwright.agents.playbook.cpu.isa import Isa, from_macros
from kernelwright.agents.playbook.cpu.space import CpuSpace
from kernelwright.agents.playbook.space import start
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.kernels.sliding_attention_output import make

NAME = "sliding_attention_output"


@pytest.fixture(scope="module")
def levers() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "specialists" / "engineer_levers.py"
    spec = importlib.util.spec_from_file_location("engineer_levers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_threads_that_staged_a_part_each_go_on_doing_so(levers: ModuleType) -> None:
    space = CpuSpace(NAME, Isa("avx2"))
    for staging, shared in (("split", 1), ("private", 0), ("single", 0)):
        source = levers.staged_by_shuffles(space.emit({**start(space), "staging": staging}))
        assert "__m256 top" in source
        assert source.split("static void stage_input")[1].split("\n}\n")[0].count("#pragma omp for") == shared


def test_both_levers_change_the_source_once_and_give_right_values(levers: ModuleType, tmp_path: Path) -> None:
    target = CpuTarget(cache=tmp_path, sandbox="reduced")
    isa = from_macros(dict(target.macros()))
    if isa.dialect != "avx2":
        pytest.skip(f"the second lever is for the AVX2 decode by 16-bit lanes, and this machine has {isa.dialect}")
    spec = make(hidden=32, heads=4, head_dim=32)
    space = CpuSpace(NAME, isa)
    source = space.emit(start(space), "The start.")
    for _, change in levers.LEVERS:
        changed = change(source)
        assert changed != source
        assert change(changed) == changed, "there is nothing more to change"
        source = changed
    assert "#pragma omp" not in source
    assert "stage(" not in source
    built = target.build(spec, source)
    assert built.ok, built.diagnostics
    with target.open(spec, 1) as bench:
        report = bench.verify(built, 2)
    assert report.ok, report.reason


def test_a_source_of_another_order_is_left_alone(levers: ModuleType) -> None:
    other = "static int staged_from(int i) { return i; }\nstatic void stage(void)\n{\n}\n"
    assert levers.staged_by_shuffles(other) == other
