"""RNGD as a target: one chip, two languages. Which one a run uses is the option ``dsl``."""

from __future__ import annotations

from typing import Any

from ..target import Target, TargetError


def RngdTarget(*, dsl: str = "tcl", **options: Any) -> Target:  # noqa: N802 - it stands where a class of targets would
    """Make the target: ``dsl = "tcl"`` (furiosa-tcc, estimates here) or ``"visa"`` (furiosa-opt, readings on a chip).

    ``options`` are those of :class:`.tcl.target.TclTarget` or :class:`.visa.target.VisaTarget`. Raises TargetError.
    """
    if dsl == "tcl":
        from .tcl.target import TclTarget

        return TclTarget(**options)
    raise TargetError(f"dsl is tcl, not {dsl!r}")
