"""What a kernel is: arguments, reference, tolerance, inputs, and the bytes that must move.

A spec says nothing about any target. A target derives its own contract from it (the CPU target a C prototype), so that
one spec serves every chip.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

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


@dataclass(frozen=True)
class KernelSpec:
    """An operator to optimize.

    ``dimensions`` are the named sizes that a source may use instead of numbers (so that one source serves tiny and full
    shapes). ``draw_weights`` makes every weight and table, ``draw_activations`` every activation and state; both take a
    NumPy generator, the latter also the name of an input family. ``reference`` is the truth in float64 for one call.
    ``batched`` may compute many calls at once and must agree with ``reference``; see :mod:`.oracle`.
    ``streamed_bytes`` are the bytes of weights and scales that any implementation has to move in one call.
    """

    name: str
    summary: str
    dimensions: Mapping[str, int]
    arguments: tuple[Argument, ...]
    tolerance: Tolerance
    reference: Callable[[Inputs], Expected]
    rounded: Callable[[Inputs], Expected]
    """The same computation with every intermediate rounded to the dtype that the spec names: its error is the yardstick
    of the error model."""
    draw_weights: Callable[[np.random.Generator], Inputs]
    draw_activations: Callable[[np.random.Generator, str], Inputs]
    families: tuple[str, ...]
    """Names of the input families; the first is the ordinary one, used for readings."""
    baselines: Mapping[str, str] = field(default_factory=dict)
    """Baseline source text by target name."""
    streamed: tuple[str, ...] = ()
    """Names of the arguments whose bytes must move in each call."""

    def __post_init__(self) -> None:
        names = [argument.name for argument in self.arguments]
        if len(set(names)) != len(names):
            raise ValueError(f"kernel {self.name}: an argument name is used twice")
        unknown = set(self.streamed) - set(names)
        if unknown:
            raise ValueError(f"kernel {self.name}: streamed names no argument: {', '.join(sorted(unknown))}")
        if not any(argument.writes for argument in self.arguments):
            raise ValueError(f"kernel {self.name}: no argument is written, so there is nothing to check")

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


BatchedReference = Callable[[Sequence[Inputs]], Sequence[Expected]]
