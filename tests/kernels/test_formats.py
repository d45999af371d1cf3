"""The storage formats, against their definitions."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from kernelwright.kernels.formats import (
    F4_VALUES,
    F8_VALUES,
    decode_f8,
    dequantize_nvfp4,
    pack_f4,
    round_bf16,
    unpack_f4,
)


def f8_by_definition(code: int) -> float:
    """E4M3 as its specification writes it."""
    sign = -1.0 if code & 0x80 else 1.0
    exponent, mantissa = code >> 3 & 15, code & 7
    if exponent == 15 and mantissa == 7:
        return math.nan
    return sign * (mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))


def test_every_f8_code() -> None:
    expected = np.array([f8_by_definition(code) for code in range(256)])
    np.testing.assert_array_equal(F8_VALUES.astype(np.float64), expected)
    assert np.signbit(F8_VALUES[0x80])


def test_every_f4_code() -> None:
    magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    np.testing.assert_array_equal(F4_VALUES, [*magnitudes, *(-m for m in magnitudes)])


def test_low_nibble_comes_first() -> None:
    np.testing.assert_array_equal(unpack_f4(np.array([[0x21]], np.uint8)), [[0.5, 1.0]])


@given(npst.arrays(np.uint8, npst.array_shapes(min_dims=1, max_dims=3, max_side=9)))
@settings(max_examples=60, deadline=None)
def test_f4_round_trip(packed: np.ndarray) -> None:
    np.testing.assert_array_equal(pack_f4(unpack_f4(packed)), packed)


def test_pack_refuses_what_f4_cannot_hold() -> None:
    with pytest.raises(ValueError, match="no exact f4e2m1 code"):
        pack_f4(np.array([1.0, 2.5]))


@given(npst.arrays(np.uint8, npst.array_shapes(max_dims=2, max_side=9)))
@settings(max_examples=60, deadline=None)
def test_f8_round_trip(codes: np.ndarray) -> None:
    codes = np.where(codes & 0x7F == 0x7F, 0, codes).astype(np.uint8)
    back = decode_f8(codes).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    np.testing.assert_array_equal(back, codes)


def test_nvfp4_is_exact() -> None:
    rng = np.random.default_rng(3)
    packed = rng.integers(0, 256, (70, 24), dtype=np.uint8)
    scales = rng.integers(0, 0x7F, (70, 3), dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)
    got = dequantize_nvfp4(packed, scales)
    for row in (0, 1, 63, 64, 69):
        for column in range(48):
            nibble = int(packed[row, column // 2]) >> (4 * (column % 2)) & 15
            expected = float(F4_VALUES[nibble]) * f8_by_definition(int(scales.view(np.uint8)[row, column // 16]))
            assert got[row, column] == expected


def test_nvfp4_refuses_scales_of_another_shape() -> None:
    with pytest.raises(ValueError, match="scales have shape"):
        dequantize_nvfp4(np.zeros((2, 16), np.uint8), np.zeros((2, 3), ml_dtypes.float8_e4m3fn))


@given(st.floats(width=32))
@settings(max_examples=300, deadline=None)
def test_rounding_f32_agrees_with_the_cast(value: float) -> None:
    with np.errstate(over="ignore"):
        cast = np.float32(value).astype(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_array_equal(round_bf16(np.float64(value)), cast)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-3e38, max_value=3e38))
@settings(max_examples=300, deadline=None)
def test_rounding_gives_the_nearest(value: float) -> None:
    rounded = round_bf16(np.float64(value))
    code = rounded.astype(ml_dtypes.bfloat16)
    assert float(code) == rounded  # it is a bf16
    for step in (-1, 1):
        neighbour = np.array(code.view(np.int16) + np.int16(step)).view(ml_dtypes.bfloat16).astype(np.float64)
        if np.isfinite(neighbour):
            assert abs(rounded - value) <= abs(neighbour - value)


def test_rounding_once_where_a_cast_by_way_of_f32_rounds_twice() -> None:
    just_above_half = 1.0 + 2.0**-8 + 2.0**-40  # f32 drops the last bit, and the tie then goes to even, down
    assert round_bf16(np.float64(just_above_half)) == 1.0 + 2.0**-7
    assert float(np.float64(just_above_half).astype(np.float32).astype(ml_dtypes.bfloat16)) == 1.0
