"""Results beside those that others read on the same device, where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def references(summary: dict[str, Any], parts: Mapping[str, str] | None) -> list[dict[str, Any]]:
    """The bests beside the official and public results, where they were read as those were: visa kernels on the chip."""
    if parts is None or parts.get("dsl") != "visa":
        return []
    from ..hardware.rngd.visa.reference import compared

    found = []
    for kernel in summary["kernels"]:
        read = kernel["best_seconds"] if kernel["provisional"] is None else None
        beside = compared(kernel["name"], read) if read else None
        found += [{"kernel": kernel["name"], **beside}] if beside is not None else []
    return found


def reference_lines(summary: dict[str, Any], parts: Mapping[str, str] | None) -> list[str]:
    """:func:`references` for people."""
    return [
        f"{each['kernel']}: {each['cycles']:,.0f} cycles,"
        f" {each['speedup_over_official_baseline']:.2f}x the official baseline,"
        f" {each['ratio_to_public_best']:.2f}x the cycles of the best public result"
        for each in references(summary, parts)
    ]
