"""The contract of a Pallas design, generated from the kernel's spec: the entry, what a source may use, and the text for
people and models."""

from __future__ import annotations

import keyword
from collections.abc import Mapping

from ...kernels.spec import Argument, KernelSpec
from ..target import TargetError

JAX_TYPES: Mapping[str, str] = {
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn",
    "f4e2m1x2": "uint8",
    "f32": "float32",
    "i32": "int32",
}
"""Name in ``jax.numpy`` of the array that carries each element type; packed f4 travels as its bytes."""
SOURCE_LIMIT_BYTES = 256 << 10
"""The largest source that is looked at."""
IMPORTS: Mapping[str, str] = {
    "jax": "import jax",
    "jax.numpy": "import jax.numpy as jnp",
    "jax.lax": "from jax import lax",
    "jax.experimental.pallas": "from jax.experimental import pallas as pl",
    "jax.experimental.pallas.tpu": "from jax.experimental.pallas import tpu as pltpu",
    "numpy": "import numpy as np",
    "math": "import math",
    "functools": "import functools",
    "itertools": "import itertools",
}
"""Modules that a source may import, and the usual way to."""
_MEANINGS = {
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn (no infinities; codes 0x7f and 0xff are NaN)",
    "f4e2m1x2": "uint8 that packs two float4 e2m1 values along the last axis, the even column in the low nibble",
    "f32": "float32",
    "i32": "int32",
}


def inputs(spec: KernelSpec) -> tuple[Argument, ...]:
    """The arguments that the entry takes, in order: every one that has a value before the call."""
    return tuple(argument for argument in spec.arguments if argument.direction != "out")


def check(spec: KernelSpec) -> None:
    """Refuse a spec that a Python function cannot express. Raises TargetError."""
    for name in (spec.name, *(a.name for a in spec.arguments), *spec.dimensions):
        if not name.isidentifier() or keyword.iskeyword(name):
            raise TargetError(f"kernel {spec.name}: {name!r} is not a name in Python")


def prototype(spec: KernelSpec) -> str:
    """The entry as a line of Python: what it takes and what it returns, in the order of the spec."""
    taken = ", ".join(argument.name for argument in inputs(spec))
    given = ", ".join(argument.name for argument in spec.outputs)
    return f"def {spec.name}({taken}):  # returns ({given}{',' if len(spec.outputs) == 1 else ''})"


def _line(argument: Argument) -> str:
    shape = f"[{', '.join(map(str, argument.shape))}]" if argument.shape else "a scalar, shape ()"
    return f"- {argument.name}: {_MEANINGS[argument.dtype]}; {shape}; {argument.role}, {argument.direction}"


def contract(spec: KernelSpec) -> str:
    """What a source must do and may do, as text for people and language models. Raises TargetError."""
    check(spec)
    dimensions = ", ".join(f"{name} = {value}" for name, value in spec.dimensions.items())
    bound = spec.tolerance
    return "\n".join(
        [
            f"Kernel {spec.name}: {spec.summary}",
            "",
            "One Python module that defines",
            "",
            f"    {prototype(spec)}",
            "",
            "in JAX, its work done by one or more calls of pl.pallas_call for the TPU. These sizes are names that the",
            f"module finds defined: {dimensions}.",
            "",
            "Arguments; arrays of jax.numpy in row-major order:",
            *[_line(argument) for argument in spec.arguments],
            "",
            "Promises to the source:",
            "- the entry is traced once with jax.jit, for one chip; inout arguments are donated, so that a pallas_call",
            "  which names them in input_output_aliases updates them in place (anything else copies them);",
            "- arguments arrive in the layout that XLA gives them: tiled by (8, 128) in the last two dimensions for",
            "  32-bit types, taller for narrower ones;",
            "- the same trace is compiled for the chip and interpreted for values (pltpu.InterpretParams).",
            "",
            "Promises of the source:",
            "- it returns the new value of every out and inout argument, in that order: a tuple, a dictionary by name,",
            "  or the array itself where there is just one; shapes and types as listed;",
            f"- every output element is finite and within {bound.absolute:g} + {bound.relative:g} * |expected|, and as"
            " accurate as careful float32 accumulation;",
            "- of an inout argument only what the kernel defines changes;",
            "- equal inputs give equal bits; all memory is written before it is read; every index is in bounds.",
            "",
            "Limits:",
            "- imports, by these lines or an equivalent: " + "; ".join(IMPORTS.values()) + ";",
            "- products of matrices, reductions over weights and everything that loops happen inside pallas_call: around"
            " it only",
            "  reshaping, slicing, padding, casting and elementwise operations, whose time and copies count;",
            "- no interpret= and no compiler flags; pltpu.CompilerParams is allowed (dimension_semantics,"
            " vmem_limit_bytes, ...);",
            "- no callback, print, file, random state, thread, other device or collective;",
            "- no name that begins with an underscore is looked up as an attribute, and no attribute of a module is set;",
            f"- at most {SOURCE_LIMIT_BYTES >> 10} KiB of source.",
            "",
        ]
    )
