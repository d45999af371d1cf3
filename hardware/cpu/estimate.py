"""A static prediction of a design's time: what its inner loops cost for each byte that they load.

The model is plain on purpose (no ports, no dependencies, no trip counts); how far it is to be trusted is measured for
each class of change by the loop that uses it. Costs of instructions come from the probes of the chip where there are
any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...kernels.spec import KernelSpec
from ..study import Estimate
from ..target import Build
from .disassembly import Instruction, disassemble, innermost_loops

MODEL = "loop-cost/1"
SMALLEST_LOAD_BYTES = 16
"""A loop that loads less in an iteration is not one that streams weights."""
_DEFAULT_NS: Mapping[str, float] = {
    "fma": 0.17,
    "convert": 0.33,
    "permute": 0.33,
    "gather": 6.0,
    "dot": 0.25,
    "divide": 1.7,
    "other": 0.1,
}
"""Nanoseconds of throughput for an instruction of each class where the chip was not measured: a core of about 3 GHz."""
_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("gather", r"vp?gather"),
        ("divide", r"v?(?:div|sqrt|rcp14|rsqrt14)|idiv|fdiv|fsqrt"),
        ("dot", r"vpdp|vdpbf16|vpmaddubsw|vpmaddwd|[su]dot|bfdot"),
        ("fma", r"vfn?m(?:add|sub)|fml[as]|vmul[ps][sd]|vadd[ps][sd]"),
        ("convert", r"vcvt|vpmov[sz]x|[sfu]cvt|[su]xtl"),
        ("permute", r"vperm|vpshuf|vshuf|vpunpck|vinsert|vextract|vbroadcast|tbl|zip|uzp|trn"),
    )
)
_REGISTER_BYTES = (("zmm", 64), ("ymm", 32), ("xmm", 16))


def class_of(mnemonic: str) -> str:
    """The class that an instruction is counted in."""
    return next((name for name, pattern in _CLASSES if pattern.match(mnemonic)), "other")


def loaded_bytes(instruction: Instruction) -> int:
    """Bytes that a vector instruction loads from memory; 0 for one that loads none, or stores."""
    operands = instruction.operands
    if "ldr" in instruction.mnemonic or "ldp" in instruction.mnemonic or instruction.mnemonic.startswith("ld1"):
        return 16 if re.search(r"\b[qv]\d", operands) else 0
    # AT&T order: the destination is last, so that a memory operand before it is loaded.
    source, comma, destination = operands.rpartition(",")
    if not comma or "(" not in source or "(" in destination.rpartition(")")[2]:
        return 0
    if "prefetch" in instruction.mnemonic or instruction.mnemonic.startswith("lea"):
        return 0
    width = next((size for name, size in _REGISTER_BYTES if f"%{name}" in operands), 0)
    if instruction.mnemonic.startswith(("vcvtph2ps", "vpmovzxbw", "vpmovsxbw", "vpmovzxwd", "vpmovsxwd")):
        return width // 2
    if instruction.mnemonic.startswith(("vpmovzxbd", "vpmovsxbd")):
        return width // 4
    if re.match(r"vbroadcast|vpbroadcast", instruction.mnemonic):
        return 4
    return width


def costs(probes: Mapping[str, float]) -> dict[str, float]:
    """Nanoseconds of throughput by class; ``throughput.*`` probes are in 10^9 instructions a second."""
    known = {name: 1.0 / value for name in _DEFAULT_NS if (value := probes.get(f"throughput.{name}", 0.0)) > 0}
    return {**_DEFAULT_NS, **known}


def predict(
    spec: KernelSpec, code: Sequence[Instruction], probes: Mapping[str, float], threads: int
) -> Estimate | None:
    """Seconds of one call from a design's instructions; None when no loop of it streams."""
    price = costs(probes)
    nanoseconds = loaded = 0.0
    loops = 0
    for loop in innermost_loops(code):
        read = sum(map(loaded_bytes, loop))
        if read < SMALLEST_LOAD_BYTES:
            continue
        loops += 1
        loaded += read
        nanoseconds += sum(price[class_of(instruction.mnemonic)] for instruction in loop)
    if not loops or not spec.streamed_bytes:
        return None
    computing = spec.streamed_bytes * nanoseconds / loaded * 1e-9 / threads
    bandwidth = max((v for n, v in probes.items() if n.startswith("bandwidth.memory")), default=0.0)
    moving = spec.streamed_bytes / (bandwidth * 1e9) if bandwidth > 0 else 0.0
    details = {"computing_seconds": computing, "moving_seconds": moving, "loops": float(loops), "bytes": loaded}
    return Estimate(max(computing, moving), MODEL, details)


def estimate(spec: KernelSpec, build: Build, probes: Mapping[str, float], threads: int) -> Estimate | None:
    """The prediction for a build; None where there is no artifact, no disassembler or no loop that streams."""
    if build.path is None:
        return None
    try:
        artifact = build.path.read_bytes()
    except OSError:  # gone from the cache: whoever loads it next says so
        return None
    return predict(spec, disassemble(artifact), probes, threads)
