"""The levers of C on a CPU: what can be varied in a design, and which bottleneck each one addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..space import Lever, Value
from .isa import Isa
from .outlook import NOTHING_MEASURED, Outlook

KERNELS = ("sliding_project_qkv", "sliding_attention_output", "decoder_feedforward")
"""Kernels that the playbook writes C for."""

_DECODES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("f8", "avx512"): ("bits16", "half", "table"),
    ("f8", "avx2"): ("bits16", "bits32", "half", "table"),
    ("f8", "neon"): ("bits32", "half"),
    ("f8", "portable"): ("bits32", "table"),
    ("fp4", "avx512"): ("vbmi", "vnni", "bf16", "planes"),
    ("fp4", "avx2"): ("planes", "int16", "half", "table"),
    ("fp4", "neon"): ("dot", "int16"),
    ("fp4", "portable"): ("bits32", "table"),
}

_NEEDS: Mapping[str, frozenset[str]] = {
    "vbmi": frozenset({"vbmi", "vnni"}),
    "vnni": frozenset({"vnni"}),
    "bf16": frozenset({"bf16"}),
    "dot": frozenset({"dotprod"}),
}
"""Features without which a decode does not compile."""

DECODE_SAYS: Mapping[tuple[str, str], str] = {
    ("f8", "bits16"): "f8e4m3 bytes are shifted as 16-bit lanes into the upper halves of f32, then split",
    ("f8", "bits32"): "f8e4m3 bytes are shifted into f32 lanes, the exponent bias goes into x and the row sum",
    ("f8", "half"): "f8e4m3 bytes are shifted into fp16 lanes and widened by the hardware's conversion",
    ("f8", "table"): "f8e4m3 bytes index a table of 256 floats",
    ("fp4", "planes"): "NVFP4 codes become unsigned bytes by a shuffle and meet x as two planes of bytes",
    ("fp4", "int16"): "NVFP4 codes become integers by a table lookup and meet an int16 x, exact in each block's scale",
    ("fp4", "half"): "NVFP4 codes become upper bytes of fp16 by a shuffle and are widened by the hardware's conversion",
    ("fp4", "vbmi"): "NVFP4 codes become unsigned bytes by vpermb and meet x as two planes of bytes in vpdpbusd",
    ("fp4", "vnni"): "NVFP4 codes become unsigned bytes by a shuffle and meet x as two planes of bytes in vpdpbusd",
    ("fp4", "bf16"): "NVFP4 codes become bf16 by vpermw and meet a bf16 x in vdpbf16ps",
    ("fp4", "dot"): "NVFP4 codes become bytes by a table lookup and meet x as two planes of bytes in sdot",
    ("fp4", "bits32"): "NVFP4 codes are shifted into f32 lanes, the exponent bias goes into x and the row sum",
    ("fp4", "table"): "bytes of two NVFP4 codes index a table of pairs of floats",
}


def weight_format(kernel: str) -> str:
    """``f8`` or ``fp4``: what the kernel's matrices hold."""
    return "fp4" if kernel == "decoder_feedforward" else "f8"


def _decode(kernel: str, isa: Isa, outlook: Outlook) -> Lever:
    known = _DECODES[weight_format(kernel), isa.dialect]
    able = [decode for decode in known if _NEEDS.get(decode, frozenset()) <= isa.features]
    return Lever(
        "decode",
        outlook.decodes(weight_format(kernel), isa.dialect, able),
        "decode",
        "how weight codes become numbers to multiply with",
        structural=True,
    )


_ROWS = Lever(
    "rows", (4, 2, 8, 1), "memory", "rows in flight together: they share loads of x and open that many streams"
)
_ACCUMULATORS = Lever(
    "accumulators", (2, 1, 4), "latency", "independent sums for each row, which break the chain of FMAs"
)
_UNROLL = Lever("unroll", (1, 2), "latency", "steps of the column loop written out by the compiler")
_PREFETCH = Lever(
    "prefetch",
    (1024, 2048, 512, "next", 4096, "off"),
    "memory",
    "how far ahead of the load a line is asked for, in bytes; next means the same place in the next rows",
)
_HINT = Lever("hint", ("l2", "l1", "once"), "memory", "which cache a prefetched line goes to")
_ORDER = Lever(
    "order",
    ("spread", "adjacent"),
    "memory",
    "rows in flight come from streams that are each contiguous, or are neighbours in memory",
)
_SCHEDULE = Lever(
    "schedule", ("static", "dynamic", "cyclic", "guided"), "overhead", "how blocks of rows are dealt out to the threads"
)
_STAGING = Lever(
    "staging",
    ("split", "single", "private"),
    "overhead",
    "x is put in decoding order by all threads together, by one of them, or by each for itself",
)
_GRAIN = Lever("grain", (128, 64, 32, 16, 256, 512), "overhead", "rows in a block of work")
_EPILOGUE = Lever(
    "epilogue",
    ("after", "head"),
    "overhead",
    "norm and rotation by the thread that has just finished the head, or behind a barrier",
)
_FEEDFORWARD = (
    Lever("pairing", ("fused", "separate"), "memory", "gate and up rows in one loop over x, or one after the other"),
    Lever("scale_prefetch", ("off", "on"), "memory", "block scales of the next rows asked for while these are read"),
    Lever("down_rows", (2, 4, 8, 1), "memory", "rows of down in flight together"),
    Lever("down_grain", (64, 32, 16, 128, 256), "overhead", "rows of down in a block of work"),
    Lever("gelu", ("polynomial", "libm"), "overhead", "tanh by a vectorized exponential or by the math library"),
)


def _led_by(lever: Lever, first: Value) -> Lever:
    """The same lever with ``first`` as the value to start from."""
    return replace(lever, values=(first, *(value for value in lever.values if value != first)))


def levers(kernel: str, isa: Isa, outlook: Outlook = NOTHING_MEASURED) -> tuple[Lever, ...]:
    """The levers of ``kernel`` on ``isa``. Raises KeyError when the playbook has no emitter for the pair.

    The order of values is a prior: what was measured fastest on one chip, and what the probes of this one say.
    NVFP4 takes more operations for each byte, so that fewer rows fill the time that a line takes to come.
    """
    rows, sums, prefetch = _ROWS, _ACCUMULATORS, _PREFETCH
    if weight_format(kernel) == "fp4":
        rows, sums, prefetch = _led_by(_ROWS, 2), _led_by(_ACCUMULATORS, 1), _led_by(_PREFETCH, 2048)
    prefetch = replace(prefetch, values=outlook.prefetches(prefetch.values))
    staging = replace(_STAGING, values=outlook.stagings(_STAGING.values))
    decode = _decode(kernel, isa, outlook)
    common = (decode, rows, sums, _UNROLL, _ORDER, prefetch, _HINT, _SCHEDULE, staging, _GRAIN)
    if kernel == "sliding_attention_output":
        return common
    if kernel == "sliding_project_qkv":
        return (*common, _EPILOGUE)
    if kernel == "decoder_feedforward":
        return (*common, *_FEEDFORWARD)
    raise KeyError(kernel)
