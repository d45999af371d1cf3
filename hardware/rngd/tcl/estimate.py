"""The prediction for a design: the compiler's schedule, with the vector engine's work priced where the compiler does not.

``furiosa-tcc --evaluate-tcl`` prices transfers and contractions by their sizes. Passes of the vector engine it prices far
below what the engine's lanes can take: an ``EinsumByVe`` costs 257 cycles whatever it works on (with eight processing
elements; its plot shows the tensors of such a pass with made-up shapes). Left so, a search would move all its work there.
So the schedule is taken again with at least the cycles that the lanes need for the elements of the pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from ....kernels.spec import KernelSpec
from ...study import Estimate
from ...target import Build
from .build import Record, read_record
from .program import Program, ProgramError, parse
from .schedule import Instruction, busy, longest, makespan, stretched

MODEL = "furiosa-tcc+lanes/1"
CLOCK_HZ = 1.0e9
"""Cycles of the compiler's schedule in a second. Its weight transfers of 1,343 bytes a cycle are then 1.34 TB/s, just under
the 1.5 TB/s of the chip's memory; the vendor's datasheet of RNGD gives 1.0 GHz. (Profiles of launches on the chip count
another clock, of 2.0 GHz, so that cycles of the two are not comparable.)"""
SLICES_A_PE = 64
"""Slices of the tensor unit in a processing element: 512 in 8 of them (furiosa-opt's book, quick-start/kernel-design.md)."""
LANES = 4
"""Elements that the floating-point stages of a slice's vector engine take in a cycle ("Way4": furiosa-opt's book,
computing-tensors/vector-engine/intra-slice-chain.md)."""
_BY_VECTOR_ENGINE = frozenset(("EinsumByVe", "ReduceByVe", "Elementwise", "Interleaving", "TensorOperation"))
_LIMITS = {"DmaEngine": "HBM", "MainContext": "tensor unit", "SubContext": "tensor unit"}


def lane_cycles(elements: int, pes: int) -> int:
    """The fewest cycles in which the vector engines of ``pes`` processing elements take ``elements``."""
    return -(-elements // (SLICES_A_PE * LANES * pes))


def priced(record: Record) -> tuple[Instruction, ...]:
    """The schedule with passes of the vector engine at no less than their lanes need."""
    try:
        program = parse(record.source)
    except ProgramError:
        return record.schedule
    pes = int(record.npu.removeprefix("renegade-").removesuffix("pe"))
    pieces = Counter(each.of for each in record.schedule if each.kind in _BY_VECTOR_ENGINE)
    return stretched(record.schedule, [_cycles(e, program, pes, pieces[e.of]) for e in record.schedule])


def _cycles(each: Instruction, program: Program, pes: int, pieces: int) -> int:
    """``pieces`` is into how many instructions the compiler split the pass: each does its share."""
    if each.kind not in _BY_VECTOR_ENGINE:
        return each.cycles
    name = each.of.removeprefix(f"{program.name}_")
    for statement in program.statements:
        if statement.result.name == name and statement.is_tensor_operation:
            return max(each.cycles, lane_cycles(-(-program.worked_on(statement) // pieces), pes))
    return each.cycles


def limit_of(schedule: tuple[Instruction, ...]) -> str:
    """The engine that works longest, in a word: memory, contractions, or the vector engine."""
    sums: dict[str, int] = {}
    for each in schedule:
        unit = "vector engine" if each.kind in _BY_VECTOR_ENGINE else _LIMITS.get(each.engine, each.engine)
        sums[unit] = sums.get(unit, 0) + each.cycles
    return max(sums, key=lambda unit: sums[unit], default="")


def estimate(spec: KernelSpec, build: Build, probes: Mapping[str, float]) -> Estimate | None:
    """The prediction for a build; None where its toolchain gives no schedule."""
    del spec, probes
    record = _record(build.path)
    if record is None or record.cycles is None:
        return None
    schedule = priced(record)
    # Taken again, a schedule can begin things earlier than the compiler did, which may have waited for memory.
    cycles = max(makespan(schedule), record.cycles)
    details = {"cycles": float(cycles), "compiler_cycles": float(record.cycles)}
    details |= {f"busy.{engine}": round(share, 4) for engine, share in busy(schedule).items()}
    details |= {f"longest.{n}.{e.kind} {e.of}".strip(): float(e.cycles) for n, e in enumerate(longest(schedule), 1)}
    return Estimate(cycles / CLOCK_HZ, MODEL, details, limit_of(schedule))


def _record(path: Path | None) -> Record | None:
    if path is None:
        return None
    try:
        return read_record(path)
    except (OSError, ValueError):  # gone from the cache, or damaged: whoever loads it next builds it again
        return None
