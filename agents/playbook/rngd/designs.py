"""The three decode kernels as TCL programs, from levers and dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .parts import f4_product, f8_product, gated_gelu, rms_norm
from .writer import Tensor, Writer, number

Levers = Mapping[str, str | int]
Dimensions = Mapping[str, int]


def project_qkv(d: Dimensions, levers: Levers, says: str) -> str:
    """Norm, three f8 projections, norms of the heads, rotary embedding, and the two caches updated in place."""
    hidden, dim, window = d["HIDDEN"], d["HEAD_DIM"], d["WINDOW"]
    rows = {"q": d["HEADS"] * dim, "k": d["KV_HEADS"] * dim, "v": d["KV_HEADS"] * dim}
    w = Writer("sliding_project_qkv", {"ONE": 1, "HIDDEN": hidden, "Q_ROWS": rows["q"], "KV_ROWS": rows["k"]})
    w.axes |= {"HEADS": d["HEADS"], "KV_HEADS": d["KV_HEADS"], "HEAD_DIM": dim, "WINDOW": window}
    w.axes |= {"POSITIONS": d["POSITIONS"]}
    x, w_in = w.argument("x", ["HIDDEN"], "bf16"), w.argument("w_in", ["HIDDEN"], "bf16")
    axes = {"q": "Q_ROWS", "k": "KV_ROWS", "v": "KV_ROWS"}
    stored = {}
    for name, axis in axes.items():
        matrix = w.argument(f"w_{name}", [axis, "HIDDEN"], "f8_e4")
        stored[name] = (matrix, w.argument(f"s_{name}", [axis], "bf16"))
    q_norm, k_norm = (w.argument(f"{name}_norm", ["HEAD_DIM"], "bf16") for name in ("q", "k"))
    tables = [w.argument(name, ["POSITIONS", "HEAD_DIM"], "bf16") for name in ("cos", "sin")]
    position = w.argument("position", [], "i32")
    caches = [w.argument(f"{name}_cache", ["WINDOW", "KV_HEADS", "HEAD_DIM"], "bf16") for name in ("k", "v")]

    normed = rms_norm(w, "normed", x, w_in, "bf16", str(levers["norm"]))
    place = w.reshape("place", position, ["ONE"])
    found = [w.graph(f"{table.name}_at", ["ONE", "HEAD_DIM"], "bf16", f"gather({table.name}, {place.name}, POSITIONS)")
             for table in tables]  # fmt: skip
    cosine, sine = (w.reshape(f"{each.name}_row", each, ["HEAD_DIM"]) for each in found)
    heads = {}
    for name in str(levers["order"]):
        flat = f8_product(w, f"{name}_flat", normed, *stored[name], levers)
        heads[name] = w.reshape(f"{name}_heads", flat, ["HEADS" if name == "q" else "KV_HEADS", "HEAD_DIM"])
    results = {}
    for name, weight in (("q", q_norm), ("k", k_norm)):
        whole = rms_norm(w, f"{name}_normed", heads[name], weight, "f32", str(levers["norm"]))
        results[name] = _rotate(w, name, whole, cosine, sine, str(levers["rotary"]))
    results["v"] = rms_norm(w, "v_normed", heads["v"], None, "bf16", str(levers["norm"]))
    # A window that is no power of two would need a division, which the vector engine has not for integers.
    assert window & (window - 1) == 0, "the window is a power of two"
    slot = w.operation("slot", [], "i32", "Elementwise", (position,), [f"{{0}} &_i i{window - 1}"])
    index = w.reshape("index", slot, ["ONE"])
    for name, cache in zip(("k", "v"), caches, strict=True):
        row = w.reshape(f"{name}_row", results[name], ["ONE", "KV_HEADS", "HEAD_DIM"])
        new = w.graph(
            f"{name}_new", cache.axes, "bf16", f"scatter({row.name}, {index.name}, WINDOW, init={cache.name})"
        )
        w.graph(f"{name}_kept", cache.axes, "bf16", f"copy(src={new.name}, dst={cache.name})")
    return w.text(results["q"], says)


def _rotate(w: Writer, name: str, x: Tensor, cosine: Tensor, sine: Tensor, how: str) -> Tensor:
    """``x cos + (-x2, x1) sin`` over the last axis, in bf16; ``how``: ``whole`` vectors, or each ``half`` by itself."""
    heads, dim = x.axes
    half = w.axis("HALF", w.axes[dim] // 2)
    length = w.axes[half]
    low = w.graph(f"{name}_low", (heads, half), "f32", f"slice({x.name}, {dim}, 0)")
    high = w.graph(f"{name}_high", (heads, half), "f32", f"slice({x.name}, {dim}, {length})")
    if how == "whole":
        negated = w.operation(f"{name}_negated", high.axes, "f32", "Elementwise", (high,), [f"{{0}} * {number(-1.0)}"])
        turned = w.concat(f"{name}_turned", (negated, low), x.axes)
        part = w.operation(f"{name}_sine", x.axes, "f32", "Elementwise", (turned, sine), ["{0} * {1}"])
        body = ["{0} * {1}", "{a} + {2}"]
        return w.operation(f"{name}_rotated", x.axes, "bf16", "Elementwise", (x, cosine, part), body)
    done = []
    for label, own, other, start, sign in (("low", low, high, 0, "-"), ("high", high, low, length, "+")):
        c, s = (w.graph(f"{name}_{label}_{t.name}", (half,), "bf16", f"slice({t.name}, {dim}, {start})")
                for t in (cosine, sine))  # fmt: skip
        part = w.operation(f"{name}_{label}_sine", own.axes, "f32", "Elementwise", (other, s), ["{0} * {1}"])
        body = ["{0} * {1}", f"{{a}} {sign} {{2}}"]
        done.append(w.operation(f"{name}_{label}_rotated", own.axes, "bf16", "Elementwise", (own, c, part), body))
    return w.concat(f"{name}_rotated", done, x.axes)


def attention_output(d: Dimensions, levers: Levers, says: str) -> str:
    """An f8 projection, its norm, added to the residual."""
    w = Writer("sliding_attention_output", {"ONE": 1, "HIDDEN": d["HIDDEN"], "COLUMNS": d["HEADS"] * d["HEAD_DIM"]})
    a = w.argument("a", ["COLUMNS"], "bf16")
    w_o, s_o = w.argument("w_o", ["HIDDEN", "COLUMNS"], "f8_e4"), w.argument("s_o", ["HIDDEN"], "bf16")
    w_post, residual = w.argument("w_post", ["HIDDEN"], "bf16"), w.argument("residual", ["HIDDEN"], "bf16")
    rows = f8_product(w, "rows", a, w_o, s_o, levers)
    return w.text(_residual(w, rows, w_post, residual, levers), says)


def _residual(w: Writer, rows: Tensor, weight: Tensor, residual: Tensor, levers: Levers) -> Tensor:
    """The norm of ``rows`` added to ``residual``, with the addition in the norm's pass or in one of its own."""
    if levers["residual"] == "fused":
        return rms_norm(w, "result", rows, weight, "bf16", str(levers["norm"]), residual)
    normed = rms_norm(w, "normed_rows", rows, weight, "f32", str(levers["norm"]))
    return w.operation("result", rows.axes, "bf16", "Interleaving", (normed, residual), ["{0} + {1}"])


def feedforward(d: Dimensions, levers: Levers, says: str) -> str:
    """Norm, NVFP4 gate and up, gelu, NVFP4 down, norm, residual and the layer's scalar."""
    hidden, inner = d["HIDDEN"], d["INTERMEDIATE"]
    w = Writer("decoder_feedforward", {"HIDDEN": hidden, "INTERMEDIATE": inner, "GROUP": 16})
    residual = w.argument("residual", ["HIDDEN"], "bf16")
    w_pre, w_post = w.argument("w_pre", ["HIDDEN"], "bf16"), w.argument("w_post", ["HIDDEN"], "bf16")
    stored = {}
    for name, rows, columns in (
        ("gate", "INTERMEDIATE", hidden),
        ("up", "INTERMEDIATE", hidden),
        ("down", "HIDDEN", inner),
    ):
        label = "INNER" if name == "down" else "OUTER"
        packed = w.argument(name, [rows, w.axis(f"{label}_BYTES", columns // 2)], "u8")
        scales = w.argument(f"{name}_scales", [rows, w.axis(f"{label}_BLOCKS", columns // 16)], "f8_e4")
        stored[name] = (packed, scales, w.argument(f"{name}_global", [], "f32"))
    scalar = w.argument("layer_scalar", [], "bf16")
    normed = rms_norm(w, "normed", residual, w_pre, "bf16", str(levers["norm"]))
    gate = f4_product(w, "gate_rows", normed, *stored["gate"], levers)
    up = f4_product(w, "up_rows", normed, *stored["up"], levers)
    gated = gated_gelu(w, "gated", gate, up)
    down = f4_product(w, "down_rows", gated, *stored["down"], {**levers, "chunks": levers["down_chunks"]})
    added = rms_norm(w, "added", down, w_post, "f32", str(levers["norm"]), residual)
    return w.text(w.operation("result", added.axes, "bf16", "Elementwise", (added, scalar), ["{0} * {1}"]), says)


WRITERS: Mapping[str, Callable[[Dimensions, Levers, str], str]] = {
    "sliding_project_qkv": project_qkv,
    "sliding_attention_output": attention_output,
    "decoder_feedforward": feedforward,
}
"""The writer of each kernel."""
