"""The gated feed-forward block of a decoder layer with its norms, residual and layer scalar, for one decoded token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arithmetic import Step, dots, exact, gelu_tanh, rms_norm, roll_rows
from .draws import FAMILIES, activations, bf16, norm_weights, nvfp4_matrix
from .formats import GROUP, decode_bf16, decode_f8, dequantize_nvfp4, round_bf16
from .sources import baselines
from .spec import DTYPES, Argument, Call, Expected, Inputs, KernelSpec, Relation, Tolerance, weights_seed

NAME = "decoder_feedforward"
_SCALE_LEVELS = (32.0, 2.0, 2.0**-5)
"""Typical block scales, dealt to the three matrices at random: the last makes about half of them f8 subnormals."""

_LARGEST_F8 = 448.0


def spec() -> KernelSpec:
    """The kernel at the size of Gemma-4-12B: 99,532,800 bytes of values and scales."""
    return make(hidden=3840, intermediate=15360)


def tiny() -> KernelSpec:
    """The same kernel small enough for tests that build and run it many times."""
    return make(hidden=128, intermediate=256)


def make(*, hidden: int, intermediate: int) -> KernelSpec:
    """The kernel for given dimensions, both multiples of 16."""

    def matrix(name: str, rows: int, columns: int) -> tuple[Argument, ...]:
        return (
            Argument(name, "f4e2m1x2", (rows, columns // 2), role="weight"),
            Argument(f"{name}_scales", "f8e4m3", (rows, columns // GROUP), role="weight"),
            Argument(f"{name}_global", "f32", (), role="weight"),
        )

    def draw_weights(rng: np.random.Generator) -> Inputs:
        # The branch is smaller than the residual, as in a trained model. With these magnitudes bf16 intermediates stay
        # well within the tolerance.
        weights = {"w_pre": norm_weights(rng, hidden), "w_post": bf16(rng.uniform(0.25, 0.75, hidden))}
        levels = rng.permutation(_SCALE_LEVELS)
        sizes = {"gate": (intermediate, hidden), "up": (intermediate, hidden), "down": (hidden, intermediate)}
        for (name, (rows, columns)), level in zip(sizes.items(), levels, strict=True):
            drawn = nvfp4_matrix(rng, rows, columns, float(level))
            weights[name], weights[f"{name}_scales"], weights[f"{name}_global"] = drawn
        weights["layer_scalar"] = bf16(rng.uniform(0.2, 0.5))
        return weights

    def draw_activations(rng: np.random.Generator, family: str) -> Inputs:
        return {"residual": activations(rng, family, hidden, small=2e-4)}

    return KernelSpec(
        name=NAME,
        summary="RMSNorm, NVFP4 gate and up, gelu(gate) * up, NVFP4 down, RMSNorm, residual, layer scalar, in place",
        dimensions={"HIDDEN": hidden, "INTERMEDIATE": intermediate, "GROUP": GROUP},
        arguments=(
            Argument("residual", "bf16", (hidden,), "inout"),
            Argument("w_pre", "bf16", (hidden,), role="weight"),
            Argument("w_post", "bf16", (hidden,), role="weight"),
            *matrix("gate", intermediate, hidden),
            *matrix("up", intermediate, hidden),
            *matrix("down", hidden, intermediate),
            Argument("layer_scalar", "bf16", (), role="weight"),
        ),
        tolerance=Tolerance(absolute=0.01, relative=1e-2),
        reference=lambda inputs: _Engine(inputs).run([(0, inputs)], rounded=False)[0],
        rounded=lambda inputs: _Engine(inputs).run([(0, inputs)], rounded=True)[0],
        draw_weights=draw_weights,
        draw_activations=draw_activations,
        families=FAMILIES,
        baselines=baselines(NAME),
        streamed=("gate", "gate_scales", "up", "up_scales", "down", "down_scales"),
        vary_weights=_vary,
        prepare=_Engine,
        relations=(
            Relation("negative layer scalar negates the result", _negate_scalar, _negated),
            Relation("twice the block scales, half the global scale", _move_scale, lambda _inputs, outputs: outputs),
            Relation("permuted inner rows", _permute_inner, lambda _inputs, outputs: outputs),
        ),
    )


def _offsets(weights: Inputs, copy: int) -> tuple[int, int]:
    """How far copy ``copy`` rotates the rows of gate and up (together), and those of down; copy 0 not at all."""
    if copy == 0:
        return 0, 0
    rng = np.random.default_rng([weights_seed({"down_scales": weights["down_scales"]}), copy])
    return int(rng.integers(1, len(weights["gate"]))), int(rng.integers(1, len(weights["down"])))


def _vary(weights: Inputs, copy: int) -> Inputs:
    """A copy whose matrices have their rows rotated, each row with its block scales.

    The rows of ``down`` then meet the inner vector in another order, so that the copies compute different functions.
    """
    inner, outer = _offsets(weights, copy)
    varied = dict(weights)
    for name, offset in (("gate", inner), ("up", inner), ("down", outer)):
        varied[name] = np.roll(weights[name], offset, axis=0)
        varied[f"{name}_scales"] = np.roll(weights[f"{name}_scales"], offset, axis=0)
    return varied


class _Engine:
    """Many calls at once. Holds values times block scales of copy 0 in f32 (exact): 708 MB at full size."""

    def __init__(self, weights: Inputs) -> None:
        self.weights = weights
        self.matrices = {m: dequantize_nvfp4(weights[m], weights[f"{m}_scales"]) for m in ("gate", "up", "down")}
        self.globals = {m: float(weights[f"{m}_global"]) for m in ("gate", "up", "down")}

    def run(self, calls: Sequence[Call], rounded: bool) -> list[Expected]:
        """``residual`` [HIDDEN] of each call."""
        step: Step = round_bf16 if rounded else exact
        offsets = [_offsets(self.weights, copy) for copy, _ in calls]
        residual = np.stack([decode_bf16(inputs["residual"]) for _, inputs in calls])
        normed = rms_norm(residual, decode_bf16(self.weights["w_pre"]), step)
        gate = step(dots(self.matrices["gate"], normed, step) * self.globals["gate"])
        up = step(dots(self.matrices["up"], normed, step) * self.globals["up"])
        inner = roll_rows(step(step(gelu_tanh(gate)) * up), [offset for offset, _ in offsets])
        rows = step(dots(self.matrices["down"], inner, step) * self.globals["down"])
        down = roll_rows(rows, [offset for _, offset in offsets])
        total = step(residual + rms_norm(down, decode_bf16(self.weights["w_post"]), step))
        scaled = total * decode_bf16(self.weights["layer_scalar"])
        return [{"residual": row} for row in scaled]

    def slack(self, calls: Sequence[Call]) -> list[Expected]:
        """Nothing: the operands of every sum are rounded to bf16, which costs more than an f32 sum can."""
        return [{} for _ in calls]


def _negate_scalar(inputs: Inputs) -> Inputs:
    return {**inputs, "layer_scalar": -inputs["layer_scalar"]}


def _negated(_inputs: Inputs, outputs: Inputs) -> Expected:
    return {"residual": -decode_bf16(outputs["residual"])}


def _move_scale(inputs: Inputs) -> Inputs | None:
    """Exact in f8: it also turns subnormal scales into normal ones. Not where a scale has no double."""
    changed = dict(inputs)
    for name in ("gate", "up", "down"):
        doubled = 2.0 * decode_f8(inputs[f"{name}_scales"])
        if doubled.max() > _LARGEST_F8:
            return None
        changed[f"{name}_scales"] = doubled.astype(DTYPES["f8e4m3"])
        changed[f"{name}_global"] = np.asarray(inputs[f"{name}_global"] * np.float32(0.5))
    return changed


def _permute_inner(inputs: Inputs) -> Inputs:
    """Reverse the order of whole groups of inner elements, in gate, up and the columns of down."""
    changed = dict(inputs)
    for name in ("gate", "gate_scales", "up", "up_scales"):
        rows = inputs[name].shape[0]
        changed[name] = inputs[name].reshape(rows // GROUP, GROUP, -1)[::-1].reshape(inputs[name].shape)
    down, scales = inputs["down"], inputs["down_scales"]
    changed["down"] = down.reshape(len(down), -1, GROUP // 2)[:, ::-1].reshape(down.shape)
    changed["down_scales"] = np.ascontiguousarray(scales[:, ::-1])
    return changed
