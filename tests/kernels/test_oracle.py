"""The oracle: every right kernel passes in every family, every kind of wrong one is refused in some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from kernelwright.kernels import decoder_feedforward, sliding_attention_output, sliding_project_qkv
from kernelwright.kernels.oracle import BatchReference, Judgement, Prediction, error_scale, judge
from kernelwright.kernels.registry import BUILT_IN, TINY
from kernelwright.kernels.spec import Argument, Array, Inputs, KernelSpec, Tolerance

Compile = Callable[[KernelSpec, str], Callable[[Inputs], dict[str, Array]]]

SUM = "sum += f8_to_float(weights[i]) * vector[i];"
LOOP = f"for (size_t i = 0; i < count; i++)\n        {SUM}"
LOW = "part += F4_VALUES[pair & 15u] * vector[group * GROUP + i];"
HIGH = "part += F4_VALUES[pair >> 4] * vector[group * GROUP + i + 1];"
BLOCK_SUM = "sum += part * f8_to_float(scales[group]);"


def to_bf16(expression: str) -> str:
    return f"bf16_to_float(float_to_bf16({expression}))"


RIGHT_F8 = {
    "reversed": [(LOOP, "for (size_t i = count; i-- > 0;)\n        " + SUM)],
    "eight accumulators": [
        (
            f"{LOOP}\n    return sum;",
            "float parts[8] = {0};\n"
            "for (size_t i = 0; i < count; i++) parts[i % 8] += f8_to_float(weights[i]) * vector[i];\n"
            "for (size_t i = 0; i < 8; i++) sum += parts[i];\n"
            "return sum;",
        )
    ],
    "activations as 16-bit integers with one scale per 32": [
        (
            SUM,
            "{ float most = 0; for (size_t j = i / 32 * 32; j < i / 32 * 32 + 32; j++)"
            " most = fmaxf(most, fabsf(vector[j]));"
            " float x = most > 0 ? rintf(vector[i] / most * 32767) * (most / 32767) : 0;"
            " sum += f8_to_float(weights[i]) * x; }",
        )
    ],
}
WRONG_F8 = {
    "the last element dropped": [("i < count; i++)\n        sum", "i < count - 1; i++)\n        sum")],
    "the first element dropped": [
        ("size_t i = 0; i < count; i++)\n        sum", "size_t i = 1; i < count; i++)\n sum")
    ],
    "sums in bf16": [(SUM, "sum = " + to_bf16("sum + f8_to_float(weights[i]) * vector[i]") + ";")],
    "small terms skipped": [(SUM, "if (fabsf(vector[i]) > 0.01f) " + SUM)],
    "subnormal weights flushed": [(SUM, "if (weights[i] & 0x78) " + SUM)],
    "no epsilon": [("EPSILON 1e-6f", "EPSILON 0.0f")],
    "epsilon of another model": [("EPSILON 1e-6f", "EPSILON 1e-5f")],
}
RIGHT_QKV = {
    "hidden vector not rounded": [
        (
            "round_to_bf16(hidden[i] * factor * bf16_to_float(w_in[i]))",
            "hidden[i] * factor * bf16_to_float(w_in[i])",
        )
    ],
    "rounded before the weight": [
        (
            "round_to_bf16(hidden[i] * factor * bf16_to_float(w_in[i]))",
            "round_to_bf16(hidden[i] * factor) * bf16_to_float(w_in[i])",
        )
    ],
}
WRONG_QKV = {
    "wrong slot of the ring": [("*position % WINDOW", "(*position + 1) % WINDOW")],
    "no ring": [("*position % WINDOW", "(*position < WINDOW ? *position : WINDOW - 1)")],
    "neighbouring slot overwritten too": [
        (
            "    for (size_t head = 0; head < HEADS; head++) {",
            "    k_cache[(slot + KV_ROWS) % (WINDOW * KV_ROWS)] ^= 1;\n    for (size_t head = 0; head < HEADS; head++) {",
        )
    ],
    "rotation in the other direction": [("? -head[i + half] : head[i - half]", "? head[i + half] : -head[i - half]")],
    "interleaved rotation": [("i < half ? -head[i + half] : head[i - half]", "i % 2 ? head[i - 1] : -head[i + 1]")],
    "position off by one": [("(size_t)*position * HEAD_DIM", "(size_t)(*position > 0 ? *position - 1 : 1) * HEAD_DIM")],
    "v not normalized": [("normalize_head(value, NULL);", "")],
}
RIGHT_FF = {
    "inner vector rounded": [
        (
            "inner[row] = gelu_tanh(gated * *gate_global) * (raised * *up_global);",
            "inner[row] = " + to_bf16("gelu_tanh(gated * *gate_global) * (raised * *up_global)") + ";",
        )
    ],
    "hidden vector not rounded": [
        (
            to_bf16("normed[i] * factor * bf16_to_float(w_pre[i])"),
            "normed[i] * factor * bf16_to_float(w_pre[i])",
        )
    ],
    "one sum for all blocks": [
        ("float part = 0.0f;", "float scale = f8_to_float(scales[group]);"),
        (LOW, "sum += scale * F4_VALUES[pair & 15u] * vector[group * GROUP + i];"),
        (HIGH, "sum += scale * F4_VALUES[pair >> 4] * vector[group * GROUP + i + 1];"),
        (BLOCK_SUM, ""),
    ],
}
WRONG_FF = {
    "the last element dropped": [(HIGH, "if (group * GROUP + i + 2 < count) " + HIGH)],
    "every sum in bf16": [
        (LOW, "part = " + to_bf16("part + F4_VALUES[pair & 15u] * vector[group * GROUP + i]") + ";"),
        (HIGH, "part = " + to_bf16("part + F4_VALUES[pair >> 4] * vector[group * GROUP + i + 1]") + ";"),
        (BLOCK_SUM, "sum = " + to_bf16("sum + part * f8_to_float(scales[group])") + ";"),
    ],
    "small terms skipped": [(LOW, "if (fabsf(vector[group * GROUP + i]) > 0.01f) " + LOW)],
    "subnormal scales flushed": [(BLOCK_SUM, "if (scales[group] & 0x78) " + BLOCK_SUM)],
    "high nibble first": [("pair & 15u", "pair / 16u"), ("[pair >> 4]", "[pair & 15]")],
    "no epsilon": [("EPSILON 1e-6f", "EPSILON 0.0f")],
    "gate and up exchanged": [("gelu_tanh(gated * *gate_global) * (raised", "gelu_tanh(raised * *up_global) * (gated")],
    "layer scalar left out": [(" * bf16_to_float(*layer_scalar)", "")],
}
RIGHT = {
    sliding_project_qkv.NAME: RIGHT_F8 | RIGHT_QKV,
    sliding_attention_output.NAME: RIGHT_F8,
    decoder_feedforward.NAME: RIGHT_FF,
}
WRONG = {
    sliding_project_qkv.NAME: WRONG_F8
    | WRONG_QKV
    | {"the last output not written": [("row < Q_ROWS", "row < Q_ROWS - 1")]},
    sliding_attention_output.NAME: WRONG_F8
    | {
        "the last output not written": [
            (
                "    for (size_t i = 0; i < HIDDEN; i++) {\n        float norm",
                "    for (size_t i = 0; i < HIDDEN - 1; i++) {\n        float norm",
            )
        ]
    },
    decoder_feedforward.NAME: WRONG_FF,
}


def changed(source: str, edits: list[tuple[str, str]]) -> str:
    for old, new in edits:
        assert old in source, f"the baseline no longer holds: {old}"
        source = source.replace(old, new)
    return source


def judgements(spec: KernelSpec, run: Callable[[Inputs], Inputs], seeds: int) -> Iterator[tuple[str, Judgement]]:
    for seed in range(seeds):
        weights = spec.draw_weights(np.random.default_rng([seed, 100]))
        reference = BatchReference(spec, weights)
        calls = [(0, spec.draw_activations(np.random.default_rng([seed, i]), f)) for i, f in enumerate(spec.families)]
        for family, (_, inputs), prediction in zip(spec.families, calls, reference.predict(calls), strict=True):
            yield family, judge(spec, prediction, inputs, run({**weights, **inputs}))


@pytest.mark.parametrize("name", TINY)
def test_baseline_passes_in_every_family(name: str, compile_kernel: Compile) -> None:
    spec = TINY[name]()
    for family, verdict in judgements(spec, compile_kernel(spec, spec.baselines["cpu"]), seeds=6):
        assert verdict.ok, (family, verdict)
        assert verdict.worst_ratio < 0.9, (family, verdict)


@pytest.mark.parametrize("name", BUILT_IN)
def test_baseline_passes_at_full_size(name: str, compile_kernel: Compile) -> None:
    spec = BUILT_IN[name]()
    for family, verdict in judgements(spec, compile_kernel(spec, spec.baselines["cpu"]), seeds=1):
        assert verdict.ok, (family, verdict)
        assert verdict.worst_ratio < 0.7, (family, verdict)


@pytest.mark.parametrize(("name", "what"), [(n, w) for n, variants in RIGHT.items() for w in variants])
def test_other_right_kernels_pass(name: str, what: str, compile_kernel: Compile) -> None:
    spec = TINY[name]()
    run = compile_kernel(spec, changed(spec.baselines["cpu"], RIGHT[name][what]))
    for family, verdict in judgements(spec, run, seeds=4):
        assert verdict.ok, (family, verdict)


@pytest.mark.parametrize(("name", "what"), [(n, w) for n, variants in WRONG.items() for w in variants])
def test_wrong_kernels_are_refused(name: str, what: str, compile_kernel: Compile) -> None:
    """Each is caught by one check: six families, one seed."""
    spec = TINY[name]()
    run = compile_kernel(spec, changed(spec.baselines["cpu"], WRONG[name][what]))
    verdicts = [verdict for _, verdict in judgements(spec, run, seeds=1)]
    assert not all(verdict.ok for verdict in verdicts)
    for verdict in verdicts:
        assert verdict.ok or verdict.worst_ratio > 1.0


@pytest.mark.parametrize("name", [sliding_attention_output.NAME, decoder_feedforward.NAME])
def test_full_size_sums_in_bf16_are_refused_where_the_tolerance_is_loose(name: str, compile_kernel: Compile) -> None:
    """32 accumulators in bf16, or a block's sum added in bf16: the usual accident of a low-precision kernel."""
    spec = replace(BUILT_IN[name](), families=("normal",), tolerance=Tolerance(absolute=0.5, relative=0.5))
    if name == decoder_feedforward.NAME:
        edits = [(BLOCK_SUM, "sum = " + to_bf16("sum + part * f8_to_float(scales[group])") + ";")]
    else:
        edits = [
            (
                f"{LOOP}\n    return sum;",
                "float parts[32] = {0};\n"
                "for (size_t i = 0; i < count; i++) parts[i % 32] = "
                + to_bf16("parts[i % 32] + f8_to_float(weights[i]) * vector[i]")
                + ";\nfor (size_t i = 0; i < 32; i++) sum += parts[i];\nreturn sum;",
            )
        ]
    run = compile_kernel(spec, changed(spec.baselines["cpu"], edits))
    ((_, verdict),) = judgements(spec, run, seeds=1)
    assert verdict.kind == "wrong-value"
    assert "rounded intermediates" in verdict.reason


def one_call(name: str, family: str) -> tuple[KernelSpec, Inputs, Prediction, dict[str, Array]]:
    """A tiny kernel, the inputs of a call, its prediction, and right outputs made from the reference."""
    spec = TINY[name]()
    weights = spec.draw_weights(np.random.default_rng(7))
    inputs = spec.draw_activations(np.random.default_rng(8), family)
    (prediction,) = BatchReference(spec, weights).predict([(0, inputs)])
    right = {}
    for argument in spec.outputs:
        region = prediction.regions[argument.name]
        right[argument.name] = np.array(inputs.get(argument.name, np.zeros(argument.shape, argument.storage)))
        right[argument.name][region] = prediction.expected[argument.name].astype(argument.storage)
    return spec, inputs, prediction, right


ALL_CALLS = [(name, family) for name in TINY for family in TINY[name]().families]


@pytest.mark.parametrize(("name", "family"), ALL_CALLS)
def test_trivial_answers_are_refused(name: str, family: str) -> None:
    spec, inputs, prediction, right = one_call(name, family)
    assert judge(spec, prediction, inputs, right).ok
    for argument in spec.outputs:
        region = prediction.regions[argument.name]
        for value in (0.0, float(prediction.expected[argument.name].mean())):
            wrong = right[argument.name].copy()
            wrong[region] = value
            assert not judge(spec, prediction, inputs, {**right, argument.name: wrong}).ok
        if argument.direction == "inout":
            assert not judge(spec, prediction, inputs, {**right, argument.name: inputs[argument.name]}).ok


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", TINY)
def test_what_is_not_finite_is_told_apart(name: str, value: float) -> None:
    spec, inputs, prediction, right = one_call(name, "normal")
    last = spec.outputs[-1]
    wrong = right[last.name].copy()
    place = tuple(size - 1 for size in last.shape)
    wrong[place] = value
    verdict = judge(spec, prediction, inputs, {**right, last.name: wrong})
    assert (verdict.ok, verdict.kind, verdict.argument, verdict.index) == (False, "not-finite", last.name, place)


def test_a_bit_outside_the_region_is_seen() -> None:
    spec, inputs, prediction, right = one_call(sliding_project_qkv.NAME, "normal")
    slot = int(inputs["position"]) % spec.dimensions["WINDOW"]
    neighbour = (slot + 1) % spec.dimensions["WINDOW"]
    wrong = right["v_cache"].copy()
    wrong.view(np.uint16)[neighbour, 1, 3] ^= 1
    verdict = judge(spec, prediction, inputs, {**right, "v_cache": wrong})
    assert not verdict.ok
    assert (verdict.argument, verdict.index) == ("v_cache", (neighbour, 1, 3))
    assert "must keep" in verdict.reason


def test_blame_falls_on_the_element_that_is_furthest_out() -> None:
    spec, inputs, prediction, right = one_call(sliding_project_qkv.NAME, "normal")
    slot = int(inputs["position"]) % spec.dimensions["WINDOW"]
    wrong = right["k_cache"].copy()
    wrong[slot, 1, 5] = 9.0
    verdict = judge(spec, prediction, inputs, {**right, "k_cache": wrong})
    assert (verdict.argument, verdict.index, verdict.got) == ("k_cache", (slot, 1, 5), 9.0)
    assert verdict.expected == prediction.expected["k_cache"][1, 5]
    assert abs(verdict.got - verdict.expected) > verdict.bound > 0


def test_outputs_of_another_shape_are_the_callers_mistake() -> None:
    spec, inputs, prediction, right = one_call(sliding_attention_output.NAME, "normal")
    with pytest.raises(ValueError, match="expected bfloat16"):
        judge(spec, prediction, inputs, {"residual": right["residual"].astype(np.float32)})
    with pytest.raises(ValueError, match="is missing"):
        judge(spec, prediction, inputs, {})


def infinite_spec() -> KernelSpec:
    """Its reference overflows on purpose: an infinity must be met by the same infinity."""

    def reference(inputs: Inputs) -> dict[str, np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"y": 1.0 / inputs["x"].astype(np.float64)}

    return KernelSpec(
        name="reciprocal",
        summary="1 / x",
        dimensions={"N": 64},
        arguments=(Argument("x", "f32", (64,)), Argument("y", "f32", (64,), "out")),
        tolerance=Tolerance(absolute=1e-5, relative=1e-5),
        reference=reference,
        rounded=reference,
        draw_weights=lambda _rng: {},
        draw_activations=lambda _rng, _family: {"x": np.arange(64, dtype=np.float32)},
        families=("only",),
        streamed=("x",),
    )


@pytest.mark.parametrize(("value", "ok"), [(np.inf, True), (-np.inf, False), (np.nan, False), (1e30, False)])
def test_an_expected_infinity(value: float, ok: bool) -> None:
    spec = infinite_spec()
    inputs = spec.draw_activations(np.random.default_rng(0), "only")
    (prediction,) = BatchReference(spec, {}).predict([(0, inputs)])
    got = prediction.expected["y"].astype(np.float32)
    got[0] = value
    verdict = judge(spec, prediction, inputs, {"y": got})
    assert verdict.ok is ok
    assert verdict.kind == ("ok" if ok else "not-finite")


def test_scale_is_local() -> None:
    """An element with a large error does not widen the bound of another block."""
    expected = np.zeros(1024)
    rounded = np.zeros(1024)
    rounded[:256] = 1.0
    scale = error_scale(expected, rounded, 0.0, "bf16")
    assert scale[0] == pytest.approx(1.0)
    assert scale[300] < 1e-30
