"""The default target: C kernels on the processor of this host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .target import CpuTarget

if TYPE_CHECKING:
    from pathlib import Path

    from ..sandbox.jail import Wanted

__all__ = ["CpuTarget", "doctor"]


def doctor(compiler: str | None = None, sandbox: Wanted = "auto", cache: Path | None = None) -> dict[str, Any]:
    """What this machine offers and what is missing; see :func:`.diagnosis.doctor`."""
    from .diagnosis import doctor as examine

    return examine(compiler, sandbox, cache)
