"""A small kernel for tests of targets: ``y = W x`` and ``h += y``, with every role that an argument can have."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.bench import BenchSettings
from kernelwright.hardware.cpu.floor import compile_trusted
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import Build
from kernelwright.kernels.formats import round_bf16
from kernelwright.kernels.spec import DTYPES, Argument, Expected, Inputs, KernelSpec, Tolerance

ROWS, COLUMNS, PAST = 48, 64, 40
SETTINGS = BenchSettings(max_calls=4, pool=12, call_seconds=1.0, max_copies=3)
"""A bench that is set up quickly, and that gives up on a call after a second."""

RIGHT = """#include "kernel.h"
static inline float widen(uint16_t v) { union { uint32_t u; float f; } x = { (uint32_t)v << 16 }; return x.f; }
static inline uint16_t narrow(float f) {
  union { float f; uint32_t u; } x = { f };
  return (uint16_t)((x.u + 0x7fff + ((x.u >> 16) & 1)) >> 16);
}
void toy(const float *restrict w, const float *restrict x, const int32_t *restrict at, uint16_t *restrict past,
         uint16_t *restrict h, uint16_t *restrict y) {
#pragma omp parallel for
  for (int r = 0; r < ROWS; r++) {
    float sum = 0;
    for (int c = 0; c < COLUMNS; c++) sum += w[r * COLUMNS + c] * x[c];
    y[r] = narrow(sum);
    h[r] = narrow(widen(h[r]) + sum);
    past[*at * ROWS + r] = y[r];
  }
}
"""
"""A right design for :func:`toy`."""


def _bf16(values: Any) -> Any:
    return np.asarray(values).astype(DTYPES["bf16"])


def toy() -> KernelSpec:
    """The spec: weight ``w`` f32, activations ``x`` f32 and ``at`` i32, state ``past``, inout ``h`` and out ``y`` bf16."""

    def reference(inputs: Inputs) -> Expected:
        y = inputs["w"].astype(np.float64) @ inputs["x"].astype(np.float64)
        past = inputs["past"].astype(np.float64)
        past[int(inputs["at"])] = y
        return {"past": past, "h": inputs["h"].astype(np.float64) + y, "y": y}

    def weights(rng: np.random.Generator) -> Inputs:
        return {"w": rng.standard_normal((ROWS, COLUMNS)).astype(np.float32) / 8}

    def activations(rng: np.random.Generator, family: str) -> Inputs:
        scale = {"normal": 1.0, "small": 0.01}[family]
        return {
            "x": (scale * rng.standard_normal(COLUMNS)).astype(np.float32),
            "at": np.asarray(rng.integers(0, PAST), dtype=np.int32),
            "past": _bf16(rng.standard_normal((PAST, ROWS))),
            "h": _bf16(scale * rng.standard_normal(ROWS)),
        }

    return KernelSpec(
        name="toy",
        summary="a matrix times a vector, added to another",
        dimensions={"rows": ROWS, "columns": COLUMNS, "past_rows": PAST},
        arguments=(
            Argument("w", "f32", (ROWS, COLUMNS), role="weight"),
            Argument("x", "f32", (COLUMNS,)),
            Argument("at", "i32", ()),
            Argument("past", "bf16", (PAST, ROWS), "inout", "state"),
            Argument("h", "bf16", (ROWS,), "inout"),
            Argument("y", "bf16", (ROWS,), "out"),
        ),
        tolerance=Tolerance(0.05, 0.02),
        reference=reference,
        rounded=lambda inputs: {name: round_bf16(value) for name, value in reference(inputs).items()},
        draw_weights=weights,
        draw_activations=activations,
        families=("normal", "small"),
        baselines={"cpu": RIGHT},
        streamed=("w",),
        written=lambda inputs: {"past": (int(inputs["at"]),)},
    )


def unscreened_build(target: CpuTarget, source: str, folder: Path) -> Build:
    """An artifact that no check has seen, to test what lies behind them."""
    content = compile_trusted(target.compiler, toy(), source)
    path = folder / "kernel.so"
    path.write_bytes(content)
    return Build(Outcome.OK, hashlib.sha256(content).hexdigest(), path, "", 0.0)
