"""The three kernels in PyTorch, as a user of it would write them, in several forms. Needs torch.

A *form* says how a matrix meets the vector. ``linear`` makes a bf16 matrix of the weights and calls ``F.linear``. ``sum``
multiplies and sums element by element in f32, which only a compiler can fuse into one pass over the weights; ``shifts`` is
the same with a decoding made of shifts and masks, which compilers turn into vector instructions. ``kept`` calls
``F.linear`` on a matrix that was made beforehand, in bf16 or f32, so that the weights are two to eight times the bytes.

All forms hold exactly the same weights: every f8e4m3 value, and every product of an f4e2m1 value and its block scale, is
exact in bf16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch  # type: ignore[import-not-found]  # only in the environment of these programs
import torch.nn.functional as F  # type: ignore[import-not-found]  # noqa: N812  everyone's name for it

Tensor: TypeAlias = Any
"""A ``torch.Tensor``. The type checker's environment has no PyTorch."""
Tensors = Mapping[str, Tensor]
Kernel = Callable[[Tensors, Tensors], Tensors]
"""From prepared weights and the call's own arguments to the outputs; state and residual are updated in place."""

EPSILON = 1e-6
GROUP = 16
_BF16 = torch.bfloat16


def rms_norm(x: Tensor, weight: Tensor | None) -> Tensor:
    """RMSNorm over the last axis in f32, rounded to bf16."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON)
    return (wide if weight is None else wide * weight.float()).to(_BF16)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding, rotate-half, [heads, D] with tables [1, D]; f32 inside, bf16 out."""
    wide = x.float()
    first, second = wide.chunk(2, -1)
    return (wide * cos.float() + torch.cat((-second, first), -1) * sin.float()).to(_BF16)


# -- a matrix times a vector, in each form ----------------------------------------------------------------------------


def f8_linear(w: Tensors, name: str, x: Tensor) -> Tensor:
    """f8e4m3 to bf16 within the call, then ``F.linear``."""
    return F.linear(x, w[f"w_{name}"].to(_BF16)) * w[f"s_{name}"]


def f8_sum(w: Tensors, name: str, x: Tensor) -> Tensor:
    """Products and sums in f32, one pass when compiled."""
    return ((w[f"w_{name}"].float() * x.float()).sum(-1) * w[f"s_{name}"].float()).to(_BF16)


def f8_by_shifts(codes: Tensor) -> Tensor:
    """f32 values of f8e4m3 ``codes`` times 2**-120: sign, exponent and mantissa where f32 has them, subnormals too."""
    bits = codes.view(torch.uint8).int()
    return (((bits & 0x80) << 24) | ((bits & 0x7F) << 20)).view(torch.float32)


def f8_shifts(w: Tensors, name: str, x: Tensor) -> Tensor:
    """As ``sum``, decoded by shifts; most of the missing factor goes into x, which 2**120 could make overflow."""
    products = f8_by_shifts(w[f"w_{name}"]) * (x.float() * 2.0**100)
    return (products.sum(-1) * (w[f"s_{name}"].float() * 2.0**20)).to(_BF16)


def f8_kept(w: Tensors, name: str, x: Tensor) -> Tensor:
    """A matrix made beforehand."""
    kept = w[f"kept_{name}"]
    return (F.linear(x.to(kept.dtype), kept) * w[f"s_{name}"]).to(_BF16)


def f4_pairs() -> Tensor:
    """bf16 [256, 2]: both values of each packed byte, the low nibble's first."""
    values = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    values = torch.cat((values, -values))
    code = torch.arange(256)
    return torch.stack((values[code & 15], values[code >> 4]), -1).to(_BF16)


def dequantize(packed: Tensor, scales: Tensor, pairs: Tensor) -> Tensor:
    """NVFP4 to bf16 [rows, columns] without the global scale: a table look-up for each byte, times block scales."""
    rows, half = packed.shape
    values = F.embedding(packed.int(), pairs).view(rows, 2 * half // GROUP, GROUP)
    return (values * scales.to(_BF16).unsqueeze(-1)).view(rows, 2 * half)


def f4_linear(w: Tensors, name: str, x: Tensor) -> Tensor:
    """NVFP4 to bf16 within the call, then ``F.linear``."""
    matrix = dequantize(w[name], w[f"{name}_scales"], w["pairs"])
    return F.linear(x, matrix) * w[f"{name}_global"].to(_BF16)


def _nibble(code: Tensor) -> Tensor:
    """The f32 value of f4e2m1 codes without a table: arithmetic that a compiler can put into vector registers."""
    size = (code & 7).float()
    size = torch.where(size <= 4, size * 0.5, torch.where(size > 6, 6.0, size - 2.0))
    return torch.where(code > 7, -size, size)


def f4_sum(w: Tensors, name: str, x: Tensor) -> Tensor:
    """Products and sums in f32, one pass when compiled; even and odd columns apart, as the nibbles are."""
    packed, scales = w[name], w[f"{name}_scales"]
    rows, half = packed.shape
    even, odd = x.float().view(-1, 2).unbind(-1)
    products = _nibble(packed & 15) * even + _nibble(packed >> 4) * odd
    blocks = products.view(rows, 2 * half // GROUP, GROUP // 2) * scales.float().unsqueeze(-1)
    return (blocks.sum((1, 2)) * w[f"{name}_global"]).to(_BF16)


def _nibble_by_shifts(code: Tensor) -> Tensor:
    """f32 values of f4e2m1 codes times 2**-126, as in :func:`f8_by_shifts`."""
    bits = code.int()
    return (((bits & 8) << 28) | ((bits & 7) << 22)).view(torch.float32)


def f4_shifts(w: Tensors, name: str, x: Tensor) -> Tensor:
    """As ``sum``, decoded by shifts; the missing factor goes into x, the scales and, the last 2**26, the global scale."""
    packed, scales = w[name], w[f"{name}_scales"]
    rows, half = packed.shape
    even, odd = (x.float() * 2.0**100).view(-1, 2).unbind(-1)
    products = _nibble_by_shifts(packed & 15) * even + _nibble_by_shifts(packed >> 4) * odd
    blocks = products.view(rows, 2 * half // GROUP, GROUP // 2)
    blocks = blocks * (f8_by_shifts(scales) * 2.0**120).unsqueeze(-1)
    return (blocks.sum((1, 2)) * (w[f"{name}_global"] * 2.0**26)).to(_BF16)


def f4_kept(w: Tensors, name: str, x: Tensor) -> Tensor:
    """A matrix made beforehand."""
    kept = w[f"kept_{name}"]
    return (F.linear(x.to(kept.dtype), kept) * w[f"{name}_global"]).to(_BF16)


# -- kernels ----------------------------------------------------------------------------------------------------------

Gemv = Callable[[Tensors, str, Tensor], Tensor]


def project_qkv(gemv: Gemv) -> Kernel:
    """``sliding_project_qkv``."""

    def kernel(w: Tensors, a: Tensors) -> Tensors:
        hidden = rms_norm(a["x"], w["w_in"])
        width = w["q_norm"].shape[0]
        position = a["position"].view(1)
        cos, sin = w["cos"].index_select(0, position), w["sin"].index_select(0, position)
        q = rotate(rms_norm(gemv(w, "q", hidden).view(-1, width), w["q_norm"]), cos, sin)
        k = rotate(rms_norm(gemv(w, "k", hidden).view(-1, width), w["k_norm"]), cos, sin)
        v = rms_norm(gemv(w, "v", hidden).view(-1, width), None)
        slot = position % a["k_cache"].shape[0]
        a["k_cache"].index_copy_(0, slot, k.unsqueeze(0))
        a["v_cache"].index_copy_(0, slot, v.unsqueeze(0))
        return {"q": q, "k_cache": a["k_cache"], "v_cache": a["v_cache"]}

    return kernel


def attention_output(gemv: Gemv) -> Kernel:
    """``sliding_attention_output``."""

    def kernel(w: Tensors, a: Tensors) -> Tensors:
        a["residual"].add_(rms_norm(gemv(w, "o", a["a"]), w["w_post"]))
        return {"residual": a["residual"]}

    return kernel


def feedforward(gemv: Gemv) -> Kernel:
    """``decoder_feedforward``."""

    def kernel(w: Tensors, a: Tensors) -> Tensors:
        residual = a["residual"]
        x = rms_norm(residual, w["w_pre"])
        inner = F.gelu(gemv(w, "gate", x), approximate="tanh") * gemv(w, "up", x)
        y = rms_norm(gemv(w, "down", inner), w["w_post"])
        residual.copy_((residual + y) * w["layer_scalar"])
        return {"residual": residual}

    return kernel


_F8: Mapping[str, Gemv] = {"linear": f8_linear, "sum": f8_sum, "shifts": f8_shifts, "kept": f8_kept}
_F4: Mapping[str, Gemv] = {"linear": f4_linear, "sum": f4_sum, "shifts": f4_shifts, "kept": f4_kept}
_KERNELS: Mapping[str, tuple[Callable[[Gemv], Kernel], tuple[str, ...], Mapping[str, Gemv]]] = {
    "sliding_project_qkv": (project_qkv, ("q", "k", "v"), _F8),
    "sliding_attention_output": (attention_output, ("o",), _F8),
    "decoder_feedforward": (feedforward, ("gate", "up", "down"), _F4),
}

ARMS: Mapping[str, tuple[str, bool, torch.dtype | None]] = {
    "eager": ("linear", False, None),
    "compiled": ("linear", True, None),
    "compiled, sum": ("sum", True, None),
    "compiled, sum by shifts": ("shifts", True, None),
    "bf16 weights, eager": ("kept", False, torch.bfloat16),
    "bf16 weights, compiled": ("kept", True, torch.bfloat16),
    "f32 weights, eager": ("kept", False, torch.float32),
}
"""Form, whether it is compiled, and the dtype that a matrix made beforehand has."""


def build(kernel: str, arm: str) -> Kernel:
    """The function of an arm; a compiled one compiles at its first call."""
    make, _, gemvs = _KERNELS[kernel]
    form, compiled, _ = ARMS[arm]
    function = make(gemvs[form])
    # fullgraph: a part that falls back to Python would be an error, not a slow arm under a wrong name.
    return torch.compile(function, fullgraph=True, dynamic=False) if compiled else function


def prepare(kernel: str, arm: str, weights: Tensors) -> dict[str, Tensor]:
    """The weights of one copy as an arm wants them; matrices made beforehand are new memory, the rest is shared."""
    _, matrices, _ = _KERNELS[kernel]
    kept = ARMS[arm][2]
    prepared = dict(weights)
    if kernel == "decoder_feedforward":
        prepared["pairs"] = f4_pairs()
    if kept is not None:
        for name in matrices:
            if kernel == "decoder_feedforward":
                made = dequantize(prepared.pop(name), prepared.pop(f"{name}_scales"), prepared["pairs"])
            else:
                made = prepared.pop(f"w_{name}")
            prepared[f"kept_{name}"] = made.to(kept)
    return prepared
