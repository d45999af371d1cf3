"""Probes of execution units: throughput and latency of the instructions that decoding weights is made of, and prefetch.

Each timed loop holds a known number of one instruction, kept apart by empty assembly that the compiler cannot see
through; that they are there is checked in the disassembly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..target import Probe
from .contract import prototype
from .disassembly import disassemble
from .floor import quartile_spread
from .probes import READINGS, stream_source

if TYPE_CHECKING:
    from .probes import Stand

CHAINS = 8
"""Independent chains in a loop that measures throughput: enough to hide the latency of two units."""
ROUNDS = 100_000
"""Times that each chain is advanced in a call."""
CEILING_GIGA = 24.0
"""Instructions (10^9 a second) that no core does: four each cycle at 6 GHz."""


@dataclass(frozen=True)
class Unit:
    """An instruction to measure: the type of its chain, a C expression that advances ``{v}``, what it looks like."""

    name: str
    needs: tuple[str, ...]
    vector: str
    start: str
    step: str
    constraint: str
    mnemonic: str
    instructions: int = 1
    """How many of them a step takes."""


UNITS = (
    Unit("fma", ("__FMA__",), "__m256", "_mm256_set1_ps(1.0f)", "_mm256_fmadd_ps({v}, one, one)", "x", "vfmadd"),
    Unit(
        "convert",
        ("__F16C__",),
        "__m256",
        "_mm256_set1_ps(1.0f)",
        "_mm256_cvtph_ps(_mm_castps_si128(_mm256_castps256_ps128({v})))",
        "x",
        "vcvtph2ps",
    ),
    Unit(
        "permute",
        ("__AVX2__",),
        "__m256i",
        "_mm256_set1_epi8(3)",
        "_mm256_shuffle_epi8({v}, {v})",
        "x",
        "vpshufb",
    ),
    Unit(
        "gather",
        ("__AVX2__",),
        "__m256i",
        "_mm256_setzero_si256()",
        "_mm256_i32gather_epi32(table, {v}, 4)",
        "x",
        "vpgatherdd",
    ),
    Unit("dot", ("__AVX2__",), "__m256i", "_mm256_set1_epi8(1)", "_mm256_maddubs_epi16({v}, {v})", "x", "vpmaddubsw"),
    Unit(
        "dot_bytes",
        ("__AVX512VNNI__", "__AVX512VL__"),
        "__m256i",
        "_mm256_set1_epi8(1)",
        "_mm256_dpbusd_epi32({v}, {v}, {v})",
        "x",
        "vpdpbusd",
    ),
    Unit(
        "dot_bf16",
        ("__AVX512BF16__", "__AVX512VL__"),
        "__m256",
        "_mm256_set1_ps(1.0f)",
        "_mm256_dpbf16_ps({v}, (__m256bh){v}, (__m256bh){v})",
        "x",
        "vdpbf16ps",
    ),
    Unit("fma", ("__ARM_NEON",), "float32x4_t", "vdupq_n_f32(1.0f)", "vfmaq_f32({v}, one, one)", "w", "fmla"),
    Unit("permute", ("__ARM_NEON",), "uint8x16_t", "vdupq_n_u8(3)", "vqtbl1q_u8({v}, {v})", "w", "tbl"),
    Unit(
        "dot",
        ("__ARM_FEATURE_DOTPROD",),
        "int32x4_t",
        "vdupq_n_s32(1)",
        "vdotq_s32({v}, vreinterpretq_s8_s32({v}), vreinterpretq_s8_s32({v}))",
        "w",
        "sdot",
    ),
)
"""What is measured where the instruction set has it."""


def available(macros: Mapping[str, str]) -> list[Unit]:
    """The units of the instruction set that the compiler's ``macros`` name; one for each name."""
    found: dict[str, Unit] = {}
    for unit in UNITS:
        if all(need in macros for need in unit.needs):
            found.setdefault(unit.name, unit)
    return list(found.values())


def unit_source(unit: Unit, signature: str, chains: int) -> str:
    """C that advances ``chains`` chains side by side, ROUNDS times, and leaves something of each in ``out``."""
    names = [f"v{index}" for index in range(chains)]
    declared = "\n".join(f"  {unit.vector} {name} = {unit.start};" for name in names)
    steps = "\n".join(
        f'    {name} = {unit.step.format(v=name)};\n    __asm__ volatile("" : "+{unit.constraint}"({name}));'
        for name in names
    )
    out = "\n".join(f"  __builtin_memcpy(&word, &{name}, 4); all ^= word;" for name in names)
    header = "arm_neon.h" if unit.constraint == "w" else "immintrin.h"
    return f"""#include "kernel.h"
#include <{header}>
static const int table[8];
{signature} {{
  int32_t all = 0, word;
  const {unit.vector} one = {unit.start};
  (void)one, (void)table;
{declared}
  for (int round = 0; round < {ROUNDS}; round++) {{
{steps}
  }}
{out}
  out[0] = out[1] = all;
}}
"""


def unit_probes(stand: Stand) -> list[Probe]:
    """Throughput and latency of every unit. Raises TargetError when one cannot be run."""
    found: list[Probe] = []
    signature = prototype(stand.spec)
    for unit in available(stand.target.compiler.macros):
        for kind, chains in (("throughput", CHAINS), ("latency", 1)):
            design = stand.compile(unit_source(unit, signature, chains))
            shown = shown_in(design, unit, chains)
            seconds, _ = stand.seconds(design)
            steps = ROUNDS * chains * unit.instructions
            if kind == "throughput":
                values, measure = [steps / s / 1e9 for s in seconds], "1e9/s"
                question = f"How many {unit.mnemonic} does a core do in a second?"
            else:
                values, measure = [s / steps * 1e9 for s in seconds], "ns"
                question = f"How long is it from one {unit.mnemonic} to the next that needs its result?"
            conditions = {"threads": "1", "chains": str(chains), "work_shown": shown, "rests_on": "chip"}
            if kind == "throughput":
                conditions["ceiling"] = f"{CEILING_GIGA:g}"
            found.append(_probe(f"{kind}.{unit.name}", question, values, measure, conditions))
    return found


def prefetch_probe(stand: Stand, threads: int, span: int) -> Probe:
    """How much faster memory is read with software prefetch than without, one beside the other. May raise TargetError."""
    with_prefetch, _ = stand.seconds(stream_source(stand.spec, threads, span, 1, 4, 1024))
    without, _ = stand.seconds(stream_source(stand.spec, threads, span, 1, 4, 0))
    ratios = [plain / fetched for plain, fetched in zip(without, with_prefetch, strict=True)]
    conditions = {"threads": str(threads), "bytes": str(span * threads), "prefetch_bytes": "1024", "rests_on": "chip"}
    question = "How many times faster is memory read with software prefetch than without?"
    return _probe("prefetch.benefit", question, ratios, "x", conditions)


def shown_in(design: bytes, unit: Unit, chains: int) -> str:
    """Whether the loop holds the instructions that it is to hold: ``yes``, ``no``, ``unknown`` without a disassembler."""
    code = disassemble(design)
    if not code:
        return "unknown"
    count = sum(instruction.mnemonic.startswith(unit.mnemonic) for instruction in code)
    return "yes" if count >= chains else "no"


def _probe(name: str, question: str, values: Sequence[float], unit: str, conditions: dict[str, str]) -> Probe:
    value = float(np.median(values))
    return Probe(name, question, value, unit, quartile_spread(list(values)), READINGS, conditions)
