"""How NVFP4 codes are decoded, and how x is staged for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..isa import Isa
from .fragments import fragment
from .parallel import Staging
from .tables import f4_pairs

_INT16 = {"per_block": "", "per_element": "            staged->q[c + i] = value;\n"}
_TWO_PLANES = (
    "            staged->upper[c + i] = (int8_t)((value + 128) >> 8);\n"
    "            staged->lower[c + i] = (int8_t)(value & 255);\n"
)
_SIGNED_PLANES = {"per_block": "", "per_element": _TWO_PLANES}
_PLANES = {
    "per_block": "            int32_t total = 0;\n"
    "            for (int i = 16 * b; i < 16 * b + 16; i++)\n"
    "                total += q[i];\n"
    "            staged->twelve[lane] = 12 * total;\n",
    "per_element": _TWO_PLANES,
}
_FLOAT = {"value": "x[unit + staged_from(i)] * X_SCALE"}
_BF16 = {"value": "f32_to_bf16(x[unit + staged_from(i)] * X_SCALE)"}


@dataclass(frozen=True)
class Decoding:
    """Columns in a step, the fragment that stages x with its placeholders, and the helpers that the decode includes."""

    step: int
    stage: str
    staged: Mapping[str, str]
    scales: bool = False
    lookup: str | None = None


_DECODINGS: Mapping[tuple[str, str], Decoding] = {
    ("avx2", "planes"): Decoding(128, "int", _PLANES, scales=True),
    ("avx2", "int16"): Decoding(128, "int", _INT16, scales=True),
    ("avx2", "half"): Decoding(128, "float", _FLOAT),
    ("avx2", "table"): Decoding(128, "float", _FLOAT),
    ("avx512", "vnni"): Decoding(256, "int", _PLANES, scales=True, lookup="shuffle"),
    ("avx512", "vbmi"): Decoding(256, "int", _PLANES, scales=True, lookup="permute"),
    ("avx512", "bf16"): Decoding(128, "float", _BF16),
    ("avx512", "planes"): Decoding(256, "int", _PLANES, scales=True),
    ("neon", "dot"): Decoding(128, "int", _SIGNED_PLANES, scales=True),
    ("neon", "int16"): Decoding(128, "int", _INT16, scales=True),
    ("portable", "bits32"): Decoding(128, "float", _FLOAT),
    ("portable", "table"): Decoding(128, "float", _FLOAT),
}

_LOOKUP_SAYS = {"shuffle": "shuffle", "permute": "permutation"}


def decoding(isa: Isa, decode: str, staging: Staging) -> str:
    """C of ``struct staged``, ``stage`` and ``multiply`` for one decode. Raises KeyError for one the dialect lacks."""
    how = _DECODINGS[isa.dialect, decode]
    values = {"table": f4_pairs()} if decode == "table" else {}
    if how.scales:
        values["scales"] = fragment(f"fp4_{isa.dialect}_scales")
    name = f"fp4_{isa.dialect}_{decode}"
    if how.lookup is not None:
        name = f"fp4_{isa.dialect}_vnni"
        values["lookup"] = fragment(f"fp4_{isa.dialect}_lookup_{how.lookup}")
        values["lookup_says"] = _LOOKUP_SAYS[how.lookup]
    return "\n".join(
        [
            f"enum {{ STEP = {how.step} }};\n",
            fragment(name, **values),
            fragment(f"fp4_stage_{how.stage}", **how.staged, guard=staging.guard, share=staging.share),
        ]
    )
