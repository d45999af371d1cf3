"""The levers of TCL on RNGD: what can be varied in a design, and which bottleneck each one addresses."""

from __future__ import annotations

from collections.abc import Mapping

from ..space import Lever

ENGINE_SAYS: Mapping[tuple[str, str], str] = {
    ("f8", "vector"): "the vector engine multiplies f8 weights, widened as they are read, with the activation in f32",
    (
        "f8",
        "halves",
    ): "the contraction engine multiplies f8 weights with the activation as two f8 vectors that sum to it",
    ("f8", "widen"): "the vector engine widens f8 weights to bf16, and the contraction engine multiplies them",
    (
        "f4",
        "vector",
    ): "the vector engine multiplies NVFP4 values with the activation and their block scales in one pass",
    ("f4", "widen"): "the vector engine makes bf16 of NVFP4 values and scales, and the contraction engine multiplies",
}
_PARTS = "rows in parts let one part be worked on while the next is moved in"
_COMMON = (
    Lever("chunks", (1, 2, 4, 8), "latency", _PARTS, grows=True),
    Lever("norm", ("one", "two"), "overhead", "a norm in one pass, or its sum of squares in a pass of its own"),
)
_STREAM = "which operand of a pass of the vector engine is the one that streams"
_HALVES = "the halves of an activation as two rows of a result, or summed in the contraction"
_SCALE = "the scales of rows in the pass of the product, or in one of their own"
_ROW_AXIS = "rows as one axis, or split in two, which changes how they are laid over the slices"
_F8 = (
    Lever("stream", ("activation", "weights"), "decode", _STREAM),
    Lever("halves", ("apart", "together"), "decode", _HALVES),
    Lever("scale", ("epilogue", "apart"), "overhead", _SCALE),
    Lever("row_axis", (0, 256, 512, 64), "decode", _ROW_AXIS),
    Lever("between", ("f32", "bf16"), "memory", "the type in which a product is kept before its norm"),
)
_OWN: Mapping[str, tuple[Lever, ...]] = {
    "sliding_project_qkv": (
        Lever("order", ("qkv", "kvq", "vkq", "kqv"), "latency", "in which order the three projections are written"),
        Lever("rotary", ("whole", "half"), "overhead", "rotary embedding on whole heads, or on each half of them"),
    ),
    "sliding_attention_output": (
        Lever(
            "residual", ("fused", "apart"), "overhead", "the residual is added in the norm's pass, or in one of its own"
        ),
    ),
    "decoder_feedforward": (
        Lever("down_chunks", (1, 2, 4, 8), "latency", "the same as chunks, for the last matrix", grows=True),
    ),
}
KERNELS = tuple(_OWN)
"""Kernels that the playbook writes TCL for."""


def weight_format(kernel: str) -> str:
    """``f8`` or ``f4``: what the kernel's matrices hold."""
    return "f4" if kernel == "decoder_feedforward" else "f8"


def levers(kernel: str) -> tuple[Lever, ...]:
    """The levers of a kernel. Raises KeyError for one that there is no TCL for."""
    form = weight_format(kernel)
    engines = tuple(engine for known, engine in ENGINE_SAYS if known == form)
    engine = Lever("engine", engines, "decode", "which engine multiplies, and in which type", structural=True)
    return (engine, *_COMMON, *(_F8 if form == "f8" else ()), *_OWN[kernel])
