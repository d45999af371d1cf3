"""RMSNorm of a few rows: a small kernel, quick to build and to check on every target that has a baseline for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arithmetic import Step, exact, rms_norm
from .draws import FAMILIES, activations, norm_weights
from .formats import decode_bf16, round_bf16
from .sources import baselines
from .spec import Argument, Call, Expected, Inputs, KernelSpec, Relation, Tolerance

NAME = "rms_norm"


def spec() -> KernelSpec:
    """Eight rows of the width of Gemma-4-12B: 7,680 bytes of weights."""
    return make(rows=8, hidden=3840)


def tiny() -> KernelSpec:
    """The same kernel smaller still."""
    return make(rows=8, hidden=256)


def make(*, rows: int, hidden: int) -> KernelSpec:
    """The kernel for given dimensions. ``hidden`` must be a multiple of 16."""

    def draw_activations(rng: np.random.Generator, family: str) -> Inputs:
        return {"x": np.stack([activations(rng, family, hidden) for _ in range(rows)])}

    return KernelSpec(
        name=NAME,
        summary="RMSNorm of each row, times a weight",
        dimensions={"ROWS": rows, "HIDDEN": hidden},
        arguments=(
            Argument("x", "bf16", (rows, hidden)),
            Argument("w", "bf16", (hidden,), role="weight"),
            Argument("y", "bf16", (rows, hidden), "out"),
        ),
        tolerance=Tolerance(absolute=0.02, relative=1e-2),
        reference=lambda inputs: _Engine(inputs).run([(0, inputs)], rounded=False)[0],
        rounded=lambda inputs: _Engine(inputs).run([(0, inputs)], rounded=True)[0],
        draw_weights=lambda rng: {"w": norm_weights(rng, hidden)},
        draw_activations=draw_activations,
        families=FAMILIES,
        baselines=baselines(NAME),
        streamed=("w",),
        relations=(Relation("negated input negates the result", _negate, _negated),),
    )


class _Engine:
    def __init__(self, weights: Inputs) -> None:
        self.weight = decode_bf16(weights["w"])

    def run(self, calls: Sequence[Call], rounded: bool) -> list[Expected]:
        """``y`` [ROWS, HIDDEN] of each call."""
        step: Step = round_bf16 if rounded else exact
        return [{"y": rms_norm(decode_bf16(inputs["x"]), self.weight, step)} for _, inputs in calls]


def _negate(inputs: Inputs) -> Inputs:
    return {**inputs, "x": -inputs["x"]}


def _negated(_inputs: Inputs, outputs: Inputs) -> Expected:
    return {"y": -decode_bf16(outputs["y"])}
