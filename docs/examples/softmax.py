"""A kernel of your own in one file: the softmax of every row of a large bf16 matrix.

    kernelwright run --kernel-file docs/examples/softmax.py

It needs nothing from the package but the spec classes. There are no weights here: the matrix has the role ``weight``
because, like weights, it is read once from memory at each call and another one comes with the next call.
"""

from __future__ import annotations

import numpy as np
from kernelwright.kernels.formats import decode_bf16, round_bf16
from kernelwright.kernels.spec import Argument, Expected, Inputs, KernelSpec, Tolerance

BASELINE_C = """\
/* The softmax of every row, with the maximum taken out first so that no exponential overflows. */
#include "kernel.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline float bf16_to_float(uint16_t value)
{
    uint32_t bits = (uint32_t)value << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

static inline uint16_t float_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void row_softmax(const uint16_t *restrict logits, const float *restrict temperature, uint16_t *restrict out)
{
#pragma omp parallel for
    for (size_t row = 0; row < ROWS; row++) {
        const uint16_t *in = logits + row * COLUMNS;
        float exponentials[COLUMNS];
        float largest = -INFINITY;
        for (size_t i = 0; i < COLUMNS; i++)
            largest = fmaxf(largest, bf16_to_float(in[i]));
        float sum = 0.0f;
        for (size_t i = 0; i < COLUMNS; i++) {
            exponentials[i] = expf((bf16_to_float(in[i]) - largest) / *temperature);
            sum += exponentials[i];
        }
        for (size_t i = 0; i < COLUMNS; i++)
            out[row * COLUMNS + i] = float_to_bf16(exponentials[i] / sum);
    }
}
"""


def spec(rows: int = 2048, columns: int = 1024) -> KernelSpec:
    """The kernel for a matrix of ``rows`` x ``columns``."""

    def softmax(inputs: Inputs, rounded: bool) -> Expected:
        scaled = decode_bf16(inputs["logits"]) / float(inputs["temperature"])
        # What a kernel that keeps its intermediates in bf16 would do: the yardstick for the error of any other.
        step = round_bf16 if rounded else np.asarray
        exponentials = step(np.exp(step(scaled - scaled.max(axis=-1, keepdims=True))))
        return {"out": exponentials / step(exponentials.sum(axis=-1, keepdims=True))}

    def draw_weights(rng: np.random.Generator) -> Inputs:
        logits = rng.standard_normal((rows, columns)) * rng.uniform(0.5, 4.0, (rows, 1))
        return {"logits": logits.astype(np.float32).astype(Argument("logits", "bf16", ()).storage)}

    def draw_activations(rng: np.random.Generator, family: str) -> Inputs:
        low, high = {"ordinary": (0.8, 1.25), "cold": (0.1, 0.2)}[family]
        return {"temperature": np.asarray(rng.uniform(low, high), dtype=np.float32)}

    return KernelSpec(
        name="row_softmax",
        summary="softmax of every row of a bf16 matrix, at a temperature",
        dimensions={"ROWS": rows, "COLUMNS": columns},
        arguments=(
            Argument("logits", "bf16", (rows, columns), role="weight"),
            Argument("temperature", "f32", ()),
            Argument("out", "bf16", (rows, columns), "out"),
        ),
        tolerance=Tolerance(absolute=1e-4, relative=2e-2),
        reference=lambda inputs: softmax(inputs, rounded=False),
        rounded=lambda inputs: softmax(inputs, rounded=True),
        draw_weights=draw_weights,
        draw_activations=draw_activations,
        families=("ordinary", "cold"),
        baselines={"cpu": BASELINE_C},
        streamed=("logits",),
    )
