"""Query, key and value projections of a sliding-window attention layer, for one decoded token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from .arithmetic import Float64, Step, dots, exact, rms_norm, roll_rows, rope_tables, rotate
from .draws import FAMILIES, activations, bf16, cache, f8_matrix, norm_weights, positions
from .formats import GROUP, decode_bf16, decode_f8, round_bf16
from .sources import baselines
from .spec import Argument, Array, Call, Expected, Index, Inputs, KernelSpec, Relation, Tolerance, weights_seed

NAME = "sliding_project_qkv"
THETA = 1e4
"""Base of the rotary frequencies in the sliding-window layers of the model."""


def spec() -> KernelSpec:
    """The kernel at the size of Gemma-4-12B: 31,473,664 bytes of weights and scales."""
    return make(hidden=3840, heads=16, kv_heads=8, head_dim=256, window=1024, positions=32768)


def tiny() -> KernelSpec:
    """The same kernel small enough for tests that build and run it many times."""
    return make(hidden=128, heads=4, kv_heads=2, head_dim=32, window=8, positions=64)


def make(*, hidden: int, heads: int, kv_heads: int, head_dim: int, window: int, positions: int) -> KernelSpec:
    """The kernel for given dimensions. ``hidden`` must be a multiple of 16 and ``head_dim`` even."""
    shape = _Shape(hidden, heads, kv_heads, head_dim, window, positions)
    q_rows, kv_rows = heads * head_dim, kv_heads * head_dim
    return KernelSpec(
        name=NAME,
        summary="RMSNorm, f8 projections to q, k, v, per-head RMSNorm, RoPE; k and v go into ring caches",
        dimensions={
            "HIDDEN": hidden,
            "HEADS": heads,
            "KV_HEADS": kv_heads,
            "HEAD_DIM": head_dim,
            "WINDOW": window,
            "POSITIONS": positions,
            "GROUP": GROUP,
        },
        arguments=(
            Argument("x", "bf16", (hidden,)),
            Argument("w_in", "bf16", (hidden,), role="weight"),
            Argument("w_q", "f8e4m3", (q_rows, hidden), role="weight"),
            Argument("s_q", "bf16", (q_rows,), role="weight"),
            Argument("w_k", "f8e4m3", (kv_rows, hidden), role="weight"),
            Argument("s_k", "bf16", (kv_rows,), role="weight"),
            Argument("w_v", "f8e4m3", (kv_rows, hidden), role="weight"),
            Argument("s_v", "bf16", (kv_rows,), role="weight"),
            Argument("q_norm", "bf16", (head_dim,), role="weight"),
            Argument("k_norm", "bf16", (head_dim,), role="weight"),
            Argument("cos", "bf16", (positions, head_dim), role="table"),
            Argument("sin", "bf16", (positions, head_dim), role="table"),
            Argument("position", "i32", ()),
            Argument("k_cache", "bf16", (window, kv_heads, head_dim), "inout", "state"),
            Argument("v_cache", "bf16", (window, kv_heads, head_dim), "inout", "state"),
            Argument("q", "bf16", (heads, head_dim), "out"),
        ),
        tolerance=Tolerance(absolute=0.04, relative=1e-2),
        reference=lambda inputs: _single(shape, inputs, rounded=False),
        rounded=lambda inputs: _single(shape, inputs, rounded=True),
        draw_weights=shape.draw_weights,
        draw_activations=shape.draw_activations,
        families=FAMILIES,
        baselines=baselines(NAME),
        streamed=("w_q", "s_q", "w_k", "s_k", "w_v", "s_v"),
        written=shape.written,
        vary_weights=_vary,
        prepare=lambda weights: _Engine(shape, weights),
        relations=(
            Relation(
                "queries do not depend on the caches", _clear_caches, lambda _inputs, outputs: {"q": outputs["q"]}
            ),
            Relation("negated input negates every result", _negate, _negated),
        ),
    )


class _Shape:
    """The dimensions, and what can be drawn from them."""

    def __init__(self, hidden: int, heads: int, kv_heads: int, head_dim: int, window: int, positions: int) -> None:
        self.hidden, self.heads, self.kv_heads, self.head_dim = hidden, heads, kv_heads, head_dim
        self.window, self.positions = window, positions

    def draw_weights(self, rng: np.random.Generator) -> Inputs:
        """Matrices, scales, norm weights and RoPE tables."""
        w_q, s_q = f8_matrix(rng, self.heads * self.head_dim, self.hidden)
        w_k, s_k = f8_matrix(rng, self.kv_heads * self.head_dim, self.hidden)
        w_v, s_v = f8_matrix(rng, self.kv_heads * self.head_dim, self.hidden)
        cos, sin = _tables(self.positions, self.head_dim)
        return {
            "w_in": norm_weights(rng, self.hidden),
            "w_q": w_q,
            "s_q": s_q,
            "w_k": w_k,
            "s_k": s_k,
            "w_v": w_v,
            "s_v": s_v,
            "q_norm": norm_weights(rng, self.head_dim),
            "k_norm": norm_weights(rng, self.head_dim),
            "cos": cos,
            "sin": sin,
        }

    def draw_activations(self, rng: np.random.Generator, family: str) -> Inputs:
        """The input vector, the position and the caches as earlier tokens left them."""
        ring = (self.window, self.kv_heads, self.head_dim)
        # Per-head norms hide any factor common to a head. With so small an input both epsilons show: that of the input's
        # norm makes the heads small, so that those of their own norms count.
        return {
            "x": activations(rng, family, self.hidden, small=1e-6),
            "position": positions(rng, family, self.window, self.positions),
            "k_cache": cache(rng, ring),
            "v_cache": cache(rng, ring),
        }

    def written(self, inputs: Inputs) -> dict[str, Index]:
        """One slot of each ring."""
        slot = int(inputs["position"]) % self.window
        return {"k_cache": (slot,), "v_cache": (slot,)}


@lru_cache(maxsize=4)
def _tables(positions: int, head_dim: int) -> tuple[Array, Array]:
    cos, sin = (bf16(table) for table in rope_tables(positions, head_dim, THETA))
    cos.flags.writeable = sin.flags.writeable = False  # shared by every draw
    return cos, sin


def _offsets(weights: Inputs, copy: int) -> dict[str, int]:
    """How far copy ``copy`` rotates the rows of each matrix; copy 0 not at all."""
    if copy == 0:
        return {"q": 0, "k": 0, "v": 0}
    rng = np.random.default_rng([weights_seed({"s_q": weights["s_q"]}), copy])
    return {name: int(rng.integers(1, len(weights[f"s_{name}"]))) for name in ("q", "k", "v")}


def _vary(weights: Inputs, copy: int) -> Inputs:
    """A copy whose matrices have their rows rotated, each row with its scale."""
    varied = dict(weights)
    for name, offset in _offsets(weights, copy).items():
        for prefix in ("w", "s"):
            rolled = np.roll(weights[f"{prefix}_{name}"], offset, axis=0)
            varied[f"{prefix}_{name}"] = rolled
    return varied


class _Engine:
    """Many calls at once. Holds the three matrices of copy 0 in f32 (exact): 126 MB at full size."""

    def __init__(self, shape: _Shape, weights: Inputs) -> None:
        self.shape, self.weights = shape, weights
        self.matrices = {name: decode_f8(weights[f"w_{name}"]) for name in ("q", "k", "v")}
        self.scales = {name: decode_bf16(weights[f"s_{name}"]) for name in ("q", "k", "v")}

    def run(self, calls: Sequence[Call], rounded: bool) -> list[Expected]:
        """The written slots of ``k_cache``, ``v_cache`` [KV_HEADS, HEAD_DIM] and ``q`` [HEADS, HEAD_DIM], for each call."""
        step: Step = round_bf16 if rounded else exact
        x = np.stack([decode_bf16(inputs["x"]) for _, inputs in calls])
        hidden = rms_norm(x, decode_bf16(self.weights["w_in"]), step)
        offsets = [_offsets(self.weights, copy) for copy, _ in calls]
        position = [int(inputs["position"]) for _, inputs in calls]
        cosines = decode_bf16(self.weights["cos"][position])[:, None, :]
        sines = decode_bf16(self.weights["sin"][position])[:, None, :]

        def heads(name: str) -> Float64:
            rows = dots(self.matrices[name], hidden, step) * self.scales[name]
            rolled = roll_rows(step(rows), [offset[name] for offset in offsets])
            return rolled.reshape(len(calls), -1, self.shape.head_dim)

        q = rotate(rms_norm(heads("q"), decode_bf16(self.weights["q_norm"]), step), cosines, sines)
        k = rotate(rms_norm(heads("k"), decode_bf16(self.weights["k_norm"]), step), cosines, sines)
        v = rms_norm(heads("v"), 1.0, exact)  # stored at once, so that there is no intermediate to round
        return [{"k_cache": k[i], "v_cache": v[i], "q": q[i]} for i in range(len(calls))]

    def slack(self, calls: Sequence[Call]) -> list[Expected]:
        """Nothing: an operand of every sum is rounded to bf16, which costs more than an f32 sum can."""
        return [{} for _ in calls]


def _single(shape: _Shape, inputs: Inputs, rounded: bool) -> Expected:
    """One call: ``q``, and both caches as a whole."""
    (written,) = _Engine(shape, inputs).run([(0, inputs)], rounded)
    slot = int(inputs["position"]) % shape.window
    caches = {}
    for name in ("k_cache", "v_cache"):
        caches[name] = decode_bf16(inputs[name])
        caches[name][slot] = written[name]
    return {**caches, "q": written["q"]}


def _clear_caches(inputs: Inputs) -> Inputs:
    return {**inputs, "k_cache": np.zeros_like(inputs["k_cache"]), "v_cache": np.zeros_like(inputs["v_cache"])}


def _negate(inputs: Inputs) -> Inputs:
    return {**inputs, "x": -inputs["x"]}


def _negated(inputs: Inputs, outputs: Inputs) -> Expected:
    slot = int(inputs["position"]) % len(outputs["k_cache"])
    changed = {"q": -decode_bf16(outputs["q"])}
    for name in ("k_cache", "v_cache"):
        changed[name] = decode_bf16(outputs[name])
        changed[name][slot] *= -1
    return changed
