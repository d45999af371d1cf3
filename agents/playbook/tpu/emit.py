"""Writes the Pallas source of a design: one kernel, one value for each lever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import wrap

from ..space import Design
from .fragments import fragment

_COLUMNS = 117
_SUMS = {"f32": "F32", "bf16": "BF16"}
_INPUTS: Mapping[str, str] = {
    "resident": "pl.BlockSpec((1, COLUMNS), lambda i: (0, 0))",
    "streamed": "pl.BlockSpec((1, PART), lambda i: (0, place(i)[1]))",
    "scalars": "pl.BlockSpec(memory_space=pltpu.SMEM)",
    "outside": "pl.BlockSpec(memory_space=pl.ANY)",
}


def emit(kernel: str, design: Design, says: str = "") -> str:
    """The whole source of ``design`` for ``kernel``; ``says`` is the first line of its docstring.

    Raises KeyError for a kernel that there is no emitter for, or a lever that ``design`` lacks.
    """
    body = _EMITTERS[kernel](design)
    levers = ", ".join(f"{name} {value}" for name, value in design.items())
    text = "\n".join(wrap(levers, width=_COLUMNS - len("Levers: ")))
    return fragment("head", title=says or f"{kernel} for a TPU.", levers=text) + body


def _buffers(design: Design) -> str:
    """More than the pipeline's own two buffers, or just one."""
    count = int(design["buffers"])
    return "" if count == 2 else f", pipeline_mode=pl.Buffered({count})"


def _compiler(design: Design) -> str:
    """Parameters of the compiler, where they are not its own."""
    mib = int(design["vmem_mib"])
    given = [f"vmem_limit_bytes={mib} << 20"] if mib else []
    if design["steps"] != "arbitrary":
        given.append(f'dimension_semantics=("{design["steps"]}",)')
    return f"\n        compiler_params=pltpu.CompilerParams({', '.join(given)})," if given else ""


def _precision(design: Design) -> str:
    return "" if design["precision"] == "default" else ", precision=lax.Precision.HIGHEST"


def _common(design: Design) -> Mapping[str, str]:
    return {"buffers": _buffers(design), "compiler": _compiler(design)}


def _f8(design: Design, blocks: str) -> Mapping[str, str | int]:
    """What the templates of f8 products take; ``blocks`` is the number of blocks of rows there."""
    split = int(design["split"])
    by_rows = "lax.div(i, PARTS), lax.rem(i, PARTS)"
    by_columns = f"lax.rem(i, {blocks}), lax.div(i, {blocks})"
    clear = "    @pl.when(i == 0)\n    def _():\n        y[...] = jnp.zeros_like(y)\n\n" if split > 1 else ""
    return {
        "rows": design["rows"],
        "split": split,
        "times": fragment(f"f8_{design['decode']}", sum=_SUMS[str(design["sum"])], precision=_precision(design)),
        "add": fragment("add_parts" if split > 1 else "add_once"),
        "place": by_rows if design["order"] == "rows" else by_columns,
        "clear": clear,
    }


def _part(vector: str, split: int) -> str:
    """A part of the columns of a line that is there as a whole."""
    return f"{vector}[:, pl.ds(pl.multiple_of(part * PART, PART), PART)]" if split > 1 else f"{vector}[...]"


def _attention_output(design: Design) -> str:
    place = str(design["input"])
    calls = fragment(f"attention_output_{design['epilogue']}", x_spec=_INPUTS[place], **_common(design))
    take = "a[...]" if place == "streamed" else _part("a", int(design["split"]))
    return fragment("attention_output", take=take, calls=calls, **_f8(design, "BLOCKS"))


def _project_qkv(design: Design) -> str:
    calls = fragment(f"project_qkv_{design['epilogue']}", **_common(design))
    take = _part("x", int(design["split"]))
    return fragment("project_qkv", take=take, calls=calls, **_f8(design, "(steps // PARTS)"))


def _feedforward(design: Design) -> str:
    turned = design["scales"] != "rows"
    spec = "pl.BlockSpec((rows, columns // 16), lambda i: (place(i), 0))"
    if turned:
        spec = "pl.BlockSpec((columns // 16, rows), lambda i: (0, place(i)))"
    calls = fragment(f"feedforward_{design['epilogue']}", turned=".T" if turned else "", compiler=_compiler(design))
    return fragment(
        "feedforward",
        chunk=design["chunk"],
        rows=design["rows"],
        down_rows=design["down_rows"],
        unroll=design["unroll"],
        decode=fragment(f"fp4_{design['decode']}"),
        meet=fragment(f"dot_{design['meet']}", sum=_SUMS[str(design["sum"])], precision=_precision(design)),
        widen=fragment(f"scales_{design['scales']}"),
        buffers=_buffers(design),
        scale_spec=spec,
        calls=calls,
    )


_EMITTERS: Mapping[str, Callable[[Design], str]] = {
    "sliding_attention_output": _attention_output,
    "sliding_project_qkv": _project_qkv,
    "decoder_feedforward": _feedforward,
}

KERNELS = tuple(_EMITTERS)
"""Kernels that the playbook writes Pallas for."""
