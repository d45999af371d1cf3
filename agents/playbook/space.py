"""The design space: whole-kernel designs to start from, and small changes of a design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from .isa import Isa
from .levers import DECODE_SAYS, KERNELS, Design, Lever, Value, levers, weight_format

DesignKey = tuple[tuple[str, Value], ...]


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


def supported(kernel: str, isa: Isa) -> bool:
    """Whether the playbook can write C for ``kernel`` in the dialect of ``isa``."""
    if kernel not in KERNELS:
        return False
    try:
        levers(kernel, isa)
    except KeyError:
        return False
    return True


def start(kernel: str, isa: Isa) -> Design:
    """The design with each lever at its first value."""
    return {lever.name: lever.values[0] for lever in levers(kernel, isa)}


def canonical(design: Design) -> Design:
    """The same design with levers that have no effect at the value that stands for all of them.

    Two designs with the same canonical form have the same C.
    """
    fixed = dict(design)
    if fixed.get("prefetch") == "off" and fixed.get("scale_prefetch", "off") == "off":
        fixed["hint"] = "l2"
    if fixed.get("epilogue") == "head":
        fixed["grain"] = 128
    if fixed.get("pairing") == "fused" and fixed["rows"] == 1:
        fixed["pairing"] = "separate"
    if fixed["rows"] == 1 and fixed.get("down_rows", 1) == 1:
        fixed["order"] = "spread"
    return fixed


def key(design: Design) -> DesignKey:
    """A hashable identity of a design: its canonical levers by name."""
    return tuple(sorted(canonical(design).items()))


def valid(kernel: str, isa: Isa, design: Design) -> bool:
    """Whether ``design`` has a value in range for exactly the levers of ``kernel``."""
    known = {lever.name: lever.values for lever in levers(kernel, isa)}
    return design.keys() == known.keys() and all(design[name] in values for name, values in known.items())


def points(kernel: str, isa: Isa) -> int:
    """How many combinations of lever values there are, before those with the same canonical form are merged."""
    return prod(len(lever.values) for lever in levers(kernel, isa))


def whole_designs(kernel: str, isa: Isa) -> tuple[Whole, ...]:
    """Different structures, in order of promise; those that are not ``first`` are for when small changes are spent."""
    base = start(kernel, isa)
    decode = next(lever for lever in levers(kernel, isa) if lever.name == "decode")
    wholes = []
    for value in decode.values:
        says = DECODE_SAYS[weight_format(kernel), str(value)]
        wholes.append(Whole(f"decode by {value}", says, canonical({**base, "decode": value}), first=value != "table"))
    rows_alone = {"rows": 1, "accumulators": 4, **({"down_rows": 1} if "down_rows" in base else {})}
    structures: tuple[tuple[str, str, Mapping[str, Value]], ...] = (
        (
            "neighbouring rows",
            "rows in flight are neighbours, and lines are asked for one group of rows ahead",
            {"order": "adjacent", "prefetch": "next"},
        ),
        ("one row at a time", "a single stream of weights, with four sums to keep the FMAs apart", rows_alone),
    )
    for title, says, levers_of in structures:
        wholes.append(Whole(title, says, canonical({**base, **levers_of}), first=False))
    return tuple(wholes)


def moves(kernel: str, isa: Isa, design: Design) -> Iterator[tuple[Lever, Value]]:
    """Each lever with each other value, in the order of the levers and of their values; ``decode`` is not one of them."""
    for lever in levers(kernel, isa):
        if lever.name != "decode":
            for value in lever.values:
                if value != design[lever.name]:
                    yield lever, value


def moved(design: Design, changes: Mapping[str, Value]) -> Design | None:
    """``design`` with ``changes``, canonical; None when that is the same design."""
    result = canonical({**design, **changes})
    return None if key(result) == key(design) else result


def small_changes(kernel: str, isa: Isa, design: Design) -> tuple[Change, ...]:
    """Every design that differs from ``design`` in one lever, without duplicates."""
    seen = {key(design)}
    found = []
    for lever, value in moves(kernel, isa, design):
        result = moved(design, {lever.name: value})
        if result is not None and key(result) not in seen:
            seen.add(key(result))
            found.append(Change({lever.name: value}, result))
    return tuple(found)
