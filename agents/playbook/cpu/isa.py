"""Which dialect of C to write, from the compiler's own predefined macros (``cc -march=native -dM -E``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Dialect = Literal["avx512", "avx2", "neon", "portable"]

_AVX512 = ("__AVX512F__", "__AVX512BW__", "__AVX512VL__", "__AVX512DQ__")
_AVX2 = ("__AVX2__", "__FMA__", "__F16C__")
_FEATURES = {
    "__AVX512VBMI__": "vbmi",
    "__AVX512VNNI__": "vnni",
    "__AVX512BF16__": "bf16",
    "__AVX512FP16__": "fp16",
    "__AVXVNNI__": "avxvnni",
    "__ARM_FEATURE_DOTPROD": "dotprod",
    "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC": "fp16",
    "__ARM_FEATURE_BF16_VECTOR_ARITHMETIC": "bf16",
}


@dataclass(frozen=True)
class Isa:
    """The dialect to write and the extensions that a decode strategy may ask for."""

    dialect: Dialect
    features: frozenset[str] = frozenset()


def from_macros(macros: Iterable[str]) -> Isa:
    """The richest dialect that the predefined ``macros`` (their names) allow; portable C when there is no better."""
    names = frozenset(macros)
    features = frozenset(feature for macro, feature in _FEATURES.items() if macro in names)
    if names.issuperset(_AVX512):
        return Isa("avx512", features)
    if names.issuperset(_AVX2):
        return Isa("avx2", features)
    if "__aarch64__" in names and "__ARM_NEON" in names:
        return Isa("neon", features)
    return Isa("portable")
