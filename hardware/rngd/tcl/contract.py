"""The contract of a TCL design, generated from the kernel's spec: the signature, and the text for people and models."""

from __future__ import annotations

import re

from ....kernels.spec import Argument, KernelSpec
from ...target import TargetError
from .program import Program

TCL_TYPES = {"bf16": "bf16", "f8e4m3": "f8_e4", "f4e2m1x2": "u8", "f32": "f32", "i32": "i32"}
"""TCL's element type by the spec's; packed f4 travels as bytes, which ``transmute`` turns into twice as many ``f4_e2``."""
SOURCE_LIMIT_BYTES = 64 << 10
"""The largest source that is looked at."""
TACTICS = ("EinsumByDpe", "EinsumByVe", "ReduceByVe", "Elementwise", "Interleaving", "TensorOperation")
"""Kinds of passes of the tensor unit that a design may ask for."""
GRAPH_OPERATIONS = (
    "reshape",
    "transmute",
    "slice",
    "concat",
    "gather",
    "scatter",
    "copy",
    "arange",
    "vector",
    "full",
    "pad",
    "mask",
)
"""Operations on whole tensors that a design may ask for. Others touch files, other chips, or code in another language."""
_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*\Z", re.ASCII)
_MEANINGS = {
    "bf16": "bfloat16",
    "f8e4m3": "float8 e4m3 (finite)",
    "f4e2m1x2": "two float4 e2m1 values in a byte, the low nibble first",
    "f32": "float",
    "i32": "int32",
}


def returned(spec: KernelSpec) -> Argument:
    """The one argument whose new value the function returns. Raises TargetError for a spec that TCL cannot express."""
    candidates = [argument for argument in spec.outputs if argument.role != "state"]
    if len(candidates) != 1:
        raise TargetError(
            f"kernel {spec.name}: a TCL function returns one tensor, and it has {len(candidates)} results"
        )
    return candidates[0]


def states(spec: KernelSpec) -> tuple[Argument, ...]:
    """The arguments that the function updates in place, by ``copy(src=…, dst=…)``."""
    return tuple(argument for argument in spec.outputs if argument.role == "state")


def given(spec: KernelSpec) -> tuple[Argument, ...]:
    """The arguments that the function takes, in the order of the spec: all but pure outputs."""
    return tuple(argument for argument in spec.arguments if argument.direction != "out")


def check(spec: KernelSpec) -> None:
    """Refuse a spec that TCL cannot express. Raises TargetError."""
    for name in (spec.name, *(argument.name for argument in spec.arguments)):
        if not _NAME.match(name):
            raise TargetError(f"kernel {spec.name}: {name!r} is not a name of a tensor in TCL")
    returned(spec)


def signature_problem(spec: KernelSpec, program: Program) -> str:
    """In what a program's signature differs from the contract; empty when it does not."""
    if program.name != spec.name:
        return f"the function is called {program.name}, not {spec.name}"
    wanted = [argument.name for argument in given(spec)]
    if [tensor.name for tensor in program.arguments] != wanted:
        return f"the arguments must be, in this order: {', '.join(wanted)}"
    for tensor, argument in zip(program.arguments, given(spec), strict=True):
        shape = tuple(program.axes[axis] for axis in tensor.axes)
        if shape != argument.shape or tensor.dtype != TCL_TYPES[argument.dtype]:
            return f"argument {argument.name} must be {_type(argument)}, not {list(shape)}/{tensor.dtype}"
    result = returned(spec)
    shape = tuple(program.axes[axis] for axis in program.result.axes)
    if shape != result.shape or program.result.dtype != TCL_TYPES[result.dtype]:
        return f"the result ({result.name}) must be {_type(result)}, not {list(shape)}/{program.result.dtype}"
    kept = {state.name for state in states(spec)}
    copied = [each.reads[-1] for each in program.statements if each.operation == "copy" and each.reads]
    for name in copied:
        if name not in kept:
            return f"{name} is not a state: nothing may be copied into it"
    for name in sorted(kept.difference(copied)):
        return f"{name} is updated in place, by copy(src=…, dst={name})"
    return ""


def _type(argument: Argument) -> str:
    return f"{list(argument.shape)}/{TCL_TYPES[argument.dtype]}"


def _line(argument: Argument) -> str:
    return f"- {argument.name}: {_type(argument)}, {_MEANINGS[argument.dtype]}; {argument.role}, {argument.direction}"


def contract(spec: KernelSpec) -> str:
    """What a source must do and may do, as text for people and language models. Raises TargetError."""
    check(spec)
    dimensions = ", ".join(f"{name} = {value}" for name, value in spec.dimensions.items())
    bound, result = spec.tolerance, returned(spec)
    in_place = "".join(
        f"- {each.name} is updated in place: end with copy(src=NEW, dst={each.name});\n" for each in states(spec)
    )
    return "\n".join(
        [
            f"Kernel {spec.name}: {spec.summary}",
            "",
            "One TCL function for RNGD, compiled and estimated by furiosa-tcc:",
            "",
            f"def {spec.name}(AXIS: Axis = SIZE, …, {given(spec)[0].name}: [AXES]/TYPE, …) -> [AXES]/TYPE:",
            "",
            f"Axes are declared by name with their sizes before the tensors; those of the kernel are {dimensions}.",
            "Arguments, in this order, each dimension one axis of that size:",
            *[_line(argument) for argument in given(spec)],
            f"Returned: the new value of {result.name}, {_type(result)}.",
            in_place.rstrip("\n"),
            "",
            "Promises of the source:",
            f"- every output element is finite and within {bound.absolute:g} + {bound.relative:g} * |expected|, and as"
            " accurate as careful float32 accumulation;",
            "- every argument is used; nothing of a state changes but what the kernel defines.",
            "",
            "Limits:",
            f"- tensor operations: {', '.join(TACTICS)};",
            f"- graph operations: {', '.join(GRAPH_OPERATIONS)};",
            "- no configuration of the compiler (lines that begin with @): every design is compiled alike;",
            f"- at most {SOURCE_LIMIT_BYTES >> 10} KiB of source.",
            "",
        ]
    )
