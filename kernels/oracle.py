"""Is a result right? Two gates on every element, against a float64 reference.

The *published* gate is the kernel's tolerance. The *error model* asks more: the error may be a small multiple of what the
same computation shows when its intermediates are rounded to the dtype that the spec names. A kernel that drops an
element, sums in bf16 or skips small terms fails it even where the tolerance would let it pass; one that sums in f32, in
whatever order, passes it even where large terms cancel.

The local scale of the error is, for each element, the root mean square of ``rounded - reference`` over its block (256
neighbours along the last axis), together with the rounding of the element itself and, where a spec gives it, the slack
for f32 sums. No element may be off by more than :data:`ELEMENT_MULTIPLE` scales, and no block by more than
:data:`BLOCK_MULTIPLE` in the root mean square. The second is the sharper one: a wrong term moves all elements of a
block, and the mean over 256 of them leaves little to chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .formats import SMALLEST, UNIT_ROUNDOFF
from .spec import Argument, Array, BatchEngine, Call, Expected, Index, Inputs, KernelSpec

ELEMENT_MULTIPLE = 8.0
"""Largest error of one element, in local scales. Errors of right kernels are about normal, so that four are rare."""
BLOCK_MULTIPLE = 2.0
"""Largest root mean square error of a block, in local scales."""
BLOCK = 256
"""Elements along the last axis that share one scale."""
_SHORT = 32
_NEVER_ZERO = 1e-300

Kind = Literal["ok", "wrong-value", "not-finite"]


@dataclass(frozen=True)
class Prediction:
    """What one call must leave behind, for each output: the region that it writes, and in it (float64) the reference,
    the same with rounded intermediates, and the slack of f32 sums where the spec gives one."""

    regions: Mapping[str, Index]
    expected: Expected
    rounded: Expected
    slack: Expected


@dataclass(frozen=True)
class Judgement:
    """Whether outputs are right; if not, the element that is furthest out.

    ``index`` is the element's place in the whole argument. ``bound`` is the error allowed there. ``worst_ratio`` is the
    largest error over its bound that was seen in any gate, also when all is well (then at most 1).
    """

    ok: bool
    kind: Kind
    argument: str
    index: tuple[int, ...]
    got: float
    expected: float
    bound: float
    worst_ratio: float
    reason: str


class BatchReference:
    """Predicts what calls must write, for many calls at once. Made once per set of weights; see :meth:`predict`."""

    def __init__(self, spec: KernelSpec, weights: Inputs) -> None:
        """``weights`` are copy 0, as :attr:`KernelSpec.draw_weights` made them."""
        self.spec = spec
        self._engine: BatchEngine = spec.prepare(weights) if spec.prepare is not None else _CallByCall(spec, weights)

    def predict(self, calls: Sequence[Call]) -> list[Prediction]:
        """One prediction for each call: the number of its copy of the weights, and its inputs before the call.

        The inputs must hold every argument that is not a weight, a table or an ``out``.
        """
        expected = self._engine.run(calls, rounded=False)
        rounded = self._engine.run(calls, rounded=True)
        slack = self._engine.slack(calls)
        regions = [self.spec.regions(inputs) for _, inputs in calls]
        return [Prediction(*parts) for parts in zip(regions, expected, rounded, slack, strict=True)]

    def expected(self, calls: Sequence[Call]) -> list[Expected]:
        """The float64 reference of each call, every output as a whole, as :attr:`KernelSpec.reference` gives it."""
        results: list[Expected] = []
        for (_, inputs), written in zip(calls, self._engine.run(calls, rounded=False), strict=True):
            regions = self.spec.regions(inputs)
            whole: dict[str, NDArray[np.float64]] = {}
            for name, values in written.items():
                whole[name] = values
                if regions[name] != ():
                    whole[name] = inputs[name].astype(np.float64)
                    whole[name][regions[name]] = values
            results.append(whole)
        return results


class _CallByCall:
    """The engine of a spec that brings none: the reference, once for each call, on weights made anew each time."""

    def __init__(self, spec: KernelSpec, weights: Inputs) -> None:
        self.spec, self.weights = spec, weights

    def _inputs(self, call: Call) -> Inputs:
        copy, inputs = call
        return {**self.spec.vary(self.weights, copy), **inputs}

    def run(self, calls: Sequence[Call], rounded: bool) -> list[Expected]:
        """The written regions of each call."""
        compute = self.spec.rounded if rounded else self.spec.reference
        results: list[Expected] = []
        for call in calls:
            inputs = self._inputs(call)
            regions = self.spec.regions(inputs)
            whole = compute(inputs)
            results.append({name: _region(whole[name], index) for name, index in regions.items()})
        return results

    def slack(self, calls: Sequence[Call]) -> list[Expected]:
        """What the spec allows for f32 sums; nothing when it says nothing."""
        if self.spec.slack is None:
            return [{} for _ in calls]
        results: list[Expected] = []
        for call in calls:
            inputs = self._inputs(call)
            regions = self.spec.regions(inputs)
            results.append({name: _region(values, regions[name]) for name, values in self.spec.slack(inputs).items()})
        return results


def _region(values: Array, index: Index) -> NDArray[np.float64]:
    return np.asarray(np.asarray(values, dtype=np.float64)[index])


def judge(spec: KernelSpec, prediction: Prediction, before: Inputs, got: Inputs) -> Judgement:
    """Compare outputs with a prediction.

    ``before`` holds the inputs of the call, ``got`` every output after it, each in its storage dtype and shape. Elements
    of an ``inout`` argument outside its region must have kept their bits. Raises ValueError when an output is missing or
    has another dtype or shape, which is a mistake of the caller and no property of a kernel.
    """
    worst = 0.0
    for argument in spec.outputs:
        array = _checked(argument, got)
        index = prediction.regions[argument.name]
        if argument.direction == "inout" and index != ():
            changed = _changed_outside(argument, index, before[argument.name], array)
            if changed is not None:
                return changed
        verdict = _judge_region(spec, argument, prediction, np.asarray(array[index], dtype=np.float64), worst)
        if not verdict.ok:
            return verdict
        worst = verdict.worst_ratio
    return Judgement(True, "ok", "", (), 0.0, 0.0, 0.0, worst, "every element is within both bounds")


def error_scale(expected: Array, rounded: Array, slack: Array | float, dtype: str) -> NDArray[np.float64]:
    """The local scale of the error, for each element: see the module. All arrays have the same shape; float64.

    ``dtype`` is the element type of the output, whose rounding is part of the scale.
    """
    spread = np.sqrt(_block_means(np.square(rounded - expected)))
    rounding = UNIT_ROUNDOFF[dtype] / np.sqrt(3.0) * np.abs(expected) + SMALLEST[dtype]
    scale: NDArray[np.float64] = np.hypot(spread, rounding) + slack / ELEMENT_MULTIPLE + _NEVER_ZERO
    return scale


@dataclass(frozen=True)
class _Gate:
    """A bound on every element: ``ratio`` is error over bound, and the element that ``rank`` puts first gets the blame."""

    ratio: NDArray[np.float64]
    rank: NDArray[np.float64]
    bound: NDArray[np.float64]
    reason: str


def _judge_region(
    spec: KernelSpec, argument: Argument, prediction: Prediction, got: NDArray[np.float64], worst: float
) -> Judgement:
    """Judge what was written of one output; ``worst`` is the largest ratio seen in the outputs before it."""
    name = argument.name
    expected = prediction.expected[name]
    for gate in _gates(spec, argument, prediction, got):
        if gate.ratio.max(initial=0.0) > 1.0:
            place = np.unravel_index(int(np.argmax(gate.rank)), gate.rank.shape)
            return Judgement(
                ok=False,
                kind="not-finite" if np.isinf(gate.rank[place]) else "wrong-value",
                argument=name,
                index=_whole_index(argument, prediction.regions[name], tuple(int(i) for i in place)),
                got=float(got[place]),
                expected=float(expected[place]),
                bound=float(gate.bound[place]),
                worst_ratio=max(worst, float(gate.ratio.max())),
                reason=gate.reason,
            )
        worst = max(worst, float(gate.ratio.max(initial=0.0)))
    return Judgement(True, "ok", name, (), 0.0, 0.0, 0.0, worst, "")


def _gates(spec: KernelSpec, argument: Argument, prediction: Prediction, got: NDArray[np.float64]) -> Iterator[_Gate]:
    expected = prediction.expected[argument.name]
    finite = np.isfinite(expected)
    agree = np.where(finite, np.isfinite(got), (got == expected) | (np.isnan(got) & np.isnan(expected)))
    disagreement = np.where(agree, 0.0, np.inf)
    yield _Gate(
        disagreement, disagreement, np.zeros_like(expected), "not finite where the reference is, or the reverse"
    )
    # From here on, elements that are rightly not finite count as right: they have no error and no scale.
    error = np.abs(np.where(finite, got, 0.0) - np.where(finite, expected, 0.0))
    expected = np.where(finite, expected, 0.0)
    rounded = prediction.rounded[argument.name]
    rounded = np.where(np.isfinite(rounded), rounded, expected)
    tolerance = np.maximum(spec.tolerance.absolute + spec.tolerance.relative * np.abs(expected), _NEVER_ZERO)
    yield _Gate(error / tolerance, error / tolerance, tolerance, "beyond the published tolerance")
    scale = error_scale(expected, rounded, prediction.slack.get(argument.name, 0.0), argument.dtype)
    in_scales = error / scale
    yield _Gate(
        in_scales / ELEMENT_MULTIPLE,
        in_scales,
        ELEMENT_MULTIPLE * scale,
        f"off by more than {ELEMENT_MULTIPLE:g} times the error that rounded intermediates cause",
    )
    block = np.sqrt(_block_means(np.square(in_scales))) / BLOCK_MULTIPLE
    yield _Gate(
        block,
        np.where(block > 1.0, in_scales, 0.0),
        BLOCK_MULTIPLE * scale,
        f"in a block whose RMS error is more than {BLOCK_MULTIPLE:g} times what rounded intermediates cause",
    )


def _block_means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over each element's block, in the shape of ``values``.

    Blocks are nearly equal pieces of the last axis; where that axis is too short for a mean to say anything, they are
    pieces of the flattened array.
    """
    if values.size == 0:
        return values
    rows = values.reshape(-1, values.shape[-1] if values.ndim and values.shape[-1] >= _SHORT else values.size)
    length = rows.shape[-1]
    edges = np.linspace(0, length, max(1, round(length / BLOCK)) + 1).astype(np.intp)
    counts = np.diff(edges)
    means = np.add.reduceat(rows, edges[:-1], axis=-1) / counts
    return np.repeat(means, counts, axis=-1).reshape(values.shape)


def _checked(argument: Argument, got: Inputs) -> Array:
    if argument.name not in got:
        raise ValueError(f"output {argument.name} is missing")
    array = got[argument.name]
    if array.dtype != argument.storage or array.shape != argument.shape:
        found, wanted = f"{array.dtype} {array.shape}", f"{argument.storage} {argument.shape}"
        raise ValueError(f"output {argument.name} is {found}, expected {wanted}")
    return array


def _changed_outside(argument: Argument, index: Index, before: Array, after: Array) -> Judgement | None:
    """The first element outside the region whose bits changed; None when there is none."""
    raw = np.dtype(f"u{argument.storage.itemsize}")
    differs = np.ascontiguousarray(before).view(raw) != np.ascontiguousarray(after).view(raw)
    differs[index] = False
    if not differs.any():
        return None
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(differs)), differs.shape))
    return Judgement(
        ok=False,
        kind="wrong-value",
        argument=argument.name,
        index=place,
        got=float(after[place]),
        expected=float(before[place]),
        bound=0.0,
        worst_ratio=float("inf"),
        reason="changed an element that the call must keep",
    )


def _whole_index(argument: Argument, region: Index, place: tuple[int, ...]) -> tuple[int, ...]:
    """Where element ``place`` of a region lies in the whole argument."""
    numbers = np.arange(int(np.prod(argument.shape, dtype=np.int64))).reshape(argument.shape)
    number = int(numbers[region][place])
    return tuple(int(i) for i in np.unravel_index(number, argument.shape))
