"""Is a kernel fit to be optimized? A task that a wrong answer would pass is refused when it is registered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .oracle import BatchReference, Prediction, judge
from .spec import Argument, Array, Inputs, KernelSpec


class SpecRefused(Exception):  # noqa: N818 - a verdict on a spec, named as such
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
        for what, name, wrong in _trivial(spec, {**weights, **inputs}, prediction):
            if judge(spec, prediction, inputs, {**right, name: wrong}).ok:
                raise SpecRefused(
                    f"{spec.name}, family {family!r}: {what} would pass as {name}; draw larger values, "
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


def _trivial(spec: KernelSpec, inputs: Inputs, prediction: Prediction) -> Iterator[tuple[str, str, Array]]:
    """Wrong answers that cost nothing: what each is, the output that it is given for, and that output."""
    sources = [a for a in spec.arguments if a.direction != "out" and a.dtype in ("bf16", "f32") and a.shape]
    for argument in spec.outputs:
        name, expected = argument.name, prediction.expected[argument.name]
        yield "zeros", name, _stored(argument, prediction, inputs, np.zeros_like(expected))
        yield "a constant", name, _stored(argument, prediction, inputs, np.full_like(expected, expected.mean()))
        if argument.direction == "inout":
            yield "what was there before", name, np.array(inputs[name])
        for source in sources:
            values = np.resize(inputs[source.name].astype(np.float64), expected.shape)
            yield f"a copy of {source.name}", name, _stored(argument, prediction, inputs, values)


def _stored(argument: Argument, prediction: Prediction, inputs: Inputs, values: Array) -> Array:
    """A whole output in its storage dtype, with ``values`` in the region that the call writes."""
    region = prediction.regions[argument.name]
    whole = np.array(inputs[argument.name]) if region != () else np.empty(argument.shape, argument.storage)
    whole[region] = values.astype(argument.storage)
    return whole
