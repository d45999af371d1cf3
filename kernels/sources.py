"""Baseline sources of the built-in kernels, shipped with the package."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

_SUFFIXES = {"cpu": ".c", "tpu": ".py", "rngd": ".tcl"}


def baselines(kernel: str) -> Mapping[str, str]:
    """Baseline source text of a built-in ``kernel``, by target name: every target that has one."""
    root = resources.files(__package__ or "") / "baselines"
    found = {}
    for target, suffix in _SUFFIXES.items():
        source = root / target / f"{kernel}{suffix}"
        if source.is_file():
            found[target] = source.read_text(encoding="utf-8")
    return found
