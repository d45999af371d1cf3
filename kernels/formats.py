"""Exact decoding of the storage formats, and rounding to bf16.

f8e4m3 is OCP FP8 E4M3: 1 sign, 4 exponent bits with bias 7, 3 mantissa bits; no infinities; NaN only at 0x7f and 0xff.
f4e2m1 is the element format of OCP MXFP4: values 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
NVFP4 is f4e2m1 with one f8e4m3 scale for each 16 values along a row and one f32 scale per matrix.
"""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .spec import Array

GROUP = 16
"""How many neighbouring values of an NVFP4 row share one scale."""

UNIT_ROUNDOFF: Mapping[str, float] = {"bf16": 2.0**-8, "f8e4m3": 2.0**-4, "f32": 2.0**-24, "i32": 0.0}
"""Largest relative error of rounding a normal number to nearest, by element type: half a unit in the last place of 1."""

SMALLEST: Mapping[str, float] = {"bf16": 2.0**-133, "f8e4m3": 2.0**-9, "f32": 2.0**-149, "i32": 0.0}
"""Smallest positive number, by element type."""

_LARGEST_BF16 = float.fromhex("0x1.fep127")

F8_VALUES: NDArray[np.float32] = (
    np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)  # exact: f32 holds every f8
)
"""The f32 value of every f8e4m3 code; NaN at 0x7f and 0xff."""

F4_VALUES: NDArray[np.float32] = (
    np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)  # exact
)
"""The f32 value of every f4e2m1 code."""

_F4_PAIRS: NDArray[np.uint64] = (
    np.stack([np.tile(F4_VALUES, 16), np.repeat(F4_VALUES, 16)], axis=-1).view(np.uint64).reshape(256)
)
"""Both f32 values of every packed byte as one 64-bit pattern, the low nibble's first in memory: one gather for two."""


def decode_f8(codes: Array) -> NDArray[np.float32]:
    """The exact f32 values of f8e4m3 ``codes`` (dtype float8_e4m3fn or uint8), in the same shape."""
    return F8_VALUES[codes.view(np.uint8)]


def decode_bf16(values: Array) -> NDArray[np.float64]:
    """The exact float64 values of a bfloat16 array, in the same shape."""
    return np.asarray(values.astype(np.float32), dtype=np.float64)


def unpack_f4(packed: Array) -> NDArray[np.float32]:
    """The exact f32 values of packed f4e2m1 (uint8 [..., n]), shape [..., 2n]: the low nibble of a byte comes first."""
    return np.take(_F4_PAIRS, packed, mode="clip").view(np.float32)  # clip: no index can be out of range, so no check


def pack_f4(values: Array) -> NDArray[np.uint8]:
    """Pack values that f4e2m1 can hold ([..., 2n]) into bytes ([..., n]).

    Raises ValueError when a value is not one of the sixteen.
    """
    codes = np.asarray(values, dtype=np.float32).astype(ml_dtypes.float4_e2m1fn)
    if not np.array_equal(codes.astype(np.float32), values):
        raise ValueError("pack_f4: a value has no exact f4e2m1 code")
    nibbles = codes.view(np.uint8) & np.uint8(15)
    packed: NDArray[np.uint8] = nibbles[..., 0::2] | (nibbles[..., 1::2] << np.uint8(4))
    return packed


def dequantize_nvfp4(packed: Array, scales: Array) -> NDArray[np.float32]:
    """Values times block scales of an NVFP4 matrix, without its global scale: f32 [rows, 2n], exact.

    ``packed`` is uint8 [rows, n] and ``scales`` f8e4m3 [rows, 2n/16]. A value has at most two significant bits and a
    scale four, so that every product is exact in f32.
    """
    rows, half = packed.shape
    if scales.shape != (rows, 2 * half // GROUP):
        raise ValueError(f"scales have shape {scales.shape}, expected {(rows, 2 * half // GROUP)}")
    values = np.empty((rows, 2 * half), dtype=np.float32)
    for start in range(0, rows, 64):  # in pieces, so that temporaries stay in cache
        piece = slice(start, start + 64)
        grouped = unpack_f4(packed[piece]).reshape(-1, 2 * half // GROUP, GROUP)
        np.multiply(grouped, decode_f8(scales[piece])[..., None], out=values[piece].reshape(grouped.shape))
    return values


def round_bf16(values: ArrayLike) -> NDArray[np.float64]:
    """float64 ``values`` rounded once to the nearest bfloat16 (ties to even), as float64.

    A cast by way of f32 rounds twice and can miss the nearest; this does not. Subnormals are kept, magnitudes that
    round beyond the largest bfloat16 become infinite, infinities and NaN pass through.
    """
    exact = np.asarray(values, dtype=np.float64)
    _, exponent = np.frexp(exact)
    quantum = np.maximum(exponent - 8, -133)  # frexp's mantissa lies in [0.5, 1), bf16 has 8 significant bits
    rounded: NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(exact, -quantum)), quantum)
    return np.where(np.abs(rounded) > _LARGEST_BF16, np.copysign(np.inf, rounded), rounded)
