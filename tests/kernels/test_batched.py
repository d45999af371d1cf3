"""Predictions of many calls on many copies of the weights, against one reference call at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernelwright.kernels.oracle import BatchReference
from kernelwright.kernels.registry import TINY
from kernelwright.kernels.spec import Call, KernelSpec

COPIES = 5


def calls_of(spec: KernelSpec, seed: int) -> list[Call]:
    return [
        (number % COPIES, spec.draw_activations(np.random.default_rng([seed, number]), family))
        for number, family in enumerate(spec.families * 2)
    ]


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("name", TINY)
def test_batched_is_the_single_call(name: str, rounded: bool) -> None:
    spec = TINY[name]()
    weights = spec.draw_weights(np.random.default_rng(21))
    calls = calls_of(spec, 22)
    for (copy, inputs), prediction in zip(calls, BatchReference(spec, weights).predict(calls), strict=True):
        compute = spec.rounded if rounded else spec.reference
        single = compute({**spec.vary(weights, copy), **inputs})
        for argument in spec.outputs:
            region = prediction.regions[argument.name]
            got = (prediction.rounded if rounded else prediction.expected)[argument.name]
            wanted = single[argument.name][region]
            size = np.abs(wanted).max()
            if rounded:  # an f32 sum in another order may fall to the other side of a tie: a rounding apart, rarely
                close = np.abs(got - wanted) <= 1e-9 * size
                assert np.mean(close) > 0.9
                np.testing.assert_allclose(got, wanted, rtol=0.05, atol=0.05 * size)
            else:
                np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * size)


@pytest.mark.parametrize("name", TINY)
def test_whole_outputs_are_those_of_the_reference(name: str) -> None:
    spec = TINY[name]()
    weights = spec.draw_weights(np.random.default_rng(23))
    calls = calls_of(spec, 24)[:3]
    for (copy, inputs), whole in zip(calls, BatchReference(spec, weights).expected(calls), strict=True):
        single = spec.reference({**spec.vary(weights, copy), **inputs})
        assert whole.keys() == single.keys()
        for argument, values in whole.items():
            np.testing.assert_allclose(values, single[argument], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", TINY)
def test_slack_is_that_of_the_spec(name: str) -> None:
    spec = TINY[name]()
    weights = spec.draw_weights(np.random.default_rng(25))
    calls = calls_of(spec, 26)[:4]
    for (copy, inputs), prediction in zip(calls, BatchReference(spec, weights).predict(calls), strict=True):
        single = spec.slack({**spec.vary(weights, copy), **inputs}) if spec.slack is not None else {}
        assert prediction.slack.keys() == single.keys()
        for argument, values in prediction.slack.items():
            np.testing.assert_allclose(values, single[argument], rtol=1e-6)
            assert np.all(values > 0)


@pytest.mark.parametrize("name", TINY)
def test_copies_differ_and_are_deterministic(name: str) -> None:
    spec = TINY[name]()
    weights = spec.draw_weights(np.random.default_rng(27))
    assert spec.vary(weights, 0) is weights
    contents: dict[str, set[bytes]] = {n: set() for n in spec.streamed}
    outputs = set()
    inputs = spec.draw_activations(np.random.default_rng(28), "normal")
    for copy in range(COPIES):
        varied, again = spec.vary(weights, copy), spec.vary(weights, copy)
        assert varied.keys() == weights.keys()
        for argument in spec.arguments:
            if argument.name in varied:
                assert varied[argument.name].shape == argument.shape
                assert varied[argument.name].dtype == argument.storage
                assert varied[argument.name].tobytes() == again[argument.name].tobytes()
        for streamed in spec.streamed:
            contents[streamed].add(varied[streamed].tobytes())
        results = spec.reference({**varied, **inputs})
        outputs.add(b"".join(results[a.name].tobytes() for a in spec.outputs))
    assert all(len(found) == COPIES for found in contents.values())
    assert len(outputs) == COPIES


@pytest.mark.parametrize("name", TINY)
def test_a_spec_without_engine_or_variation_works_the_same_way(name: str) -> None:
    full = TINY[name]()
    spec = replace(full, prepare=None, vary_weights=None)
    weights = spec.draw_weights(np.random.default_rng(29))
    calls = calls_of(spec, 30)[:6]
    predictions = BatchReference(spec, weights).predict(calls)
    with_engine = BatchReference(full, weights).predict(calls)
    for (copy, inputs), prediction, other in zip(calls, predictions, with_engine, strict=True):
        single = spec.reference({**spec.vary(weights, copy), **inputs})
        for argument in spec.outputs:
            wanted = single[argument.name][prediction.regions[argument.name]]
            np.testing.assert_array_equal(prediction.expected[argument.name], wanted)
            same = np.allclose(prediction.expected[argument.name], other.expected[argument.name], rtol=1e-9, atol=1e-9)
            assert same == (copy == 0)  # the other copies are drawn afresh, not rotated
    tables = [a.name for a in spec.arguments if a.role == "table"]
    assert all(spec.vary(weights, 1)[name] is weights[name] for name in tables)
