"""The contract of a C design, generated from the kernel's spec: the header, and the text for people and models."""

from __future__ import annotations

import re

from ...kernels.spec import Argument, KernelSpec
from ..target import TargetError

C_TYPES = {"bf16": "uint16_t", "f8e4m3": "uint8_t", "f4e2m1x2": "uint8_t", "f32": "float", "i32": "int32_t"}
"""C element type by the spec's element type; formats that C lacks travel as their bits."""
ALLOWED_HEADERS = (
    "kernel.h",
    "stdint.h",
    "string.h",
    "math.h",
    "stddef.h",
    "stdbool.h",
    "immintrin.h",
    "arm_neon.h",
    "omp.h",
)
"""What a source may include."""
STATIC_LIMIT_BYTES = 1 << 20
"""Writable static memory that a design may have: scratch, but no room for another form of the weights."""
SOURCE_LIMIT_BYTES = 256 << 10
"""The largest source that is looked at."""
MAX_ARGUMENTS = 24
"""The largest number of arguments that the worker can pass."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_MEANINGS = {
    "bf16": "bfloat16, its 16 bits",
    "f8e4m3": "float8 e4m3 (finite: no infinities; 0x7f and 0xff are NaN), its 8 bits",
    "f4e2m1x2": "two float4 e2m1 values in a byte, the low nibble first",
    "f32": "float",
    "i32": "int32",
}


def macro(dimension: str) -> str:
    """The macro that a dimension is called by in C: upper case."""
    return dimension.upper()


def prototype(spec: KernelSpec) -> str:
    """The C prototype: every argument is a pointer, in the order of the spec; a scalar points to its one element."""
    parts = [
        f"{'const ' if argument.direction == 'in' else ''}{C_TYPES[argument.dtype]} *restrict {argument.name}"
        for argument in spec.arguments
    ]
    return f"void {spec.name}(\n    " + ",\n    ".join(parts) + ")"


def check(spec: KernelSpec) -> None:
    """Refuse a spec that C cannot express. Raises TargetError."""
    names = [spec.name, *(a.name for a in spec.arguments), *map(macro, spec.dimensions)]
    for name in names:
        if not _NAME.match(name):
            raise TargetError(f"kernel {spec.name}: {name!r} is not a name in C")
    if len(spec.arguments) > MAX_ARGUMENTS:
        raise TargetError(f"kernel {spec.name}: {len(spec.arguments)} arguments; this target passes {MAX_ARGUMENTS}")


def header(spec: KernelSpec) -> str:
    """The text of ``kernel.h``: dimensions as macros and the one exported prototype. Raises TargetError."""
    check(spec)
    lines = ["#ifndef KERNEL_H", "#define KERNEL_H", "#include <stdint.h>"]
    lines += [f"#define {macro(name)} {value}" for name, value in spec.dimensions.items()]
    lines += ['__attribute__((visibility("default")))', f"{prototype(spec)};", "#endif", ""]
    return "\n".join(lines)


def _line(argument: Argument) -> str:
    shape = "[" + ", ".join(map(str, argument.shape)) + "]" if argument.shape else "one element"
    return f"- {argument.name}: {_MEANINGS[argument.dtype]}; {shape}; {argument.role}, {argument.direction}"


def contract(spec: KernelSpec) -> str:
    """What a source must do and may do, as text for people and language models. Raises TargetError."""
    check(spec)
    dimensions = ", ".join(f"{macro(name)} = {value}" for name, value in spec.dimensions.items())
    headers = ", ".join(ALLOWED_HEADERS)
    bound = spec.tolerance
    return "\n".join(
        [
            f"Kernel {spec.name}: {spec.summary}",
            "",
            "One C file (GNU C11) that defines",
            "",
            f"{prototype(spec)};",
            "",
            "and includes kernel.h, which declares it and defines these sizes as macros:",
            f"{dimensions}.",
            "",
            "Arguments, arrays in row-major order:",
            *[_line(argument) for argument in spec.arguments],
            "",
            "Promises to the source:",
            "- weights and tables start at a multiple of 64 bytes; any other argument only at a multiple of its element;",
            "- arguments do not overlap; nothing outside them may be read or written;",
            "- an output holds garbage on entry; an inout argument holds its old value;",
            "- OpenMP has as many threads as OMP_NUM_THREADS says.",
            "",
            "Promises of the source:",
            f"- every output element is finite and within {bound.absolute:g} + {bound.relative:g} * |expected|, and as"
            " accurate as careful float32 accumulation;",
            "- arguments marked `in` are left as they are, and of an inout argument only what the kernel defines changes;",
            "- equal inputs give equal bits; every call computes anew, and nothing is carried from one call to the next"
            " but threads and the contents of scratch that is written before it is read;",
            "- the floating-point control state is left as it was found.",
            "",
            "Limits:",
            f"- headers: {headers};",
            "- no inline assembly, no constructors or destructors, no ifunc, no optimize attribute or pragma, no fast-math;",
            "- no allocation, no input or output, no clock, no system call, no thread but OpenMP's;",
            f"- everything but the entry is static; scratch may be too, at most {STATIC_LIMIT_BYTES >> 20} MiB in all;",
            f"- at most {SOURCE_LIMIT_BYTES >> 10} KiB of source.",
            "",
        ]
    )
