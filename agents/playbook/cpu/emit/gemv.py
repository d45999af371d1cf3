"""The C of a matrix times a vector: several rows at a time, decoded in registers, for f8e4m3 and NVFP4 weights."""

from __future__ import annotations

from collections.abc import Mapping

from ...space import Design
from ..isa import Isa
from . import nvfp4
from .fragments import fragment
from .parallel import Staging
from .tables import f8_values

HINTS: Mapping[str, int] = {"l1": 3, "l2": 2, "once": 0}
"""Locality of ``__builtin_prefetch`` by the value of the lever ``hint``."""


def vocabulary(isa: Isa) -> str:
    """The few vector operations that the rest is written in."""
    return fragment(f"vector_{isa.dialect}")


def _count(rows: int) -> str:
    return "one row" if rows == 1 else f"{rows} rows that share each load of x"


def _sums(design: Design, rows: int, turn: str) -> Mapping[str, str]:
    """C that declares, picks and folds the running sums of each row; ``turn`` picks one by turns."""
    each = int(design["accumulators"])
    if each == 1:
        clear = f"    vec sum[{rows}];\n    for (int r = 0; r < {rows}; r++)\n        sum[r] = vec_zero();\n"
        return {"clear": clear, "slot": "sum[r]", "fold": "", "total": "sum[r]"}
    return {
        "clear": f"    vec sum[{rows}][{each}];\n"
        f"    for (int r = 0; r < {rows}; r++)\n"
        f"        for (int k = 0; k < {each}; k++)\n"
        "            sum[r][k] = vec_zero();\n",
        "slot": f"sum[r][{turn} % {each}]",
        "fold": f"        for (int k = 1; k < {each}; k++)\n            sum[r][0] = vec_add(sum[r][0], sum[r][k]);\n",
        "total": "sum[r][0]",
    }


def _unroll(design: Design) -> str:
    steps = int(design["unroll"])
    return f"#pragma GCC unroll {steps}\n" if steps > 1 else ""


def _prefetch(design: Design, where: str, next_rows: str) -> str:
    distance = design["prefetch"]
    if distance == "off":
        return ""
    ahead = next_rows if distance == "next" else str(distance)
    lines = [f"__builtin_prefetch({where} + {ahead}, 0, {HINTS[str(design['hint'])]});"]
    return "".join(f"            {line}\n" for line in lines)


AHEAD_PARAMETER = "int ahead, "
"""The parameter of ``dot_N`` that says how many rows on the row lies that this one's prefetches are for."""


def needs_ahead(design: Design) -> bool:
    """Whether the dots of an NVFP4 design take that parameter."""
    return design["prefetch"] == "next" or design["scale_prefetch"] == "on"


def _scale_prefetch(design: Design, rows: int) -> str:
    if design["scale_prefetch"] == "off":
        return ""
    return (
        f"    for (int r = 0; r < {rows}; r++)\n"
        "        for (int at = 0; at < columns / 16; at += 64)\n"
        f"            __builtin_prefetch(s[r] + (size_t)ahead * (columns / 16) + at, 0, {HINTS[str(design['hint'])]});\n"
    )


def f8_matrix(isa: Isa, design: Design, staging: Staging) -> str:
    """``stage`` and ``dot_range`` for f8e4m3 rows; ``design`` gives decode, rows, accumulators, unroll, prefetch, hint."""
    rows = int(design["rows"])
    spread = design["order"] == "spread"
    decode = str(design["decode"])
    tables = {"table": f8_values()} if decode == "table" else {}
    stage = fragment("f8_stage", guard=staging.guard, share=staging.share)
    parts = [fragment(f"f8_{isa.dialect}_{decode}", **tables), "enum { STEP = 64 };\n", stage]
    for count in sorted({rows, 1}, reverse=True):
        parts.append(
            fragment(
                "f8_dot",
                rows=count,
                count=_count(count),
                **_sums(design, count, "k"),
                unroll=_unroll(design),
                prefetch=_prefetch(design, "row", "columns" if spread or count == 1 else f"{count} * columns"),
            )
        )
    single = (
        "    for (; row < last; row++)\n        dot_1(w + (size_t)row * columns, x, columns, 1, out + row - first);\n"
    )
    parts.append(
        fragment(
            "f8_rows_spread" if spread and rows > 1 else "f8_rows_adjacent",
            rows=rows,
            single=single if rows > 1 else "",
        )
    )
    return "\n".join(parts)


def fp4_matrix(isa: Isa, design: Design, staging: Staging, counts: frozenset[int]) -> str:
    """``stage`` and ``dot_N`` for each N in ``counts`` rows of NVFP4 weights."""
    parts = [nvfp4.decoding(isa, str(design["decode"]), staging)]
    for count in sorted(counts, reverse=True):
        parts.append(
            fragment(
                "fp4_dot",
                rows=count,
                count=_count(count),
                **_sums(design, count, "unit / UNIT"),
                unroll=_unroll(design),
                ahead=AHEAD_PARAMETER if needs_ahead(design) else "",
                scale_prefetch=_scale_prefetch(design, count),
                prefetch=_prefetch(design, "row", "(size_t)ahead * (columns / 2)"),
            )
        )
    return "\n".join(parts)
