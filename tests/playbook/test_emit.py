"""The C of the design space compiles without a warning, and is right: on every dialect that this host can run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernelwright.agents.playbook import space
from kernelwright.agents.playbook.emit import emit
from kernelwright.agents.playbook.isa import Isa, from_macros
from kernelwright.agents.playbook.levers import KERNELS, levers
from kernelwright.kernels import decoder_feedforward, sliding_attention_output, sliding_project_qkv
from kernelwright.kernels.spec import KernelSpec
from support.driven import Machine

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


def host_has(*flags: str) -> bool:
    info = Path("/proc/cpuinfo")
    words = set(info.read_text().split()) if info.exists() else set()
    return words.issuperset(flags)


def wholes(isa: Isa) -> Iterator[tuple[str, space.Whole]]:
    for kernel in KERNELS:
        for whole in space.whole_designs(kernel, isa):
            yield kernel, whole


def name(value: object) -> str | None:
    return value.title.replace(" ", "-") if isinstance(value, space.Whole) else None


def right(machine: Machine, kernel: str, source: str, folder: Path, include: Path | None = None) -> None:
    missing = machine.missing()
    if missing is not None:
        pytest.skip(missing)
    spec = SPECS[kernel]
    program = machine.compile(spec, source, folder, program=True, include=include)
    for seed, family in enumerate(spec.families):
        judged = machine.judge(spec, program, seed, family, threads=1 + seed % 3)
        assert judged.ok, f"{family}: {judged.reason}"


@pytest.mark.parametrize(("kernel", "whole"), list(wholes(AVX2)), ids=name)
@pytest.mark.skipif(not host_has("avx2", "fma", "f16c"), reason="this host has no AVX2 with FMA and F16C")
def test_avx2_wholes_are_right(kernel: str, whole: space.Whole, tmp_path: Path) -> None:
    right(HERE, kernel, emit(kernel, AVX2, whole.design), tmp_path)


@pytest.mark.parametrize(("kernel", "whole"), list(wholes(PORTABLE)), ids=name)
def test_portable_wholes_are_right(kernel: str, whole: space.Whole, tmp_path: Path) -> None:
    right(PLAIN, kernel, emit(kernel, PORTABLE, whole.design), tmp_path)


@pytest.mark.parametrize(("kernel", "whole"), list(wholes(NEON)), ids=name)
def test_neon_wholes_are_right_under_an_emulator(kernel: str, whole: space.Whole, tmp_path: Path) -> None:
    right(ARM, kernel, emit(kernel, NEON, whole.design), tmp_path)


@pytest.mark.parametrize(("kernel", "whole"), list(wholes(AVX512)), ids=name)
@pytest.mark.skipif(not host_has("avx2", "fma", "f16c"), reason="this host has no AVX2 with FMA and F16C")
def test_avx512_wholes_are_right_lane_by_lane(kernel: str, whole: space.Whole, tmp_path: Path) -> None:
    emulation = Path(__file__).with_name("avx512_emulation.h")
    right(HERE, kernel, emit(kernel, AVX512, whole.design), tmp_path, include=emulation)


@pytest.mark.parametrize(("kernel", "whole"), list(wholes(AVX512)), ids=name)
def test_avx512_wholes_compile(kernel: str, whole: space.Whole, tmp_path: Path) -> None:
    missing = SAPPHIRE_RAPIDS.missing()
    if missing is not None:
        pytest.skip(missing)
    SAPPHIRE_RAPIDS.compile(SPECS[kernel], emit(kernel, AVX512, whole.design), tmp_path, program=False)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.skipif(not host_has("avx2", "fma", "f16c"), reason="this host has no AVX2 with FMA and F16C")
def test_random_points_of_the_space_are_right(kernel: str, tmp_path: Path) -> None:
    rng = random.Random(20)
    for number in range(4):
        drawn = {lever.name: rng.choice(lever.values) for lever in levers(kernel, AVX2)}
        right(HERE, kernel, emit(kernel, AVX2, space.canonical(drawn)), tmp_path / str(number))
