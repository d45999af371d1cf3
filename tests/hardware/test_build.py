"""Toolchain, contract, review and build of C designs."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.contract import header
from kernelwright.hardware.cpu.machine import this_machine
from kernelwright.hardware.cpu.review import review
from kernelwright.hardware.cpu.symbols import allowed, check_symbols
from kernelwright.hardware.cpu.toolchain import Compiler, find_compiler
from kernelwright.hardware.discovery import UnknownTargetError, find_target, target_names
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import TargetError
from kernelwright.kernels import sliding_project_qkv
from kernelwright.kernels.spec import Argument
from support.toy_kernel import RIGHT, toy


def test_the_header_states_sizes_and_the_prototype() -> None:
    text = header(toy())
    assert "#define ROWS 48" in text
    assert "const float *restrict w" in text
    assert "const int32_t *restrict at" in text, "a scalar is a pointer to its one element"
    assert "    uint16_t *restrict past" in text, "what is written is not const"
    assert 'visibility("default")' in text


def test_the_contract_names_every_argument_and_limit() -> None:
    spec = sliding_project_qkv.spec()
    text = CpuTarget().contract(spec)
    for argument in spec.arguments:
        assert f"- {argument.name}: " in text
    for word in ("64 bytes", "OMP_NUM_THREADS", "immintrin.h", "HIDDEN = 3840"):
        assert word in text


def test_a_name_that_c_cannot_spell_is_refused() -> None:
    spec = dataclasses.replace(toy(), dimensions={"bad name": 1})
    with pytest.raises(TargetError, match="is not a name in C"):
        header(spec)
    many = tuple(Argument(f"a{i}", "f32", (1,), "out") for i in range(25))
    with pytest.raises(TargetError, match="25 arguments"):
        header(dataclasses.replace(toy(), arguments=many, streamed=()))


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('#include "stdio.h"', "allowed-headers"),
        ("#include HEADER", "allowed-headers"),
        ("#  include <unistd.h>", "allowed-headers"),
        ("#include_next <math.h>", "allowed-headers"),
        ("static int a\\\nsm_free;", "no-broken-words"),
        ('static int x = __COUNTER__; __asm("nop");', "no-assembly"),
        ("%:define X", "no-trigraph-or-digraph"),
        ('# 12 "other.c"', "no-line-directive"),
        ('#pragma GCC target("avx512f")', "no-optimize-override"),
        ('_Pragma("GCC optimize(3)")', "no-optimize-override"),
        ("static void f(void) __attribute__((__constructor__));", "no-load-time-code"),
        ("static void f(void) __attribute__((weak));", "no-weak-or-alias"),
        ("static long t(void) { return __rdtsc(); }", "no-clock"),
    ],
)
def test_review_names_rule_and_line(line: str, rule: str) -> None:
    report = review(toy(), f'#include "kernel.h"\n\n{line}\n{RIGHT}')
    assert report.outcome is Outcome.VETOED
    assert report.details["rule"] == rule
    assert report.details["line"] == 3
    assert "line 3" in report.reason


@pytest.mark.parametrize(
    "line",
    [
        "// asm, constructor, #include <stdio.h>",
        "/* __asm__ volatile */",
        "#include <immintrin.h>",
        '#include "omp.h" // threads',
        "#pragma omp declare simd\nstatic float twice(float x) { return 2 * x; }",
        "#pragma GCC unroll 4",
        "static const float sections[2] = {1, 2}; static inline float cleanup_sum(float x) { return x; }",
    ],
)
def test_review_lets_honest_sources_pass(line: str) -> None:
    report = review(toy(), f'#include "kernel.h"\n{line}\n{RIGHT}')
    assert report.ok, report.reason


def test_review_limits_the_size() -> None:
    assert review(toy(), RIGHT + "/*" + "x" * (300 << 10) + "*/").details["rule"] == "source-size"


def test_same_source_same_artifact_and_the_cache_is_used(target: CpuTarget, tmp_path: Path) -> None:
    elsewhere = CpuTarget(sandbox=target.sandbox.level.value, cache=tmp_path)
    first, second = elsewhere.build(toy(), RIGHT), elsewhere.build(toy(), RIGHT)
    other = target.build(toy(), RIGHT)
    assert first.ok
    assert first.artifact == second.artifact == other.artifact
    assert first.seconds > 0
    assert second.seconds == 0
    assert first.path is not None
    assert hashlib.sha256(first.path.read_bytes()).hexdigest() == first.artifact
    first.path.write_bytes(b"damaged")
    again = elsewhere.build(toy(), RIGHT)
    assert (again.ok, again.artifact) == (True, first.artifact)
    assert again.seconds > 0


def test_diagnostics_are_kept_and_cut(target: CpuTarget) -> None:
    failed = target.build(toy(), '#include "kernel.h"\n' + "".join(f"unknown_{i} x{i};\n" for i in range(2000)))
    assert failed.outcome is Outcome.BUILD_FAILED
    assert "kernel.c:2" in failed.diagnostics
    assert "[cut at" in failed.diagnostics
    assert target.build(toy(), failed.diagnostics).outcome is Outcome.BUILD_FAILED


def test_a_cache_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(TargetError, match="KERNELWRIGHT_CACHE"):
        _ = CpuTarget(sandbox="reduced", cache=blocked).helpers


def test_symbols_refuse_what_is_no_elf() -> None:
    assert "not a readable ELF file" in check_symbols(b"MZ" + bytes(200), "toy")
    assert "not a shared object" in check_symbols(
        Path(shutil.which("sh") or "/bin/sh").read_bytes()[:0] + _object(), "toy"
    )


def _object() -> bytes:
    """An ELF header of a relocatable file."""
    head = bytearray(64)
    head[:7] = b"\x7fELF\x02\x01\x01"
    head[16:20] = b"\x01\x00\x3e\x00"
    head[52:54] = (64).to_bytes(2, "little")
    return bytes(head)


@pytest.mark.parametrize("symbol", ["memcpy", "expf", "GOMP_parallel", "omp_get_thread_num", "__truncsfbf2"])
def test_symbols_that_are_allowed(symbol: str) -> None:
    assert allowed(symbol)


@pytest.mark.parametrize(
    "symbol", ["malloc", "system", "GOMP_target_ext", "dlsym", "syscall", "memcpyx", "clock_gettime"]
)
def test_symbols_that_are_not(symbol: str) -> None:
    assert not allowed(symbol)


def test_the_toolchain_is_named_without_paths(target: CpuTarget) -> None:
    found = target.toolchain()
    assert {"compiler", "flags", "libc", "cpu", "isa", "cores", "host_kernel", "last_level_cache_bytes"} <= set(
        found.parts
    )
    assert not any("/usr" in value or "/bin" in value for value in found.parts.values())
    assert found.fingerprint == target.toolchain().fingerprint
    for concern in ("compile", "value", "chip", "runtime", "code"):
        assert set(target.parts_of(concern)) <= set(found.parts)
    assert target.macros()["__STDC__"] == "1"


def test_no_compiler_is_an_error_that_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.hardware.cpu.toolchain.candidates", lambda configured: iter(()))
    find_compiler.cache_clear()
    with pytest.raises(TargetError, match=r"apt-get install gcc.*pip install ziglang"):
        find_compiler(None)
    find_compiler.cache_clear()


def test_a_configured_compiler_that_does_not_work_is_named() -> None:
    with pytest.raises(TargetError, match="no-such-compiler"):
        find_compiler("no-such-compiler --flag")


def test_a_compiler_without_openmp_is_passed_over_with_a_note(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As clang without its OpenMP library."""
    real = find_compiler(None)
    if not real.openmp:
        pytest.skip("needs a compiler with OpenMP")
    script = tmp_path / "poor-cc"
    script.write_text(
        '#!/bin/sh\nfor a in "$@"; do [ "$a" = -fopenmp ] && { echo "error: no omp.h" >&2; exit 1; }; done\n'
        f'exec {real.command[0]} "$@"\n'
    )
    script.chmod(0o755)
    commands = [(str(script),), real.command]
    monkeypatch.setattr("kernelwright.hardware.cpu.toolchain.candidates", lambda configured: iter(commands))
    find_compiler.cache_clear()
    chosen: Compiler = find_compiler(None)
    assert chosen.command == real.command
    assert "no OpenMP (error: no omp.h)" in chosen.notes[0]
    commands.pop()
    find_compiler.cache_clear()
    alone = find_compiler(None)
    assert not alone.openmp
    assert "-fopenmp" not in alone.flags
    find_compiler.cache_clear()


def test_targets_are_found_by_name() -> None:
    assert "cpu" in target_names()
    assert find_target("cpu", {"sandbox": "reduced", "compiler": None}).name == "cpu"
    with pytest.raises(UnknownTargetError, match=r"did you mean cpu"):
        find_target("cpus")
    with pytest.raises(TargetError, match="does not take these options"):
        find_target("cpu", {"voltage": 3})
    with pytest.raises(TargetError, match="threads = 100000"):
        find_target("cpu", {"threads": 100000})


def test_the_machine_is_described() -> None:
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.llc_bytes >= machine.l2_bytes >= machine.l1_bytes > 0
    assert machine.memory_bytes > machine.llc_bytes


def test_a_hung_build_is_not_remembered(tmp_path: Path, target: CpuTarget) -> None:
    impatient = CpuTarget(sandbox=target.sandbox.level.value, cache=tmp_path, build_seconds=1e-4)
    _ = impatient.jail
    start = time.monotonic()
    assert impatient.build(toy(), RIGHT).outcome is Outcome.BUILD_HUNG
    assert time.monotonic() - start < 60
    patient = CpuTarget(sandbox=target.sandbox.level.value, cache=tmp_path)
    assert patient.build(toy(), RIGHT).ok


def test_numpy_holds_what_the_header_promises() -> None:
    """The C types are as wide as the arrays' elements."""
    widths = {"uint16_t": 2, "uint8_t": 1, "float": 4, "int32_t": 4}
    for argument in sliding_project_qkv.spec().arguments:
        declared = next(line for line in header(sliding_project_qkv.spec()).splitlines() if f" {argument.name}" in line)
        name = declared.replace("const ", "").split()[0]
        assert widths[name] == np.dtype(argument.storage).itemsize
