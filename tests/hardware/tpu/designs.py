"""Small designs that the tests of this folder build: sources over one spec, so that a compilation takes a second."""

from __future__ import annotations

import numpy as np
from kernelwright.kernels.spec import Argument, Expected, Inputs, KernelSpec, Relation, Tolerance

ROWS, COLUMNS = 64, 512
HEAD = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""
DOUBLE = (
    HEAD
    + """
def kernel(x, w, y):
    y[...] = x[...] * w[...]

def scale(x, w):
    return pl.pallas_call(
        kernel,
        grid=(ROWS // 16,),
        in_specs=[pl.BlockSpec((16, COLUMNS), lambda i: (i, 0)), pl.BlockSpec((1, COLUMNS), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((16, COLUMNS), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32),
    )(x, w.reshape(1, COLUMNS))
"""
)
"""A right design: four steps."""


def _times(inputs: Inputs) -> Expected:
    return {"y": inputs["x"].astype(np.float64) * inputs["w"].astype(np.float64)}


def scale_spec() -> KernelSpec:
    """``y = x * w``: f32 [ROWS, COLUMNS] and a row of weights."""
    return KernelSpec(
        name="scale",
        summary="each row times a weight",
        dimensions={"ROWS": ROWS, "COLUMNS": COLUMNS},
        arguments=(
            Argument("x", "f32", (ROWS, COLUMNS)),
            Argument("w", "f32", (COLUMNS,), role="weight"),
            Argument("y", "f32", (ROWS, COLUMNS), "out"),
        ),
        tolerance=Tolerance(1e-5, 1e-5),
        reference=_times,
        rounded=_times,
        draw_weights=lambda rng: {"w": rng.uniform(0.5, 2.0, COLUMNS).astype(np.float32)},
        draw_activations=lambda rng, _family: {"x": rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)},
        families=("normal", "again"),
        relations=(Relation("zero gives zero", _clear, _cleared),),
        streamed=("w",),
    )


def _clear(inputs: Inputs) -> Inputs:
    return {**inputs, "x": np.zeros_like(inputs["x"])}


def _cleared(inputs: Inputs, _outputs: Inputs) -> Expected:
    return {"y": np.zeros(inputs["x"].shape)}
