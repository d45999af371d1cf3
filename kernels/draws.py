"""Random weights and activations for the decode kernels.

Weights have realistic magnitudes: with activations of unit RMS every matrix gives outputs of about unit RMS. They also
have what wrong kernels trip over: rows made of f8 subnormals, scales over four octaves, every sign and code.

In one of each four groups of 16 columns, column ``8 + i`` of the group repeats column ``i`` (but for one entry in 32),
so that activations can cancel to a small sum of large terms: family ``cancellation``. Both lie in one cache line, so
that reading only one of the two would save no memory traffic.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .formats import F8_VALUES, GROUP
from .spec import DTYPES, Array

FAMILIES = ("normal", "positive", "small", "cancellation", "wide", "outliers")
"""Input families of the decode kernels; see :func:`activations`."""

_PAIRED_EVERY = 4
_UNPAIRED = 1 / 32

_F8_AMPLITUDES = (112.0, 14.0, 2.0**-6)
"""Standard deviations of f8 rows, in the units of the format: full range (448 is four of them), middle, subnormal."""
_F8_CHANCES = (0.75, 0.15, 0.10)


def paired_columns(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of the columns that come in equal pairs among ``count``, and of their partners."""
    groups = np.arange(_PAIRED_EVERY - 1, count // GROUP, _PAIRED_EVERY)
    first = (groups[:, None] * GROUP + np.arange(GROUP // 2)).ravel()
    return first, first + GROUP // 2


def bf16(values: ArrayLike) -> Array:
    """``values`` in bfloat16."""
    return np.asarray(values).astype(DTYPES["bf16"])


def norm_weights(rng: np.random.Generator, count: int) -> Array:
    """Weights of an RMSNorm, bf16 [count], within 0.5 to 1.5, equal for paired columns."""
    values = rng.uniform(0.5, 1.5, count)
    first, partner = paired_columns(count)
    values[partner] = values[first]
    return bf16(values)


def _normal_codes(deviation: float) -> NDArray[np.uint8]:
    """f8 codes of 65536 equally likely values of a normal distribution: a table that turns random 16-bit numbers."""
    from scipy.special import ndtri

    values = ndtri((np.arange(65536) + 0.5) / 65536) * deviation
    clipped = np.clip(values, -448.0, 448.0).astype(np.float32)
    return clipped.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


def f8_matrix(rng: np.random.Generator, rows: int, columns: int) -> tuple[Array, Array]:
    """An f8e4m3 matrix [rows, columns] and the bf16 scales [rows] that give it a gain of about one.

    Rows are normal with one of three amplitudes; a row of the lowest holds mostly subnormals.
    """
    kinds = rng.choice(len(_F8_AMPLITUDES), size=rows, p=_F8_CHANCES)
    codes = np.empty((rows, columns), dtype=np.uint8)
    random = rng.integers(0, 65536, size=(rows, columns), dtype=np.uint16)
    deviations = np.empty(rows)
    for kind, amplitude in enumerate(_F8_AMPLITUDES):
        table = _normal_codes(amplitude)
        chosen = kinds == kind
        codes[chosen] = table[random[chosen]]
        deviations[chosen] = np.sqrt(np.mean(np.square(F8_VALUES[table], dtype=np.float64)))
    first, partner = paired_columns(columns)
    equal = rng.random((rows, len(first)), dtype=np.float32) >= _UNPAIRED
    codes[:, partner] = np.where(equal, codes[:, first], codes[:, partner])
    scales = np.exp(rng.normal(0.0, 0.3, rows)) / (deviations * np.sqrt(columns))
    return codes.view(DTYPES["f8e4m3"]), bf16(scales)


def nvfp4_matrix(rng: np.random.Generator, rows: int, columns: int, level: float) -> tuple[Array, Array, Array]:
    """An NVFP4 matrix with a gain of about one: packed values [rows, columns/2], scales [rows, columns/16], global [].

    Block scales spread over about four octaves around ``level``; with a low level many of them are subnormal.
    """
    packed = rng.integers(0, 256, size=(rows, columns // 2), dtype=np.uint8)
    first, partner = paired_columns(columns)
    if len(first):
        bytes_first, bytes_partner = first[::2] // 2, partner[::2] // 2
        equal = rng.random((rows, len(bytes_first)), dtype=np.float32) >= _UNPAIRED
        packed[:, bytes_partner] = np.where(equal, packed[:, bytes_first], packed[:, bytes_partner])
    spread = np.exp2(rng.uniform(-2.0, 2.0, (4096,)).astype(np.float32)) * np.float32(level)
    codes = np.clip(spread, 2.0**-9, 448.0).astype(DTYPES["f8e4m3"])
    scales = codes[rng.integers(0, len(codes), size=(rows, columns // GROUP), dtype=np.uint16)]
    mean_square = np.mean(np.square(codes.astype(np.float32), dtype=np.float64)) * 8.5625  # of a uniform f4 code
    total = np.float32(rng.uniform(0.7, 1.4) / np.sqrt(mean_square * columns))
    return packed, scales, np.asarray(total, dtype=np.float32)


def activations(rng: np.random.Generator, family: str, count: int, small: float = 1e-3) -> Array:
    """A bf16 vector [count] of an input family.

    ``normal``: unit normal. ``positive``: magnitudes of it. ``small``: RMS of about ``small``, so that an epsilon
    matters. ``cancellation``: paired columns hold large opposite values. ``wide``: magnitudes over 28 octaves, with
    zeros and bf16 subnormals. ``outliers``: a few large elements among many of a thousandth of their size.

    The first and the last element are never small for their family, so that a kernel which drops one is seen.
    Raises ValueError for an unknown family.
    """
    normal = rng.standard_normal(count)
    edge = 3.0 * rng.choice([-1.0, 1.0], 2)
    if family == "normal":
        values = normal
    elif family == "positive":
        values, edge = np.abs(normal), np.abs(edge)
    elif family == "small":
        values, edge = normal * small, edge * small
    elif family == "cancellation":
        values = normal
        first, partner = paired_columns(count)
        values[first] = 30.0 * rng.standard_normal(len(first))
        values[partner] = -values[first]
        values[0] = edge[0]
        return bf16(values)
    elif family == "wide":
        values = np.copysign(np.exp2(rng.uniform(-24.0, 4.0, count)), normal)
        kind = rng.random(count)
        values[kind < 0.1] = 0.0
        subnormal = kind > 0.9
        values[subnormal] = np.copysign(rng.integers(1, 128, count) * 2.0**-133, normal)[subnormal]
    elif family == "outliers":
        values = normal * 0.05
        chosen = rng.choice(count, size=max(4, min(count // 8, 12)), replace=False)
        values[chosen] = np.copysign(rng.uniform(15.0, 60.0, len(chosen)), normal[chosen])
    else:
        raise ValueError(f"unknown input family {family!r}; known: {', '.join(FAMILIES)}")
    values[0], values[-1] = edge
    return bf16(values)


def positions(rng: np.random.Generator, family: str, window: int, count: int) -> Array:
    """A position (i32, shape ()) below ``count``: anywhere for ``normal``, at a boundary for every other family.

    Boundaries: the first and the last position, the last slot of the ring, the first that wraps, a later wrap.
    """
    last_turn = max(count // window, 1)
    boundary = {
        "positive": 0,
        "small": count - 1,
        "cancellation": window - 1,
        "wide": window,
        "outliers": window * int(rng.integers(1, last_turn + 1)) - 1,
    }
    value = min(boundary.get(family, int(rng.integers(0, count))), count - 1)
    return np.asarray(value, dtype=np.int32)


def cache(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A filled ring cache: bf16 of any sign with magnitudes from 2**-15 to 2, made from random bits for speed."""
    bits = rng.integers(0, 65536, size=shape, dtype=np.uint16)
    # Keep the sign, three exponent bits and the mantissa, and set the exponent's upper bits.
    np.bitwise_and(bits, np.uint16(0x87FF), out=bits)
    np.bitwise_or(bits, np.uint16(0x3800), out=bits)
    return bits.view(DTYPES["bf16"])
