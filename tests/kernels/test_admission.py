"""A spec that cannot tell right from wrong is refused, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import ml_dtypes
import numpy as np
import pytest
from kernelwright.kernels import rms_norm
from kernelwright.kernels.admission import SpecRefused, admit
from kernelwright.kernels.registry import TINY
from kernelwright.kernels.spec import Argument, Expected, Inputs, KernelSpec, Tolerance

N = 64


def scale_spec(
    *,
    scale: float = 1.0,
    draw: Callable[[np.random.Generator], Inputs] | None = None,
    reference: Callable[[Inputs], Expected] | None = None,
    absolute: float = 1e-2,
) -> KernelSpec:
    """y = w * x of N elements, with weights of about ``scale``."""

    def product(inputs: Inputs) -> Expected:
        return {"y": inputs["w"].astype(np.float64) * inputs["x"].astype(np.float64)}

    def weights(rng: np.random.Generator) -> Inputs:
        return {"w": (rng.standard_normal(N) * scale).astype(ml_dtypes.bfloat16)}

    return KernelSpec(
        name="scale",
        summary="elementwise product",
        dimensions={"N": N},
        arguments=(
            Argument("w", "bf16", (N,), role="weight"),
            Argument("x", "bf16", (N,)),
            Argument("y", "bf16", (N,), "out"),
        ),
        tolerance=Tolerance(absolute=absolute, relative=1e-2),
        reference=reference or product,
        rounded=reference or product,
        draw_weights=draw or weights,
        draw_activations=lambda rng, _family: {"x": (rng.standard_normal(N) + 3).astype(ml_dtypes.bfloat16)},
        families=("only",),
        streamed=("w",),
    )


def test_the_small_kernel_is_admitted() -> None:
    admit(rms_norm.tiny(), 5)
    admit(rms_norm.spec(), 6)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("seed", range(3))
def test_the_built_in_kernels_are_admitted(name: str, seed: int) -> None:
    admit(TINY[name](), seed)


def test_a_small_spec_is_admitted() -> None:
    admit(scale_spec())


def test_near_zero_results_are_refused_when_both_gates_let_zeros_pass() -> None:
    def vanishing(inputs: Inputs) -> Expected:
        return {"y": np.zeros(N) * inputs["x"].astype(np.float64)}

    with pytest.raises(SpecRefused, match=r"scale, family 'only': zeros would pass as y"):
        admit(scale_spec(reference=vanishing))


def test_results_that_drown_in_their_own_rounding_are_refused() -> None:
    """Sums that cancel to less than the error of rounded intermediates: then zeros are as good as anything."""

    def exact(inputs: Inputs) -> Expected:
        return {"y": inputs["w"].astype(np.float64) * 1e-4}

    def rounded(inputs: Inputs) -> Expected:
        return {"y": inputs["w"].astype(np.float64) * 1e-3}

    with pytest.raises(SpecRefused, match="would pass as y"):
        admit(replace(scale_spec(), reference=exact, rounded=rounded))


def test_a_constant_result_is_refused() -> None:
    with pytest.raises(SpecRefused, match="a constant would pass as y"):
        admit(scale_spec(reference=lambda _inputs: {"y": np.full(N, 2.0)}))


def test_an_update_that_changes_nothing_is_refused() -> None:
    spec = scale_spec()
    arguments = (spec.arguments[0], spec.arguments[1], Argument("y", "bf16", (N,), "inout"))

    def activations(rng: np.random.Generator, _family: str) -> Inputs:
        x, y = rng.standard_normal((2, N)).astype(ml_dtypes.bfloat16)
        return {"x": x, "y": y}

    def keep(inputs: Inputs) -> Expected:
        return {"y": inputs["y"].astype(np.float64)}

    with pytest.raises(SpecRefused, match="what was there before would pass as y"):
        admit(replace(spec, arguments=arguments, draw_activations=activations, reference=keep, rounded=keep))


def test_a_copy_of_an_input_is_refused() -> None:
    with pytest.raises(SpecRefused, match="a copy of x would pass as y"):
        admit(scale_spec(reference=lambda inputs: {"y": inputs["x"].astype(np.float64)}))


def test_an_output_is_looked_at_on_its_own() -> None:
    """One lively output does not excuse another that is always zero."""
    spec = scale_spec()

    def both(inputs: Inputs) -> Expected:
        return {**spec.reference(inputs), "z": np.zeros(N)}

    arguments = (*spec.arguments, Argument("z", "bf16", (N,), "out"))
    with pytest.raises(SpecRefused, match="zeros would pass as z"):
        admit(replace(spec, arguments=arguments, reference=both, rounded=both))


def test_a_tolerance_tighter_than_the_output_dtype_is_refused() -> None:
    spec = replace(scale_spec(), tolerance=Tolerance(absolute=1e-6, relative=1e-6))
    with pytest.raises(SpecRefused, match="rounded to its output dtype fails its own gates"):
        admit(spec)


MISTAKES: dict[str, tuple[KernelSpec, str]] = {
    "weights missing": (scale_spec(draw=lambda _rng: {}), "draw_weights does not draw w"),
    "weights unknown": (
        scale_spec(draw=lambda _rng: {"w": np.ones(N, ml_dtypes.bfloat16), "u": np.ones(1)}),
        "draw_weights draws u, which it should not",
    ),
    "another dtype": (scale_spec(draw=lambda _rng: {"w": np.ones(N)}), "draws w as float64"),
    "another shape": (
        scale_spec(draw=lambda _rng: {"w": np.ones(3, ml_dtypes.bfloat16)}),
        r"draws w as bfloat16 \(3,\)",
    ),
    "NaN drawn": (
        scale_spec(draw=lambda _rng: {"w": np.full(N, np.nan, ml_dtypes.bfloat16)}),
        "values of w that are not finite",
    ),
    "reference incomplete": (scale_spec(reference=lambda _inputs: {}), "reference does not give y"),
    "reference in f32": (
        scale_spec(reference=lambda _inputs: {"y": np.ones(N, np.float32)}),
        "reference gives y as float32",
    ),
    "reference not finite": (
        scale_spec(reference=lambda _inputs: {"y": np.full(N, np.inf)}),
        "reference of y is not finite",
    ),
    "nothing streamed": (replace(scale_spec(), streamed=()), "'streamed' names no argument"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told(mistake: str) -> None:
    spec, message = MISTAKES[mistake]
    with pytest.raises(SpecRefused, match=message):
        admit(spec)


def test_a_draw_that_ignores_its_seed_is_refused() -> None:
    numbers = count(1)
    spec = scale_spec(draw=lambda _rng: {"w": np.full(N, next(numbers), ml_dtypes.bfloat16)})
    with pytest.raises(SpecRefused, match="another w for the same seed"):
        admit(spec)
