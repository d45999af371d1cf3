"""What a kernel is: arguments, reference, tolerance, inputs, and the bytes that must move.

A spec says nothing about any target. A target derives its own contract from it (the CPU target a C prototype), so that
one spec serves every chip.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Inputs = Mapping[str, Array]
"""Arguments by name, each in its storage dtype and declared shape (a scalar has shape ())."""
Expected = Mapping[str, NDArray[np.float64]]
"""What every ``out`` and ``inout`` argument must hold after the call, in float64 and the argument's shape."""

DTYPES: Mapping[str, np.dtype[Any]] = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f4e2m1x2": np.dtype(np.uint8),
    "f32": np.dtype(np.float32),
    "i32": np.dtype(np.int32),
}
"""Storage dtype of each element type. ``f4e2m1x2`` is one byte with two e2m1 values, the low nibble first."""

Index = tuple[int | slice, ...]
"""A basic NumPy index: the region of an argument that a call writes."""
Call = tuple[int, Inputs]
"""One call: which copy of the weights it uses, and its activations and state before the call."""

Direction = Literal["in", "out", "inout"]
Role = Literal["weight", "table", "state", "activation"]
"""How an argument lives from call to call.

``weight``: belongs to a layer, read only; a device streams another layer's copy at each call.
``table``: read only and shared by all layers (RoPE tables).
``state``: belongs to a layer and is updated in place (a KV cache).
``activation``: fresh at each call, small.
"""


@dataclass(frozen=True)
class Argument:
    """One argument of a kernel, in the order of its signature."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    direction: Direction = "in"
    role: Role = "activation"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"argument {self.name}: unknown dtype {self.dtype!r}; known: {', '.join(DTYPES)}")
        if self.role in ("weight", "table") and self.direction != "in":
            raise ValueError(f"argument {self.name}: a {self.role} is read only, not {self.direction!r}")

    @property
    def storage(self) -> np.dtype[Any]:
        """The NumPy dtype that holds one element (or one pair of packed f4)."""
        return DTYPES[self.dtype]

    @property
    def bytes(self) -> int:
        """Size of the whole argument, in bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.storage.itemsize

    @property
    def writes(self) -> bool:
        """Whether the kernel leaves a result in it."""
        return self.direction != "in"


@dataclass(frozen=True)
class Tolerance:
    """The published bound on every element: ``|got - expected| <= absolute + relative * |expected|``, and finite."""

    absolute: float
    relative: float


class BatchEngine(Protocol):
    """Many calls of one kernel at once, on prepared weights. Made by :attr:`KernelSpec.prepare`."""

    def run(self, calls: Sequence[Call], rounded: bool) -> list[Expected]:
        """What each call writes, in float64: of an argument named in :attr:`KernelSpec.written` just that region.

        With ``rounded`` the intermediates are rounded as in :attr:`KernelSpec.rounded`.
        """

    def slack(self, calls: Sequence[Call]) -> list[Expected]:
        """What :attr:`KernelSpec.slack` says of each call, for the same regions; an argument left out has none."""


@dataclass(frozen=True)
class Relation:
    """A metamorphic relation: change the inputs in a known way, and the outputs must change in a known way.

    ``change`` maps inputs to other inputs, or to None where the relation does not apply to them. ``predict`` gives, from
    the inputs and the outputs of the unchanged call, what the changed call must leave in the outputs that it names.
    """

    name: str
    change: Callable[[Inputs], Inputs | None]
    predict: Callable[[Inputs, Inputs], Expected]


@dataclass(frozen=True)
class KernelSpec:
    """An operator to optimize.

    ``dimensions`` are the named sizes that a source may use instead of numbers (so that one source serves tiny and full
    shapes). ``draw_weights`` makes every weight and table, ``draw_activations`` every activation and state; both take a
    NumPy generator, the latter also the name of an input family. ``reference`` is the truth in float64 for one call.
    ``streamed`` names the arguments that any implementation has to move in one call.

    A spec is complete with the fields up to ``baselines``; the rest makes checks faster or sharper.
    """

    name: str
    summary: str
    dimensions: Mapping[str, int]
    arguments: tuple[Argument, ...]
    tolerance: Tolerance
    reference: Callable[[Inputs], Expected]
    rounded: Callable[[Inputs], Expected]
    """The same computation with every intermediate rounded to the dtype that the spec names: its error is the yardstick
    of the error model. The final result need not be rounded; the oracle adds that."""
    draw_weights: Callable[[np.random.Generator], Inputs]
    draw_activations: Callable[[np.random.Generator, str], Inputs]
    families: tuple[str, ...]
    """Names of the input families; the first is the ordinary one, used for readings."""
    baselines: Mapping[str, str] = field(default_factory=dict)
    """Baseline source text by target name."""
    streamed: tuple[str, ...] = ()
    """Names of the arguments whose bytes must move in each call."""
    written: Callable[[Inputs], Mapping[str, Index]] | None = None
    """Regions of ``inout`` arguments that a call writes, given its inputs; what lies outside must keep its bits. An
    argument that is not named is written as a whole."""
    slack: Callable[[Inputs], Expected] | None = None
    """Absolute error of f32 accumulation that a right kernel may show, for each element (see
    :func:`.errors.dot_error_bound`), where operands are exact and a sum can cancel."""
    vary_weights: Callable[[Inputs, int], Inputs] | None = None
    """Copy number ``copy`` of drawn weights, for ``copy >= 1``: other contents of the same kind, cheap to predict."""
    prepare: Callable[[Inputs], BatchEngine] | None = None
    """Makes an engine that predicts many calls quickly, from drawn weights (copy 0)."""
    relations: tuple[Relation, ...] = ()
    """Metamorphic relations that hold for the kernel; see :mod:`.metamorphic`."""

    def __post_init__(self) -> None:
        names = [argument.name for argument in self.arguments]
        if len(set(names)) != len(names):
            raise ValueError(f"kernel {self.name}: an argument name is used twice")
        unknown = set(self.streamed) - set(names)
        if unknown:
            raise ValueError(f"kernel {self.name}: streamed names no argument: {', '.join(sorted(unknown))}")
        if not any(argument.writes for argument in self.arguments):
            raise ValueError(f"kernel {self.name}: no argument is written, so there is nothing to check")
        if not self.families:
            raise ValueError(f"kernel {self.name}: there must be at least one input family")

    def argument(self, name: str) -> Argument:
        """The argument called ``name``; KeyError when there is none."""
        for argument in self.arguments:
            if argument.name == name:
                return argument
        raise KeyError(name)

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arguments that the kernel writes."""
        return tuple(argument for argument in self.arguments if argument.writes)

    @property
    def streamed_bytes(self) -> int:
        """Bytes of weights and scales that one call has to move."""
        return sum(self.argument(name).bytes for name in self.streamed)

    def regions(self, inputs: Inputs) -> Mapping[str, Index]:
        """The region that a call writes, for each output; ``()`` is the whole argument."""
        named = self.written(inputs) if self.written is not None else {}
        return {argument.name: named.get(argument.name, ()) for argument in self.outputs}

    def vary(self, weights: Inputs, copy: int) -> Inputs:
        """Copy ``copy`` of drawn ``weights``: every copy has other contents, copy 0 is ``weights`` itself.

        Deterministic in ``weights`` and ``copy``. Without :attr:`vary_weights`, weights of the other copies are drawn
        afresh from a digest of copy 0; tables are shared.
        """
        if copy == 0:
            return weights
        if self.vary_weights is not None:
            return self.vary_weights(weights, copy)
        drawn = self.draw_weights(np.random.default_rng([weights_seed(weights), copy]))
        return {n: weights[n] if self.argument(n).role == "table" else value for n, value in drawn.items()}


def weights_seed(weights: Inputs) -> int:
    """A 64-bit number that depends on drawn weights alone: as secret as the seed that drew them.

    Digests up to 64 KiB of each argument, which is enough to tell draws apart and takes no time.
    """
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(weights):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(weights[name]).reshape(-1).view(np.uint8)[:65536].tobytes())
    return int.from_bytes(digest.digest(), "little")
