"""The kernel that short pieces of a target's language stand in for when documentation is checked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..kernels.spec import Argument, Expected, Inputs, KernelSpec, Tolerance


def _double(inputs: Inputs) -> Expected:
    return {"y": 2.0 * inputs["x"].astype(np.float64)}


def snippet_kernel(entry: str, dimension: str, length: int, baselines: Mapping[str, str] | None = None) -> KernelSpec:
    """The kernel ``entry``: y[length] from x[length], float32, both of ``dimension``; its own values are y = 2 x."""
    return KernelSpec(
        name=entry,
        summary="a snippet of documentation: y from x",
        dimensions={dimension: length},
        arguments=(Argument("x", "f32", (length,)), Argument("y", "f32", (length,), "out")),
        tolerance=Tolerance(1e-5, 1e-5),
        reference=_double,
        rounded=_double,
        draw_weights=lambda _rng: {},
        draw_activations=lambda rng, _family: {"x": rng.uniform(0.5, 2.0, length).astype(np.float32)},
        families=("ordinary",),
        baselines=baselines or {},
    )
