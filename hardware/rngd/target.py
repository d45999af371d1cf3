"""RNGD as a target: one chip, two languages. This one is TCL; Rust is the target ``rngd-visa``, since what is learned of one
language says nothing of the other.
"""

from __future__ import annotations

from typing import Any

from ..target import Target, TargetError


def RngdTarget(*, dsl: str = "tcl", **options: Any) -> Target:  # noqa: N802 - it stands where a class of targets would
    """Make the target: ``dsl = "tcl"`` (furiosa-tcc, estimates here); the other language has a target of its own.

    ``options`` are those of :class:`.tcl.target.TclTarget`. Raises TargetError.
    """
    if dsl == "tcl":
        from .tcl.target import TclTarget

        return TclTarget(**options)
    if dsl == "visa":
        raise TargetError("kernels in Rust are a target of their own, with knowledge of their own: --target rngd-visa")
    raise TargetError(f"dsl is tcl (or visa, as the target rngd-visa), not {dsl!r}")
