"""Is a kernel fit to be optimized? A task that a wrong answer would pass is refused when it is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .oracle import BatchReference, Prediction, judge
from .spec import Argument, Array, Inputs, KernelSpec


class SpecRefused(Exception):
    """A kernel spec that cannot tell right from wrong, or contradicts itself. The message says where."""


def admit(spec: KernelSpec, seed: int = 0) -> None:
    """Draw inputs of every family and see that the spec is consistent and that trivial answers fail.

    Trivial answers are zeros, outputs left as they were, a copy of an input, and a constant (the mean of what is
    expected). Needs a reference computation for each family, which takes seconds for a large kernel.

    Raises SpecRefused with the reason.
    """
    weights = _drawn(spec, "draw_weights", seed)
    _match(spec, weights, "draw_weights", [a for a in spec.arguments if a.role in ("weight", "table")])
    if not spec.streamed_bytes:
        raise SpecRefused(f"{spec.name}: 'streamed' names no argument, so there is no floor to compare with")
    calls = []
    for number, family in enumerate(spec.families):
        inputs = spec.draw_activations(np.random.default_rng([seed, number]), family)
        fresh = [a for a in spec.arguments if a.role in ("activation", "state") and a.direction != "out"]
        _match(spec, inputs, f"draw_activations, family {family!r}", fresh)
        calls.append((0, inputs))
    _match_reference(spec, {**weights, **calls[0][1]})
    predictions = BatchReference(spec, weights).predict(calls)
    for family, (_, inputs), prediction in zip(spec.families, calls, predictions, strict=True):
        _refuse_unless_finite(spec, family, prediction)
        right = {a.name: _stored(a, prediction, inputs, prediction.expected[a.name]) for a in spec.outputs}
        verdict = judge(spec, prediction, inputs, right)
        if not verdict.ok:
            reason = f"fails its own gates at {verdict.argument}{list(verdict.index)}: {verdict.reason}"
            raise SpecRefused(f"{spec.name}, family {family!r}: the reference rounded to its output dtype {reason}")
        for what, outputs in _trivial(spec, {**weights, **inputs}, prediction):
            if judge(spec, prediction, inputs, outputs).ok:
                raise SpecRefused(
                    f"{spec.name}, family {family!r}: {what} would pass as right; draw larger values, "
                    "or make the tolerance tighter"
                )


def _drawn(spec: KernelSpec, what: str, seed: int) -> Inputs:
    drawn = spec.draw_weights(np.random.default_rng(seed))
    again = spec.draw_weights(np.random.default_rng(seed))
    for name, values in drawn.items():
        if name not in again or values.tobytes() != again[name].tobytes():
            raise SpecRefused(
                f"{spec.name}: {what} gave another {name} for the same seed; draw from the generator alone"
            )
    return drawn


def _match(spec: KernelSpec, arrays: Inputs, what: str, wanted: list[Argument]) -> None:
    """Refuse a draw that does not hold exactly the arguments ``wanted``, each in its dtype and shape, all finite."""
    names = {argument.name for argument in wanted}
    if missing := names - arrays.keys():
        raise SpecRefused(f"{spec.name}: {what} does not draw {', '.join(sorted(missing))}")
    if unknown := arrays.keys() - names:
        raise SpecRefused(f"{spec.name}: {what} draws {', '.join(sorted(unknown))}, which it should not")
    for argument in wanted:
        array = arrays[argument.name]
        if array.dtype != argument.storage or array.shape != argument.shape:
            raise SpecRefused(
                f"{spec.name}: {what} draws {argument.name} as {array.dtype} {array.shape}, "
                f"but it is declared {argument.storage} {argument.shape}"
            )
        if argument.dtype in ("bf16", "f8e4m3", "f32") and not np.isfinite(array.astype(np.float32)).all():
            raise SpecRefused(f"{spec.name}: {what} draws values of {argument.name} that are not finite")


def _match_reference(spec: KernelSpec, inputs: Inputs) -> None:
    for what, compute in (("reference", spec.reference), ("rounded", spec.rounded)):
        outputs = compute(inputs)
        for argument in spec.outputs:
            if argument.name not in outputs:
                raise SpecRefused(f"{spec.name}: {what} does not give {argument.name}")
            array = np.asarray(outputs[argument.name])
            if array.shape != argument.shape or array.dtype != np.float64:
                raise SpecRefused(
                    f"{spec.name}: {what} gives {argument.name} as {array.dtype} {array.shape}, "
                    f"expected float64 {argument.shape}"
                )


def _refuse_unless_finite(spec: KernelSpec, family: str, prediction: Prediction) -> None:
    for name, values in prediction.expected.items():
        if not np.isfinite(values).all():
            raise SpecRefused(f"{spec.name}, family {family!r}: the reference of {name} is not finite everywhere")


def _trivial(spec: KernelSpec, inputs: Inputs, prediction: Prediction) -> Iterator[tuple[str, Inputs]]:
    """Wrong answers that cost nothing, each with a name. Unchanged outputs hold zeros where nothing was before."""

    def made(fill: Callable[[Argument], Array]) -> Inputs:
        return {a.name: _stored(a, prediction, inputs, fill(a)) for a in spec.outputs}

    yield "zeros", made(lambda a: np.zeros_like(prediction.expected[a.name]))
    yield "a constant", made(lambda a: np.full_like(prediction.expected[a.name], prediction.expected[a.name].mean()))
    if any(argument.direction == "inout" for argument in spec.outputs):
        kept = {a.name: np.array(inputs[a.name]) for a in spec.outputs if a.direction == "inout"}
        zeros = {a.name: np.zeros(a.shape, a.storage) for a in spec.outputs if a.direction == "out"}
        yield "leaving the outputs as they are", {**kept, **zeros}
    for source in spec.arguments:
        if source.direction == "out" or source.dtype not in ("bf16", "f32") or not source.shape:
            continue
        values = inputs[source.name].astype(np.float64).ravel()
        yield f"a copy of {source.name}", made(lambda a, v=values: np.resize(v, prediction.expected[a.name].shape))


def _stored(argument: Argument, prediction: Prediction, inputs: Inputs, values: Array) -> Array:
    """A whole output in its storage dtype, with ``values`` in the region that the call writes."""
    region = prediction.regions[argument.name]
    whole = np.array(inputs[argument.name]) if region != () else np.empty(argument.shape, argument.storage)
    whole[region] = values.astype(argument.storage)
    return whole
