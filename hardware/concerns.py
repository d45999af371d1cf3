"""Which parts of a toolchain a fact rests on, so that a change makes stale just what it touches.

A target that can tell its parts apart has a method ``parts_of``; for any other target every fact rests on every part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

from .target import Target

Concern = Literal["compile", "value", "chip", "runtime", "code"]
"""``compile``: whether a source builds, and what is said of it; ``value``: what it computes; ``chip``: how fast the
hardware is; ``runtime``: what starting and joining threads costs; ``code``: how fast compiled code runs."""
CONCERNS: tuple[Concern, ...] = ("compile", "value", "chip", "runtime", "code")


@runtime_checkable
class NamesParts(Protocol):
    """A target that says which of its toolchain's parts matter for what."""

    def parts_of(self, concern: Concern) -> Sequence[str]:
        """Names of the parts that a fact of this kind rests on, sorted."""


def depends_on(target: Target, concern: Concern) -> tuple[str, ...]:
    """The parts that a fact of this kind rests on under ``target``; empty means all of them."""
    return tuple(target.parts_of(concern)) if isinstance(target, NamesParts) else ()


def affected(target: Target, changed: Sequence[str]) -> tuple[Concern, ...]:
    """What kinds of facts a change of the named parts touches. A part that no concern names touches every kind."""
    if not changed:
        return ()
    if not isinstance(target, NamesParts):
        return CONCERNS
    named = {concern: set(target.parts_of(concern)) for concern in CONCERNS}
    if any(all(part not in names for names in named.values()) for part in changed):
        return CONCERNS
    return tuple(concern for concern in CONCERNS if named[concern].intersection(changed))
