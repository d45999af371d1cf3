"""How large the error of a right kernel can be.

The bound of one dot product follows the probabilistic analysis of Higham and Mary, "A New Approach to Probabilistic
Rounding Error Analysis", SIAM J. Sci. Comput. 41(5), 2019: the error of a sum of K terms grows as sqrt(K), not as K,
whatever the order of summation, here with a factor of 4 that makes the bound fail with negligible probability.
"""

from __future__ import annotations

import numpy as np

from .arithmetic import EPSILON, Float64
from .formats import SMALLEST, UNIT_ROUNDOFF


def accumulation_bound(magnitudes: Float64, terms: int, accumulator: str = "f32") -> Float64:
    """Absolute error that summing may cause: ``4 * sqrt(terms) * u_acc * magnitudes``.

    ``magnitudes`` are the sums of ``|x||y|``, or an upper bound of them such as the product of the norms; any shape.
    """
    bound: Float64 = 4.0 * np.sqrt(terms) * UNIT_ROUNDOFF[accumulator] * magnitudes
    return bound


def dot_error_bound(
    result: Float64, magnitudes: Float64, terms: int, *, accumulator: str = "f32", output: str = "bf16"
) -> Float64:
    """Absolute error allowed for dot products of ``terms`` exact operands, of the shape of ``result``.

    ``4 * sqrt(K) * u_acc * sum|x||y| + u_out * |y| + tiny``: the sum, the rounding of the result to ``output``, and the
    smallest number of that type. ``magnitudes`` are the sums of ``|x||y|``.
    """
    rounding = UNIT_ROUNDOFF[output] * np.abs(result) + SMALLEST[output]
    return accumulation_bound(magnitudes, terms, accumulator) + rounding


def through_rms_norm(values: Float64, bounds: Float64, weight: Float64 | float) -> Float64:
    """What absolute errors ``bounds`` of ``values`` become after an RMSNorm over the last axis, to first order.

    An element passes on its own error times ``weight / rms``, and errs with the RMS, which all elements share:
    d(x / r) = dx / r - x * mean(x dx) / r**3.
    """
    inverse = 1.0 / np.sqrt(np.mean(values * values, axis=-1, keepdims=True) + EPSILON)
    # Errors of different elements are independent, so that those in the mean add up as the root of squares.
    shared = np.sqrt(np.sum((values * bounds) ** 2, axis=-1, keepdims=True)) / values.shape[-1]
    result: Float64 = np.abs(weight) * inverse * (bounds + np.abs(values) * shared * inverse**2)
    return result
