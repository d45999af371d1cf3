"""The arithmetic that the kernels share, in float64 and for many calls at once.

Every function takes a ``step``: what happens to an intermediate when it is stored. :func:`exact` keeps it, which gives
the reference; :func:`~.formats.round_bf16` rounds it, which gives the yardstick of the error model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .formats import round_bf16
from .spec import Array

Float64 = NDArray[np.float64]
Step = Callable[[Array], Float64]

EPSILON = 1e-6
"""Added to the mean square in every RMSNorm of the model."""

_CHUNK_ROWS = 64
"""Matrix rows taken at a time: 64 rows of 3840 are 2 MB in float64, which stay in cache until they are multiplied."""
_ONE_THREAD = 1 << 18
"""Multiplications up to which OpenBLAS uses the calling thread alone (its GEMM_MULTITHREAD_THRESHOLD of 4 * 65536)."""


def exact(values: Array) -> Float64:
    """The identity step: an intermediate keeps all its float64 bits."""
    return np.asarray(values, dtype=np.float64)


def dots(matrix: NDArray[np.float32], vectors: Float64, step: Step) -> Float64:
    """Dot products of each row of ``matrix`` [rows, K] with each of ``vectors`` [n, K]: float64 [n, rows].

    With :func:`exact`, products and sums are float64. With a rounding step they are f32: the error of the sum (about
    ``2**-24 * sqrt(K)``) is far below what rounding the result costs, and the matrix need not be widened.
    """
    kind = np.dtype(np.float64 if step is exact else np.float32)
    right = np.ascontiguousarray(vectors.T, dtype=kind)
    result = np.empty((len(matrix), len(vectors)), dtype=kind)
    workers = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 16)
    edges = np.linspace(0, len(matrix), workers + 1).astype(int)
    with ThreadPoolExecutor(workers) as pool:
        parts = [pool.submit(_dots_of, matrix[i:j], right, result[i:j]) for i, j in pairwise(edges)]
    for part in parts:
        part.result()
    return np.ascontiguousarray(result.T, dtype=np.float64)


def _dots_of(matrix: NDArray[np.float32], right: Array, result: Array) -> None:
    """``matrix @ right`` into ``result``, in pieces that BLAS multiplies on the calling thread.

    The threads of OpenBLAS wait for each other by spinning: where other processes use the cores too, as compilers do
    here, one call then takes many times as long. It runs products of up to 2**18 multiplications on one thread.
    """
    columns, count = right.shape
    block = max(1, min(columns, _ONE_THREAD // (_CHUNK_ROWS * count)))
    blocks = columns // block
    whole = blocks * block
    blocked = right[:whole].reshape(blocks, block, count)
    wide = np.empty((_CHUNK_ROWS, columns), dtype=right.dtype)
    for start in range(0, len(matrix), _CHUNK_ROWS):
        rows = matrix[start : start + _CHUNK_ROWS]
        if right.dtype != rows.dtype:
            np.copyto(wide[: len(rows)], rows)
            rows = wide[: len(rows)]
        products = rows[:, :whole].reshape(len(rows), blocks, block).transpose(1, 0, 2) @ blocked
        np.sum(products, axis=0, out=result[start : start + len(rows)])
        if whole < columns:
            result[start : start + len(rows)] += rows[:, whole:] @ right[whole:]


def rms_norm(values: Float64, weight: Array | float, step: Step) -> Float64:
    """``values * rsqrt(mean(values**2) + EPSILON) * weight`` over the last axis, stored by ``step``."""
    mean = np.mean(values * values, axis=-1, keepdims=True)
    return step(values / np.sqrt(mean + EPSILON) * weight)


def gelu_tanh(values: Float64) -> Float64:
    """The tanh approximation of GELU (Hendrycks and Gimpel, 2016): 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    inner = np.sqrt(2.0 / np.pi) * (values + 0.044715 * values**3)
    result: Float64 = 0.5 * values * (1.0 + np.tanh(inner))
    return result


def rotate(values: Float64, cosines: Float64, sines: Float64) -> Float64:
    """Rotary position embedding in its rotate-half form, over the last axis: x cos + (-x2, x1) sin.

    ``values`` is [..., D] with halves x1, x2; ``cosines`` and ``sines`` broadcast against it.
    """
    first, second = np.split(values, 2, axis=-1)
    result: Float64 = values * cosines + np.concatenate([-second, first], axis=-1) * sines
    return result


def rope_tables(positions: int, width: int, theta: float) -> tuple[Float64, Float64]:
    """Cosines and sines [positions, width], rounded to bf16: angle = position * theta**(-2i/width), once per half."""
    frequencies = theta ** (-2.0 * np.arange(width // 2) / width)
    angles = np.outer(np.arange(positions, dtype=np.float64), frequencies)
    cosines, sines = round_bf16(np.cos(angles)), round_bf16(np.sin(angles))
    return np.concatenate([cosines, cosines], axis=-1), np.concatenate([sines, sines], axis=-1)


def roll_rows(values: Float64, offsets: list[int]) -> Float64:
    """``values`` [n, rows] with row ``i`` rotated forward by ``offsets[i]``, as ``np.roll`` does."""
    return np.stack([np.roll(row, offset) for row, offset in zip(values, offsets, strict=True)])
