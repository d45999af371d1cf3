"""C for ``decoder_feedforward``: gate and up, gelu, down, RMSNorm and the layer scalar, on NVFP4 weights."""

from __future__ import annotations

from ...space import Design
from ..isa import Isa
from .fragments import fragment
from .gemv import fp4_matrix, needs_ahead, vocabulary
from .parallel import Staging, schedule


def _rows(count: int, with_ahead: bool, spread: bool) -> str:
    def ahead(rows: int) -> str:
        return f"{1 if spread else rows}, " if with_ahead else ""

    single = fragment("fp4_rows_single", ahead=ahead(1))
    if count == 1:
        return fragment("fp4_rows_one", single=single)
    name = "fp4_rows_spread" if spread else "fp4_rows_adjacent"
    return fragment(name, rows=count, count=f"{count} at a time", ahead=ahead(count), single=single)


def _spread_loop(half: int) -> tuple[str, str]:
    loop = f"    const int apart = (last - first) / {half};\n    int row = first;\n    for (; row < first + apart; row++) {{"
    return loop, f"    row = first + {half} * apart;\n"


def _adjacent_loop(half: int) -> tuple[str, str]:
    loop = f"    enum {{ apart = 1 }};\n    int row = first;\n    for (; row + {half} <= last; row += {half}) {{"
    return loop, ""


def emit(isa: Isa, design: Design) -> str:
    """The source below the includes."""
    rows, down_rows = int(design["rows"]), int(design["down_rows"])
    fused = design["pairing"] == "fused"
    with_ahead = needs_ahead(design)
    spread = design["order"] == "spread"
    ranges = {1, down_rows} if fused else {1, rows, down_rows}
    staging = Staging.of(design, "struct staged staged;")
    if fused:
        half = rows // 2
        ahead = f"{1 if spread else half}, " if with_ahead else ""
        loop, rest = (_spread_loop if spread else _adjacent_loop)(half)
        gate_up = fragment("gate_up_fused", rows=rows, half=half, ahead=ahead, loop=loop, rest=rest)
    else:
        gate_up = fragment("gate_up_separate", rows=rows)
    return "\n".join(
        [
            "enum { MAX_COLUMNS = INTERMEDIATE > HIDDEN ? INTERMEDIATE : HIDDEN };\n",
            fragment("scalars"),
            fragment("fp4_scalar"),
            fragment("rmsnorm"),
            fragment(f"gelu_{design['gelu']}"),
            vocabulary(isa),
            fp4_matrix(isa, design, staging, frozenset({1, rows, down_rows})),
            "\n".join(_rows(count, with_ahead, spread) for count in sorted(ranges)),
            fragment("normalize"),
            staging.shared,
            fragment(
                "feedforward",
                grain=design["grain"],
                down_grain=design["down_grain"],
                gate_up=gate_up,
                shared="",
                schedule=schedule(design),
                down_rows=down_rows,
                stage_x=staging.private
                + staging.once
                + "        {\n            float normal[HIDDEN];\n            normalize(residual, w_pre, normal);\n"
                + "            stage(normal, &staged, HIDDEN);\n        }\n",
                stage_y=staging.once + "        stage(activation, &staged, INTERMEDIATE);\n",
            ),
        ]
    )
