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
from .disassembly import Instruction, disassemble
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


@dataclass(frozen=True)
class Loop:
    """One loop to time: a unit, and in how many chains side by side (1 for its latency)."""

    unit: Unit
    chains: int

    @property
    def kind(self) -> str:
        """``throughput`` or ``latency``."""
        return "latency" if self.chains == 1 else "throughput"


def loops_of(macros: Mapping[str, str]) -> list[Loop]:
    """The loops to time where the compiler has these ``macros``."""
    return [Loop(unit, chains) for unit in available(macros) for chains in (CHAINS, 1)]


def loop_source(loop: Loop, name: str) -> str:
    """A C function that advances the chains of a loop ROUNDS times and gives something of each."""
    unit = loop.unit
    names = [f"v{index}" for index in range(loop.chains)]
    declared = "\n".join(f"  {unit.vector} {each} = {unit.start};" for each in names)
    steps = "\n".join(
        f'    {each} = {unit.step.format(v=each)};\n    __asm__ volatile("" : "+{unit.constraint}"({each}));'
        for each in names
    )
    out = "\n".join(f"  __builtin_memcpy(&word, &{each}, 4); all ^= word;" for each in names)
    return f"""static __attribute__((noinline)) int32_t {name}(void) {{
  int32_t all = 0, word;
  const {unit.vector} one = {unit.start};
  (void)one;
{declared}
  for (int round = 0; round < {ROUNDS}; round++) {{
{steps}
  }}
{out}
  return all;
}}
"""


def units_source(loops: Sequence[Loop], signature: str) -> str:
    """One kernel with every loop: a reading (one call untimed, one timed) runs one loop, the next reading the next."""
    header = "arm_neon.h" if any(loop.unit.constraint == "w" for loop in loops) else "immintrin.h"
    functions = "\n".join(loop_source(loop, f"loop{index}") for index, loop in enumerate(loops))
    cases = "\n".join(f"    case {index}: all = loop{index}(); break;" for index in range(len(loops)))
    return f"""#include "kernel.h"
#include <{header}>
static const int table[8] __attribute__((unused));
{functions}
{signature} {{
  static unsigned calls;
  int32_t all = 0;
  switch (calls++ / 2 % {len(loops)}) {{
{cases}
  }}
  out[0] = out[1] = all;
}}
"""


def unit_probes(stand: Stand) -> list[Probe]:
    """Throughput and latency of every unit. Raises TargetError when they cannot be run."""
    loops = loops_of(stand.target.compiler.macros)
    if not loops:
        return []
    design = stand.compile(units_source(loops, prototype(stand.spec)))
    code = disassemble(design)
    seconds, _ = stand.seconds(design, readings=READINGS * len(loops))
    found: list[Probe] = []
    for index, loop in enumerate(loops):
        own, unit = seconds[index :: len(loops)], loop.unit
        steps = ROUNDS * loop.chains
        conditions = {
            "threads": "1",
            "chains": str(loop.chains),
            "work_shown": shown_in(code, unit),
            "rests_on": "chip",
        }
        if loop.kind == "throughput":
            values, measure = [steps / s / 1e9 for s in own], "1e9/s"
            question = f"How many {unit.mnemonic} does a core do in a second?"
            conditions["ceiling"] = f"{CEILING_GIGA:g}"
        else:
            values, measure = [s / steps * 1e9 for s in own], "ns"
            question = f"How long is it from one {unit.mnemonic} to the next that needs its result?"
        found.append(_probe(f"{loop.kind}.{unit.name}", question, values, measure, conditions))
    return found


def shown_in(code: Sequence[Instruction], unit: Unit) -> str:
    """Whether both loops of a unit hold its instruction: ``yes``, ``no``, ``unknown`` without a disassembler."""
    if not code:
        return "unknown"
    count = sum(instruction.mnemonic.startswith(unit.mnemonic) for instruction in code)
    return "yes" if count >= CHAINS + 1 else "no"


def prefetch_probe(stand: Stand, threads: int, span: int) -> Probe:
    """How much faster memory is read with software prefetch than without, one beside the other. May raise TargetError."""
    with_prefetch, _ = stand.seconds(stream_source(stand.spec, threads, span, 1, 4, 1024))
    without, _ = stand.seconds(stream_source(stand.spec, threads, span, 1, 4, 0))
    ratios = [plain / fetched for plain, fetched in zip(without, with_prefetch, strict=True)]
    conditions = {"threads": str(threads), "bytes": str(span * threads), "prefetch_bytes": "1024", "rests_on": "chip"}
    question = "How many times faster is memory read with software prefetch than without?"
    return _probe("prefetch.benefit", question, ratios, "x", conditions)


def _probe(name: str, question: str, values: Sequence[float], unit: str, conditions: dict[str, str]) -> Probe:
    value = float(np.median(values))
    return Probe(name, question, value, unit, quartile_spread(list(values)), READINGS, conditions)
