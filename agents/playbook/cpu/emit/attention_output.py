"""C for ``sliding_attention_output``: residual += RMSNorm((a . W_o^T) * s_o, w_post)."""

from __future__ import annotations

from ...space import Design
from ..isa import Isa
from .fragments import fragment
from .gemv import f8_matrix, vocabulary
from .parallel import Staging, schedule


def emit(isa: Isa, design: Design) -> str:
    """The source below the includes."""
    staging = Staging.of(design, "float staged[HEADS * HEAD_DIM] __attribute__((aligned(64)));")
    return "\n".join(
        [
            fragment("scalars"),
            fragment("rmsnorm"),
            vocabulary(isa),
            f8_matrix(isa, design, staging),
            staging.shared + "static float product[HIDDEN] __attribute__((aligned(64)));\n",
            fragment(
                "attention_output",
                grain=design["grain"],
                schedule=schedule(design),
                staged=staging.private,
                once=staging.once,
            ),
        ]
    )
