"""C for ``sliding_project_qkv``: RMSNorm, three f8 matrices, norms and RoPE per head, ring caches."""

from __future__ import annotations

from ...space import Design
from ..isa import Isa
from .fragments import fragment
from .gemv import f8_matrix, vocabulary
from .parallel import Staging, schedule


def emit(isa: Isa, design: Design) -> str:
    """The source below the includes."""
    staging = Staging.of(design, "float staged[HIDDEN] __attribute__((aligned(64)));")
    fused = design["epilogue"] == "head"
    parts = [
        fragment("scalars"),
        fragment("rmsnorm"),
        vocabulary(isa),
        f8_matrix(isa, design, staging),
        fragment("normalize"),
        fragment("finish_head"),
        staging.shared,
    ]
    if not fused:
        parts.append(
            f"enum {{ GRAIN = {design['grain']}, PARTS = (HEAD_DIM + GRAIN - 1) / GRAIN }};\n"
            "static float product[HEADS + 2 * KV_HEADS][HEAD_DIM] __attribute__((aligned(64)));\n"
        )
    body = (
        fragment("project_qkv_head")
        + staging.private
        + staging.once
        + "        {\n"
        + "            float normal[HIDDEN];\n"
        + "            normalize(x, w_in, normal);\n"
        + "            stage(normal, staged, HIDDEN);\n"
        + "        }\n"
        + fragment("project_qkv_fused" if fused else "project_qkv_after", schedule=schedule(design))
    )
    return "\n".join([part for part in parts if part] + [body])
