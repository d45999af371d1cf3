"""Writes the C of a design: one kernel, one dialect, one value for each lever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from textwrap import wrap

from ...space import Design
from ..isa import Isa
from . import attention_output, feedforward, project_qkv

_EMITTERS: Mapping[str, Callable[[Isa, Design], str]] = {
    "sliding_project_qkv": project_qkv.emit,
    "sliding_attention_output": attention_output.emit,
    "decoder_feedforward": feedforward.emit,
}

_COMMENT_COLUMNS = 117
_VECTOR_HEADERS = {"avx512": "immintrin.h", "avx2": "immintrin.h", "neon": "arm_neon.h"}


def emit(kernel: str, isa: Isa, design: Design, says: str = "") -> str:
    """The whole C source of ``design`` for ``kernel``; ``says`` opens the header comment.

    Raises KeyError for a kernel that there is no emitter for, or a lever that ``design`` lacks.
    """
    body = _EMITTERS[kernel](isa, design)
    levers = ", ".join(f"{name} {value}" for name, value in design.items())
    text = wrap(f"Levers: {levers}. */", width=_COMMENT_COLUMNS)
    lines = [f"/* {kernel} for {isa.dialect}.", *([says] if says else []), *text]
    headers = ["kernel.h", "math.h", "stddef.h", "stdint.h", "string.h"]
    if isa.dialect in _VECTOR_HEADERS:
        headers.insert(1, _VECTOR_HEADERS[isa.dialect])
    if "omp_get_thread_num" in body:
        headers.insert(headers.index("math.h") + 1, "omp.h")
    includes = "\n".join('#include "kernel.h"\n' if h == "kernel.h" else f"#include <{h}>" for h in headers)
    return "\n * ".join(lines) + f"\n{includes}\n\n{body}"
