"""The levers of Pallas on a TPU: what can be varied in a design, and which bottleneck each one addresses.

Values are not screened for what compiles: what a block may look like, what fits on the chip and which types its units take
is the compiler's to say, and differs between chips and versions.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..space import Lever, Value

F8_DECODES: Mapping[str, str] = {
    "direct": "f8 goes into the matrix unit as it is, which widens it on its way in",
    "convert": "f8 is converted to bfloat16 by the vector unit, then multiplied in the matrix unit",
    "bits16": "the bits of f8 are shifted into those of bfloat16 in lanes of 16 bits",
    "widen": "f8 is widened to float32, which the matrix unit multiplies",
    "vector": "f8 is widened to float32, multiplied and summed in the vector unit",
    "bits32": "the bits of f8 are shifted into those of float32 in lanes of 32 bits",
    "table": "sizes of f8 numbers are looked up along the lanes",
}
"""Ways of an f8 matrix to a product, in order of promise."""

FP4_DECODES: Mapping[str, str] = {
    "e5m2": "four bytes at a time become f8e5m2 numbers by shifts and masks, which the matrix unit widens",
    "e4m3": "four bytes at a time become f8e4m3 numbers by shifts and masks, which the matrix unit widens",
    "native": "packed bytes are taken as float4, as the type that they are",
    "float4": "the registers of packed bytes are taken as registers of float4",
    "bits16": "codes are shifted into the bits of bfloat16 in lanes of 16 bits",
    "bits32": "codes are shifted into the bits of float32 in lanes of 32 bits",
    "arithmetic": "codes become numbers by the definition of the format, in float32",
    "table": "codes are looked up in a table of 16 along the lanes",
}
"""Ways of NVFP4 codes to numbers, in order of promise."""

_NOT_FIRST = frozenset({"bits32", "table", "arithmetic"})
"""Decodes for which a lane of 32 bits holds one number: tried when nothing better is left."""


def promising(decode: str) -> bool:
    """Whether a decode is worth a trial before any small change."""
    return decode not in _NOT_FIRST


def _dividing(values: tuple[int, ...], *wholes: int) -> tuple[Value, ...]:
    """Those of ``values`` that divide all of ``wholes``."""
    return tuple(value for value in values if all(whole % value == 0 for whole in wholes))


def _decode(decodes: Mapping[str, str]) -> Lever:
    says = "how weight codes become numbers to multiply with"
    return Lever("decode", tuple(decodes), "decode", says, structural=True)


def _rows(name: str, what: str, values: tuple[Value, ...]) -> Lever:
    says = f"rows of {what} in a block: large ones cost few steps, small ones a short first transfer"
    return Lever(name, values, "overhead", says, grows=True)


_BUFFERS = Lever(
    "buffers", (2, 3, 4, 1), "memory", "blocks of a matrix in fast memory, so many of them on their way", grows=True
)
_SUM = Lever("sum", ("f32", "bf16"), "latency", "the type in which the matrix unit gives its sums")
_PRECISION = Lever(
    "precision", ("default", "highest"), "latency", "operands of the matrix unit as they are, or in several passes"
)
_SEMANTICS = Lever(
    "steps",
    ("arbitrary", "core_parallel", "subcore_parallel"),
    "latency",
    "steps one after the other, or shared out among cores",
)
_VMEM = Lever("vmem_mib", (0, 32, 64, 100), "memory", "fast memory that the kernel may take, in MiB; 0 is the default")
_EPILOGUE = Lever(
    "epilogue", ("fused", "apart"), "overhead", "norms and the rest at the last step, or in a kernel of their own"
)
_ORDER = Lever(
    "order", ("rows", "columns"), "memory", "all parts of a block of rows first, or all blocks of a part of the columns"
)
_INPUT = Lever(
    "input",
    ("resident", "streamed", "scalars", "outside"),
    "memory",
    "the input vector stays in fast memory, comes with each block, lies in scalar memory, or is left outside",
)

_FEEDFORWARD = (
    Lever("chunk", (128, 384, 640, 64, 1920), "decode", "bytes of a row that are decoded together", grows=True),
    Lever("unroll", (15, 5, 3, 1), "latency", "chunks written out in a step of the loop over a row", grows=True),
    Lever("meet", ("joined", "apart"), "latency", "both nibbles in one product, or a product for each"),
    Lever(
        "scales",
        ("convert", "product", "rows"),
        "decode",
        "block scales as they lie in memory, widened by the vector unit or by the matrix unit, or turned from rows",
    ),
)

_ROWS = (256, 128, 384, 512, 640, 768, 1280, 1024, 480, 192, 64, 32)


def levers(kernel: str, dimensions: Mapping[str, int]) -> tuple[Lever, ...]:
    """The levers of ``kernel`` at these sizes. Raises KeyError when the playbook has no emitter for it."""
    if kernel == "sliding_attention_output":
        columns = dimensions["HEADS"] * dimensions["HEAD_DIM"]
        return (
            _decode(F8_DECODES),
            _rows("rows", "the matrix", _dividing(_ROWS, dimensions["HIDDEN"])),
            _split(columns),
            _ORDER,
            _INPUT,
            _BUFFERS,
            _SUM,
            _PRECISION,
            _SEMANTICS,
            _VMEM,
            _EPILOGUE,
        )
    if kernel == "sliding_project_qkv":
        keys = dimensions["KV_HEADS"] * dimensions["HEAD_DIM"]
        rows = _dividing((256, 512, 128, 1024, 2048), keys)
        return (
            _decode(F8_DECODES),
            _rows("rows", "each matrix", rows),
            _split(dimensions["HIDDEN"]),
            _ORDER,
            _BUFFERS,
            _SUM,
            _PRECISION,
            _SEMANTICS,
            _VMEM,
            _EPILOGUE,
        )
    if kernel == "decoder_feedforward":
        return (
            _decode(FP4_DECODES),
            _rows(
                "rows", "gate and up", _dividing((256, 128, 512, 384, 640, 1024, 64, 192), dimensions["INTERMEDIATE"])
            ),
            _rows("down_rows", "down", _dividing((128, 256, 384, 640, 64), dimensions["HIDDEN"])),
            *_FEEDFORWARD,
            _BUFFERS,
            _SUM,
            _PRECISION,
            _SEMANTICS,
            _VMEM,
            _EPILOGUE,
        )
    raise KeyError(kernel)


def _split(columns: int) -> Lever:
    values = _dividing((1, 2, 4, 3, 5, 8, 6, 10, 16, 64), columns)
    return Lever("split", values, "overhead", "parts that the columns are cut into, each with steps of its own")
