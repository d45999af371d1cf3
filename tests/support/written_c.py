"""What the tests of the playbook's C share: sizes, dialects, machines."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.agents.playbook.cpu.isa import Isa, from_macros
from kernelwright.agents.playbook.cpu.levers import KERNELS
from kernelwright.agents.playbook.cpu.space import CpuSpace
from kernelwright.agents.playbook.space import Whole
from kernelwright.kernels import decoder_feedforward, sliding_attention_output, sliding_project_qkv
from kernelwright.kernels.spec import KernelSpec

from .driven import Machine

AVX2 = from_macros({"__AVX2__", "__FMA__", "__F16C__"})
AVX512 = Isa("avx512", frozenset({"vbmi", "vnni", "bf16", "fp16"}))
NEON = Isa("neon", frozenset({"dotprod"}))
PORTABLE = from_macros(set())

HERE = Machine("cc", ("-march=native",))
PLAIN = Machine("cc", ())
ARM = Machine("aarch64-linux-gnu-gcc", ("-static", "-march=armv8.2-a+dotprod"), ("qemu-aarch64-static",))
SAPPHIRE_RAPIDS = Machine("cc", ("-march=sapphirerapids",))

# Rows and columns that leave something over after every step and every group of rows.
SPECS: dict[str, KernelSpec] = {
    "sliding_project_qkv": sliding_project_qkv.make(
        hidden=272, heads=3, kv_heads=2, head_dim=80, window=8, positions=64
    ),
    "sliding_attention_output": sliding_attention_output.make(hidden=176, heads=3, head_dim=112),
    "decoder_feedforward": decoder_feedforward.make(hidden=272, intermediate=336),
}


def _host_has(*flags: str) -> bool:
    info = Path("/proc/cpuinfo")
    words = set(info.read_text().split()) if info.exists() else set()
    return words.issuperset(flags)


NEEDS_AVX2 = pytest.mark.skipif(not _host_has("avx2", "fma", "f16c"), reason="this host has no AVX2 with FMA and F16C")


def wholes(isa: Isa) -> list[tuple[str, Whole]]:
    """The whole designs of each kernel, one for each decode and structure."""
    return [(kernel, whole) for kernel in KERNELS for whole in CpuSpace(kernel, isa).wholes()]


def decodes(isa: Isa) -> list[tuple[str, Whole]]:
    """Those of them that differ in the decode alone."""
    return [(kernel, whole) for kernel, whole in wholes(isa) if whole.title.startswith("decode")]


def name(value: object) -> str | None:
    """The name of a parameter in a test's id."""
    return value.title.replace(" ", "-") if isinstance(value, Whole) else None


def right(machine: Machine, kernel: str, source: str, folder: Path, include: Path | None = None) -> None:
    """Compile and run on every input family; the judgement of the oracle must be that it is right."""
    missing = machine.missing()
    if missing is not None:
        pytest.skip(missing)
    spec = SPECS[kernel]
    program = machine.compile(spec, source, folder, program=True, include=include)
    for threads in (1, 3):
        for family, judged in machine.judge(spec, program, seed=threads, threads=threads).items():
            assert judged.ok, f"{family} on {threads} threads: {judged.reason}"
