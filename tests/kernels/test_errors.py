"""The bound of one dot product: right summations keep it, wrong ones break it."""

from __future__ import annotations

import numpy as np
import pytest
from kernelwright.kernels.errors import dot_error_bound, through_rms_norm
from kernelwright.kernels.formats import round_bf16

TERMS, ROWS = 3840, 64


def draw(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((ROWS, TERMS)), rng.standard_normal(TERMS)
    if kind == "positive":
        x, y = np.abs(x), np.abs(y)
    elif kind == "cancelling":  # each sum is far smaller than its terms
        x[:, 1::2] = x[:, 0::2]
        y[1::2] = -y[0::2]
        y[-1] += 1.0
    return round_bf16(x), round_bf16(y)


def summed(products: np.ndarray, dtype: str) -> np.ndarray:
    """Sums from left to right in f32 or bf16."""
    total = np.zeros(len(products))
    for column in products.T:
        exact = total + column
        total = round_bf16(exact) if dtype == "bf16" else exact.astype(np.float32).astype(np.float64)
    return total


@pytest.mark.parametrize("kind", ["normal", "positive", "cancelling"])
def test_f32_in_any_order_keeps_the_bound(kind: str) -> None:
    x, y = draw(1, kind)
    products = x * y
    truth, magnitudes = products.sum(axis=1), np.abs(products).sum(axis=1)
    bound = dot_error_bound(truth, magnitudes, TERMS)
    orders = [np.arange(TERMS), np.arange(TERMS)[::-1], np.random.default_rng(2).permutation(TERMS)]
    for order in orders:
        got = round_bf16(summed(products[:, order], "f32"))
        assert np.all(np.abs(got - truth) <= bound)


@pytest.mark.parametrize("kind", ["normal", "positive", "cancelling"])
def test_bf16_sums_break_the_bound(kind: str) -> None:
    x, y = draw(1, kind)
    products = x * y
    truth, magnitudes = products.sum(axis=1), np.abs(products).sum(axis=1)
    assert np.any(np.abs(summed(products, "bf16") - truth) > dot_error_bound(truth, magnitudes, TERMS))


def test_a_dropped_term_breaks_the_bound() -> None:
    x, y = draw(1, "normal")
    products = x * y
    truth, magnitudes = products.sum(axis=1), np.abs(products).sum(axis=1)
    got = round_bf16(products[:, :-1].sum(axis=1))
    assert np.mean(np.abs(got - truth) > dot_error_bound(truth, magnitudes, TERMS)) > 0.25


def test_errors_pass_through_a_norm_to_first_order() -> None:
    rng = np.random.default_rng(4)
    values, weight = rng.standard_normal(512), rng.uniform(0.5, 1.5, 512)

    def norm(v: np.ndarray) -> np.ndarray:
        return np.asarray(v / np.sqrt(np.mean(v * v) + 1e-6) * weight)

    bounds = np.full(512, 1e-7)
    allowed = through_rms_norm(values, bounds, weight)
    for _ in range(20):
        moved = norm(values + bounds * rng.choice([-1.0, 1.0], 512)) - norm(values)
        assert np.all(np.abs(moved) <= allowed * 1.5)
        assert np.abs(moved).max() >= allowed.max() / 4
