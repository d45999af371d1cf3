"""C for ``decoder_feedforward``: gate and up, gelu, down, RMSNorm and the layer scalar, on NVFP4 weights."""

from __future__ import annotations

from ..isa import Isa
from .fragments import fragment
from .gemv import Design, fp4_matrix, vocabulary
from .parallel import Staging, schedule


def _rows(count: int, with_next: bool) -> str:
    def ahead(rows: int) -> str:
        return f"(size_t){rows} * (columns / 2), " if with_next else ""

    single = fragment("fp4_rows_single", ahead=ahead(1)) if count > 1 else ""
    words = "one at a time" if count == 1 else f"{count} at a time"
    return fragment("fp4_rows", rows=count, count=words, ahead=ahead(count), single=single)


def emit(isa: Isa, design: Design) -> str:
    """The source below the includes."""
    rows, down_rows = int(design["rows"]), int(design["down_rows"])
    fused = design["pairing"] == "fused"
    with_next = design["prefetch"] == "next"
    ranges = {1, down_rows} if fused else {1, rows, down_rows}
    staging = Staging.of(design, "struct staged staged;")
    if fused:
        ahead = f"(size_t){rows // 2} * (HIDDEN / 2), " if with_next else ""
        gate_up = fragment("gate_up_fused", rows=rows, half=rows // 2, ahead=ahead)
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
            fp4_matrix(isa, design, frozenset({1, rows, down_rows})),
            "\n".join(_rows(count, with_next) for count in sorted(ranges)),
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
