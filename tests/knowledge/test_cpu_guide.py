"""The guide that ships with the CPU target says nothing that its toolchain does not do."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from kernelwright.hardware.concerns import CONCERNS, affected, depends_on
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.disassembly import Instruction, disassemble, innermost_loops
from kernelwright.hardware.cpu.estimate import class_of, loaded_bytes, predict
from kernelwright.hardware.cpu.floor import compile_trusted
from kernelwright.hardware.cpu.learning import snippet_spec
from kernelwright.hardware.cpu.probes_units import loops_of, shown_in, units_source
from kernelwright.hardware.study import Documented, Estimates, Stamped, TriesSnippets
from kernelwright.hardware.target import TargetError
from kernelwright.knowledge.checking import check_claim
from kernelwright.knowledge.claims import Claim, claims_of
from kernelwright.knowledge.documents import sections


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> CpuTarget:
    made = CpuTarget(cache=tmp_path_factory.mktemp("cache"), sandbox="reduced")
    try:
        made.toolchain()
    except TargetError as error:
        pytest.skip(str(error))
    return made


def claims(target: CpuTarget) -> list[Claim]:
    return [c for d in target.documentation() for s in sections(d) for c in claims_of(s, ("c",))]


def test_every_snippet_of_the_guide_does_what_it_says(target: CpuTarget) -> None:
    made = claims(target)
    checkable = [
        c for c in made if c.snippet is not None and c.expectation is not None and c.expectation.kind != "costs"
    ]
    assert len(checkable) >= 18
    failed = {}
    for claim in checkable:
        assert claim.snippet is not None
        assert claim.expectation is not None
        found = check_claim(target, claim.snippet, claim.expectation, {}, 7)
        if found.outcome != "held":
            failed[claim.sentence] = found.reason
    assert not failed


def test_every_block_of_code_in_the_guide_became_a_claim(target: CpuTarget) -> None:
    blocks = sum(document.text.count("\n```c") for document in target.documentation())
    assert sum(claim.snippet is not None for claim in claims(target)) == blocks


def test_the_target_offers_what_learning_asks_for(target: CpuTarget) -> None:
    for protocol in (Documented, TriesSnippets, Stamped, Estimates):
        assert isinstance(target, protocol)


def test_parts_of_the_toolchain_are_told_apart(target: CpuTarget) -> None:
    parts = target.toolchain().parts.keys()
    for concern in CONCERNS:
        assert set(depends_on(target, concern)) <= parts
    assert "chip" not in affected(target, ["compiler"])
    assert {"compile", "value", "code"} <= set(affected(target, ["compiler"]))
    assert {"chip", "code"} <= set(affected(target, ["host_kernel"]))
    assert "compile" not in affected(target, ["host_kernel"])
    assert affected(target, ["a part that nobody names"]) == CONCERNS


def test_the_stamp_changes_when_a_file_of_the_compiler_does(tmp_path: Path) -> None:
    real = shutil.which("gcc") or shutil.which("cc")
    if real is None:
        pytest.skip("no C compiler")
    program = tmp_path / "gcc-wrapped"
    program.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    program.chmod(0o755)
    target = CpuTarget(compiler=str(program), cache=tmp_path, sandbox="reduced")
    before = target.toolchain_stamp()
    assert target.toolchain_stamp() == before
    program.write_text(f'#!/bin/sh\n# replaced\nexec {real} "$@"\n')
    assert target.toolchain_stamp() != before


def test_unit_probes_hold_the_instructions_that_they_name(target: CpuTarget) -> None:
    loops = loops_of(target.macros())
    if not loops or not disassemble(_artifact(target, "y[0] = x[0];")):
        pytest.skip("no disassembler, or no unit that is known")
    signature = "void snippet(const float *restrict x, float *restrict y)"
    source = units_source(loops, signature).replace("out[0] = out[1] = all", "y[0] = (float)all; (void)x")
    code = disassemble(compile_trusted(target.compiler, snippet_spec(), source))
    assert {shown_in(code, loop.unit) for loop in loops} == {"yes"}
    # Without the barriers the compiler folds the chains, and the probe would say so.
    open_to_folding = re.sub(r"__asm__ volatile[^;]*;", "", source)
    folded = disassemble(compile_trusted(target.compiler, snippet_spec(), open_to_folding))
    assert "no" in {shown_in(folded, loop.unit) for loop in loops}


def _artifact(target: CpuTarget, body: str) -> bytes:
    built = target.build(snippet_spec(), target.complete(body)[0])
    assert built.path is not None, built.diagnostics
    return built.path.read_bytes()


def test_loops_and_loads_are_found_in_a_listing() -> None:
    code = [
        Instruction(0x10, "vxorps", "%ymm0,%ymm0,%ymm0"),
        Instruction(0x14, "vmovups", "(%rdi),%ymm1"),
        Instruction(0x18, "vfmadd231ps", "0x20(%rdi),%ymm1,%ymm0"),
        Instruction(0x1C, "vmovups", "%ymm0,(%rsi)"),
        Instruction(0x20, "jne", "14 <f+0x4>"),
        Instruction(0x24, "add", "$0x1,%rax"),
        Instruction(0x28, "jne", "10 <f>"),
    ]
    (loop,) = innermost_loops(code)
    assert [i.address for i in loop] == [0x14, 0x18, 0x1C, 0x20]
    assert [loaded_bytes(i) for i in loop] == [32, 32, 0, 0]
    assert [class_of(i.mnemonic) for i in loop] == ["other", "fma", "other", "other"]


def test_an_estimate_falls_with_fewer_instructions_for_a_byte_and_is_never_below_the_floor() -> None:
    import dataclasses

    spec = dataclasses.replace(snippet_spec(), streamed=("x",))

    def loop(extra: int) -> list[Instruction]:
        body = [Instruction(0x10 + n, "vpermd", "%ymm1,%ymm2,%ymm3") for n in range(extra)]
        return [
            Instruction(0x10, "vmovups", "(%rdi),%ymm1"),
            *[dataclasses.replace(i, address=0x14 + n) for n, i in enumerate(body)],
            Instruction(0x80, "jne", "10 <f>"),
        ]

    few, many = predict(spec, loop(1), {}, 1), predict(spec, loop(9), {}, 1)
    assert few is not None
    assert many is not None
    assert few.seconds < many.seconds
    slow = predict(spec, loop(1), {"bandwidth.memory.1": 1e-6}, 1)
    assert slow is not None
    assert slow.seconds == pytest.approx(spec.streamed_bytes / 1e3)
    measured = predict(spec, loop(9), {"throughput.permute": 100.0}, 1)
    assert measured is not None
    assert measured.seconds < many.seconds
    assert predict(spec, [], {}, 1) is None
