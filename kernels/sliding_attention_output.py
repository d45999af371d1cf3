"""Output projection of a sliding-window attention layer, its post-norm and the residual, for one decoded token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arithmetic import Float64, Step, dots, exact, rms_norm, roll_rows
from .draws import FAMILIES, activations, f8_matrix, norm_weights
from .errors import accumulation_bound, through_rms_norm
from .formats import GROUP, decode_bf16, decode_f8, round_bf16
from .sources import baselines
from .spec import Argument, Call, Expected, Inputs, KernelSpec, Relation, Tolerance, weights_seed

NAME = "sliding_attention_output"


def spec() -> KernelSpec:
    """The kernel at the size of Gemma-4-12B: 15,736,320 bytes of weights and scales."""
    return make(hidden=3840, heads=16, head_dim=256)


def tiny() -> KernelSpec:
    """The same kernel small enough for tests that build and run it many times."""
    return make(hidden=128, heads=4, head_dim=32)


def make(*, hidden: int, heads: int, head_dim: int) -> KernelSpec:
    """The kernel for given dimensions. ``heads * head_dim`` must be a multiple of 16."""
    columns = heads * head_dim

    def draw_weights(rng: np.random.Generator) -> Inputs:
        w_o, s_o = f8_matrix(rng, hidden, columns)
        return {"w_o": w_o, "s_o": s_o, "w_post": norm_weights(rng, hidden)}

    def draw_activations(rng: np.random.Generator, family: str) -> Inputs:
        ordinary = "normal" if family in ("positive", "cancellation") else family
        return {"a": activations(rng, family, columns), "residual": activations(rng, ordinary, hidden)}

    return KernelSpec(
        name=NAME,
        summary="f8 projection of the attention result, RMSNorm, added to the residual in place",
        dimensions={"HIDDEN": hidden, "HEADS": heads, "HEAD_DIM": head_dim, "GROUP": GROUP},
        arguments=(
            Argument("a", "bf16", (columns,)),
            Argument("w_o", "f8e4m3", (hidden, columns), role="weight"),
            Argument("s_o", "bf16", (hidden,), role="weight"),
            Argument("w_post", "bf16", (hidden,), role="weight"),
            Argument("residual", "bf16", (hidden,), "inout"),
        ),
        tolerance=Tolerance(absolute=0.05, relative=1e-2),
        reference=lambda inputs: _Engine(inputs).run([(0, inputs)], rounded=False)[0],
        rounded=lambda inputs: _Engine(inputs).run([(0, inputs)], rounded=True)[0],
        draw_weights=draw_weights,
        draw_activations=draw_activations,
        families=FAMILIES,
        baselines=baselines(NAME),
        streamed=("w_o", "s_o"),
        slack=lambda inputs: _Engine(inputs).slack([(0, inputs)])[0],
        vary_weights=_vary,
        prepare=_Engine,
        relations=(Relation("residual passes through", _clear_residual, _without_residual),),
    )


def _offset(weights: Inputs, copy: int) -> int:
    """How far copy ``copy`` rotates the rows; copy 0 not at all."""
    if copy == 0:
        return 0
    rng = np.random.default_rng([weights_seed({"s_o": weights["s_o"]}), copy])
    return int(rng.integers(1, len(weights["s_o"])))


def _vary(weights: Inputs, copy: int) -> Inputs:
    """A copy whose matrix has its rows rotated, each row with its scale."""
    offset = _offset(weights, copy)
    return {**weights, **{name: np.roll(weights[name], offset, axis=0) for name in ("w_o", "s_o")}}


class _Engine:
    """Many calls at once. Holds the matrix of copy 0 in f32 (exact): 63 MB at full size."""

    def __init__(self, weights: Inputs) -> None:
        self.weights = weights
        self.matrix = decode_f8(weights["w_o"])
        self.scales = decode_bf16(weights["s_o"])
        self.post = decode_bf16(weights["w_post"])
        self.row_norms = np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix, dtype=np.float64)) * self.scales

    def run(self, calls: Sequence[Call], rounded: bool) -> list[Expected]:
        """``residual`` [HIDDEN] of each call."""
        step: Step = round_bf16 if rounded else exact
        normed = rms_norm(self._projected(calls, step), self.post, step)
        residual = np.stack([decode_bf16(inputs["residual"]) for _, inputs in calls])
        return [{"residual": row} for row in residual + normed]

    def slack(self, calls: Sequence[Call]) -> list[Expected]:
        """Error of the f32 sums: their operands are exact, and where a sum cancels nothing else would allow for it.

        The sum of magnitudes is bounded by the product of the norms (Cauchy-Schwarz), which needs no second product.
        """
        a = np.stack([decode_bf16(inputs["a"]) for _, inputs in calls])
        norms = np.sqrt(np.sum(a * a, axis=-1, keepdims=True))
        bounds = accumulation_bound(norms * self.row_norms, a.shape[-1])
        rolled = roll_rows(bounds, [_offset(self.weights, copy) for copy, _ in calls])
        allowed = through_rms_norm(self._projected(calls, exact), rolled, self.post)
        return [{"residual": row} for row in allowed]

    def _projected(self, calls: Sequence[Call], step: Step) -> Float64:
        a = np.stack([decode_bf16(inputs["a"]) for _, inputs in calls])
        rows = step(dots(self.matrix, a, step) * self.scales)
        return roll_rows(rows, [_offset(self.weights, copy) for copy, _ in calls])


def _clear_residual(inputs: Inputs) -> Inputs:
    return {**inputs, "residual": np.zeros_like(inputs["residual"])}


def _without_residual(inputs: Inputs, outputs: Inputs) -> Expected:
    return {"residual": decode_bf16(outputs["residual"]) - decode_bf16(inputs["residual"])}
