"""What a target brings for its kernels to be searched: a space of designs, written as levers with an emitter.

A space is for one kernel where it stands: target, dimensions, what the compiler predefines, what the probes said. The
chooser asks nothing else of a target, so that a new one is searched by bringing a space (see :mod:`.spaces`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal, Protocol, runtime_checkable

Value = str | int
Design = Mapping[str, Value]
"""One value for each lever of a kernel."""
DesignKey = tuple[tuple[str, Value], ...]

Bottleneck = Literal["memory", "decode", "latency", "overhead"]


@dataclass(frozen=True)
class Lever:
    """A named choice. ``values`` stand in order of promise; the first is where a design starts.

    A ``structural`` lever tells whole designs apart: no small change moves it. Larger values of a lever that ``grows``
    need more of something scarce, such as on-chip memory: where one is refused, larger ones are expected to be.
    """

    name: str
    values: tuple[Value, ...]
    bottleneck: Bottleneck
    says: str
    structural: bool = False
    grows: bool = False


@dataclass(frozen=True)
class Whole:
    """A whole-kernel design: its levers, what it does, and whether it is worth trying before any small change."""

    title: str
    says: str
    design: Design
    first: bool


@dataclass(frozen=True)
class Change:
    """Levers to move together, in a design that differs from its parent in just those."""

    moves: Mapping[str, Value]
    design: Design


@dataclass(frozen=True)
class Place:
    """Where a space is asked for. ``macros`` are what the compiler predefines, by name; ``probes`` valid readings."""

    target: str
    kernel: str
    dimensions: Mapping[str, int] = field(default_factory=dict)
    macros: Mapping[str, str] = field(default_factory=dict)
    probes: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Space(Protocol):
    """The designs of one kernel in one place. Equal places give equal spaces: nothing here depends on time or luck.

    Not every design needs to compile: what the compiler refuses is learned from, and kept away from afterwards.
    """

    @property
    def kernel(self) -> str:
        """The kernel's name."""

    @property
    def levers(self) -> tuple[Lever, ...]:
        """What can be varied, in the order in which it is thought of."""

    def wholes(self) -> tuple[Whole, ...]:
        """Different structures, in order of promise; those not ``first`` are for when small changes are spent."""

    def canonical(self, design: Design) -> Design:
        """The same design with levers that have no effect at the value that stands for all of them.

        Two designs with the same canonical form have the same source.
        """

    def emit(self, design: Design, says: str = "") -> str:
        """The whole source of a design; ``says`` opens its header comment."""


def start(space: Space) -> Design:
    """The design with each lever at its first value."""
    return {lever.name: lever.values[0] for lever in space.levers}


def key(space: Space, design: Design) -> DesignKey:
    """A hashable identity of a design: its canonical levers by name."""
    return tuple(sorted(space.canonical(design).items()))


def valid(space: Space, design: Design) -> bool:
    """Whether ``design`` has a value in range for exactly the levers of the space."""
    known = {lever.name: lever.values for lever in space.levers}
    return design.keys() == known.keys() and all(design[name] in values for name, values in known.items())


def points(space: Space) -> int:
    """How many combinations of lever values there are, before those with the same canonical form are merged."""
    return prod(len(lever.values) for lever in space.levers)


def moved(space: Space, design: Design, changes: Mapping[str, Value]) -> Design | None:
    """``design`` with ``changes``, canonical; None when that is the same design."""
    result = space.canonical({**design, **changes})
    return None if key(space, result) == key(space, design) else result


def small_changes(space: Space, design: Design) -> tuple[Change, ...]:
    """Every design that differs from ``design`` in one lever that is not structural, without duplicates.

    They stand in the order of the levers and of their values.
    """
    seen = {key(space, design)}
    found = []
    for lever in space.levers:
        for value in () if lever.structural else lever.values:
            result = None if value == design[lever.name] else moved(space, design, {lever.name: value})
            if result is not None and key(space, result) not in seen:
                seen.add(key(space, result))
                found.append(Change({lever.name: value}, result))
    return tuple(found)
