"""Checks that need no reference: a known change of the inputs must change the outputs in a known way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .formats import SMALLEST, UNIT_ROUNDOFF
from .spec import Array, Inputs, KernelSpec

Runner = Callable[[Inputs], Inputs]
"""Runs a kernel on complete inputs and returns what every output holds afterwards."""


@dataclass(frozen=True)
class Broken:
    """A relation that did not hold: which, at which element, and the two values (predicted, and got)."""

    relation: str
    argument: str
    index: tuple[int, ...]
    predicted: float
    got: float


def broken_relations(spec: KernelSpec, run: Runner, inputs: Inputs) -> list[Broken]:
    """Run the kernel on ``inputs`` and on every change that the spec declares; say which relations do not hold.

    Both runs round, so that values may differ by twice the published tolerance or by two roundings of the output,
    whichever is larger.
    """
    outputs = run(inputs)
    found = []
    for relation in spec.relations:
        changed = relation.change(inputs)
        if changed is None:
            continue
        after = run(changed)
        for name, values in relation.predict(inputs, outputs).items():
            predicted = np.asarray(values, dtype=np.float64)
            place = _furthest(spec, name, predicted, outputs[name], after[name])
            if place is not None:
                got = float(after[name][place])
                found.append(Broken(relation.name, name, place, float(predicted[place]), got))
    return found


def _furthest(spec: KernelSpec, name: str, predicted: Array, before: Array, after: Array) -> tuple[int, ...] | None:
    """The element furthest beyond what two right runs may differ by; None when there is none."""
    dtype = spec.argument(name).dtype
    got = np.asarray(after, dtype=np.float64)
    size = np.maximum(np.abs(predicted), np.abs(np.asarray(before, dtype=np.float64)))
    bound = np.maximum(
        2.0 * (spec.tolerance.absolute + spec.tolerance.relative * size),
        2.0 * UNIT_ROUNDOFF[dtype] * size + SMALLEST[dtype],
    )
    excess = np.where(np.isfinite(got), np.abs(got - predicted) - bound, np.inf)
    if excess.size == 0 or excess.max() <= 0.0:
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
