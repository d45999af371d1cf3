"""The three decode kernels against slow scalar arithmetic that shares no code with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from kernelwright.kernels import decoder_feedforward, sliding_attention_output, sliding_project_qkv
from kernelwright.kernels.draws import FAMILIES
from kernelwright.kernels.registry import BUILT_IN, TINY
from kernelwright.kernels.spec import Inputs, KernelSpec

F4 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def f8(code: int) -> float:
    exponent, mantissa = code >> 3 & 15, code & 7
    magnitude = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -magnitude if code & 0x80 else magnitude


def f4(packed: Sequence[int], column: int) -> float:
    nibble = packed[column // 2] >> 4 if column % 2 else packed[column // 2] & 15
    return -F4[nibble & 7] if nibble & 8 else F4[nibble]


def bf16(array: np.ndarray) -> list[float]:
    return [float(value) for value in array.ravel()]


def rms_norm(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    mean = math.fsum(v * v for v in values) / len(values)
    return [v / math.sqrt(mean + 1e-6) * w for v, w in zip(values, weights, strict=True)]


def f8_rows(codes: np.ndarray, scales: np.ndarray, vector: Sequence[float]) -> list[float]:
    rows = codes.view(np.uint8).tolist()
    sums = [math.fsum(f8(c) * x for c, x in zip(row, vector, strict=True)) for row in rows]
    return [s * scale for s, scale in zip(sums, bf16(scales), strict=True)]


def f4_rows(inputs: Inputs, name: str, vector: Sequence[float]) -> list[float]:
    packed, scales = inputs[name].tolist(), inputs[f"{name}_scales"].view(np.uint8).tolist()
    total = float(inputs[f"{name}_global"])
    return [
        total * math.fsum(f4(row, i) * f8(row_scales[i // 16]) * x for i, x in enumerate(vector))
        for row, row_scales in zip(packed, scales, strict=True)
    ]


def scalar_project_qkv(spec: KernelSpec, inputs: Inputs) -> dict[str, np.ndarray]:
    width, window = spec.dimensions["HEAD_DIM"], spec.dimensions["WINDOW"]
    position = int(inputs["position"])
    hidden = rms_norm(bf16(inputs["x"]), bf16(inputs["w_in"]))

    def heads(name: str, weights: Sequence[float], turned: bool) -> np.ndarray:
        rows = f8_rows(inputs[f"w_{name}"], inputs[f"s_{name}"], hidden)
        result = []
        for start in range(0, len(rows), width):
            head = rms_norm(rows[start : start + width], weights)
            if turned:
                cos, sin = bf16(inputs["cos"][position]), bf16(inputs["sin"][position])
                half = width // 2
                partner = [-head[i + half] if i < half else head[i - half] for i in range(width)]
                head = [h * c + p * s for h, c, p, s in zip(head, cos, partner, sin, strict=True)]
            result.append(head)
        return np.array(result)

    k_cache, v_cache = inputs["k_cache"].astype(np.float64), inputs["v_cache"].astype(np.float64)
    k_cache[position % window] = heads("k", bf16(inputs["k_norm"]), turned=True)
    v_cache[position % window] = heads("v", [1.0] * width, turned=False)
    return {"q": heads("q", bf16(inputs["q_norm"]), turned=True), "k_cache": k_cache, "v_cache": v_cache}


def scalar_attention_output(_spec: KernelSpec, inputs: Inputs) -> dict[str, np.ndarray]:
    rows = f8_rows(inputs["w_o"], inputs["s_o"], bf16(inputs["a"]))
    normed = rms_norm(rows, bf16(inputs["w_post"]))
    return {"residual": np.array([r + n for r, n in zip(bf16(inputs["residual"]), normed, strict=True)])}


def scalar_feedforward(_spec: KernelSpec, inputs: Inputs) -> dict[str, np.ndarray]:
    residual = bf16(inputs["residual"])
    normed = rms_norm(residual, bf16(inputs["w_pre"]))

    def gelu(x: float) -> float:
        return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))

    gate, up = f4_rows(inputs, "gate", normed), f4_rows(inputs, "up", normed)
    inner = [gelu(g) * u for g, u in zip(gate, up, strict=True)]
    down = rms_norm(f4_rows(inputs, "down", inner), bf16(inputs["w_post"]))
    scalar = float(inputs["layer_scalar"])
    return {"residual": np.array([(r + d) * scalar for r, d in zip(residual, down, strict=True)])}


SCALAR: dict[str, Callable[[KernelSpec, Inputs], dict[str, np.ndarray]]] = {
    sliding_project_qkv.NAME: scalar_project_qkv,
    sliding_attention_output.NAME: scalar_attention_output,
    decoder_feedforward.NAME: scalar_feedforward,
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", TINY)
def test_reference_is_the_scalar_arithmetic(name: str, family: str) -> None:
    spec = TINY[name]()
    weights = spec.draw_weights(np.random.default_rng(11))
    inputs = {**weights, **spec.draw_activations(np.random.default_rng(12), family)}
    expected, got = SCALAR[name](spec, inputs), spec.reference(inputs)
    assert got.keys() == expected.keys()
    for argument in expected:
        size = np.abs(expected[argument]).max()
        np.testing.assert_allclose(got[argument], expected[argument], rtol=1e-11, atol=1e-11 * size)


def test_streamed_bytes_are_those_of_the_model() -> None:
    sizes = {name: make().streamed_bytes for name, make in BUILT_IN.items()}
    assert sizes == {
        "sliding_project_qkv": 31_473_664,
        "sliding_attention_output": 15_736_320,
        "decoder_feedforward": 99_532_800,
    }


def test_shapes_and_tolerances_are_those_of_the_model() -> None:
    qkv, output, feedforward = (make() for make in BUILT_IN.values())
    assert [a.name for a in qkv.arguments] == (
        [
            "x",
            "w_in",
            "w_q",
            "s_q",
            "w_k",
            "s_k",
            "w_v",
            "s_v",
            "q_norm",
            "k_norm",
            "cos",
            "sin",
            "position",
            "k_cache",
            "v_cache",
            "q",
        ]
    )
    assert [a.name for a in output.arguments] == ["a", "w_o", "s_o", "w_post", "residual"]
    assert [a.name for a in feedforward.arguments] == (
        [
            "residual",
            "w_pre",
            "w_post",
            "gate",
            "gate_scales",
            "gate_global",
            "up",
            "up_scales",
            "up_global",
            "down",
            "down_scales",
            "down_global",
            "layer_scalar",
        ]
    )
    assert qkv.argument("w_q").shape == (4096, 3840)
    assert qkv.argument("w_k").shape == qkv.argument("w_v").shape == (2048, 3840)
    assert qkv.argument("cos").shape == (32768, 256)
    assert qkv.argument("k_cache").shape == (1024, 8, 256)
    assert output.argument("w_o").shape == (3840, 4096)
    assert feedforward.argument("gate").shape == (15360, 1920)
    assert feedforward.argument("down_scales").shape == (3840, 960)
    assert [spec.tolerance.absolute for spec in (qkv, output, feedforward)] == [0.04, 0.05, 0.01]
    assert {spec.tolerance.relative for spec in (qkv, output, feedforward)} == {1e-2}


@pytest.mark.parametrize("name", TINY)
def test_draws_are_deterministic_and_fit_their_arguments(name: str) -> None:
    spec = TINY[name]()
    drawn = [
        {
            **spec.draw_weights(np.random.default_rng(5)),
            **spec.draw_activations(np.random.default_rng(6), spec.families[0]),
        }
        for _ in range(2)
    ]
    for argument in spec.arguments:
        if argument.direction == "out":
            assert argument.name not in drawn[0]
            continue
        first, second = (inputs[argument.name] for inputs in drawn)
        assert first.dtype == argument.storage
        assert first.shape == argument.shape
        assert first.tobytes() == second.tobytes()


def test_boundary_positions_are_all_visited() -> None:
    spec = sliding_project_qkv.tiny()
    window, count = spec.dimensions["WINDOW"], spec.dimensions["POSITIONS"]
    seen = {
        int(spec.draw_activations(np.random.default_rng(seed), family)["position"])
        for family in spec.families
        for seed in range(8)
    }
    assert {0, count - 1, window - 1, window} <= seen
    assert max(seen) < count
    assert len(seen) > 6  # and ordinary ones between


def test_weights_hold_what_wrong_kernels_trip_over() -> None:
    weights = sliding_attention_output.tiny().draw_weights(np.random.default_rng(0))
    codes = weights["w_o"].view(np.uint8)
    assert not np.any(codes & 0x7F == 0x7F)  # no NaN
    subnormal_share = np.mean((codes & 0x78) == 0, axis=1)
    assert 0.02 < np.mean(subnormal_share > 0.5) < 0.3  # some rows are mostly subnormal
    feedforward = decoder_feedforward.tiny().draw_weights(np.random.default_rng(0))
    subnormal_scales = [np.mean(feedforward[f"{m}_scales"].view(np.uint8) < 8) for m in ("gate", "up", "down")]
    assert max(subnormal_scales) > 0.2  # one matrix has scales that many decoders flush to zero
    assert all(not np.any(feedforward[f"{m}_scales"].view(np.uint8) == 0x7F) for m in ("gate", "up", "down"))


def test_wide_inputs_hold_zeros_and_subnormals() -> None:
    x = sliding_project_qkv.tiny().draw_activations(np.random.default_rng(1), "wide")["x"].astype(np.float64)
    assert np.any(x == 0)
    assert np.any((np.abs(x) > 0) & (np.abs(x) < 2.0**-126))


def test_cancellation_cancels() -> None:
    spec = sliding_attention_output.spec()
    weights = spec.draw_weights(np.random.default_rng(2))
    a = spec.draw_activations(np.random.default_rng(3), "cancellation")["a"].astype(np.float64)
    rows = weights["w_o"][:64].astype(np.float32).astype(np.float64)
    sums, magnitudes = np.abs(rows @ a), np.abs(rows) @ np.abs(a)
    plain = spec.draw_activations(np.random.default_rng(3), "normal")["a"].astype(np.float64)
    ordinary = np.abs(rows @ plain) / (np.abs(rows) @ np.abs(plain))
    assert np.median(sums / magnitudes) < np.median(ordinary)


def test_unknown_family_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown input family 'odd'; known: normal"):
        sliding_project_qkv.tiny().draw_activations(np.random.default_rng(0), "odd")
