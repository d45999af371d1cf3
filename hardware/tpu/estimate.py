"""The estimate of a build: its timeline, as it was kept beside the program."""

from __future__ import annotations

from ...kernels.spec import KernelSpec
from ..study import Estimate
from ..target import Build
from .summary import MODEL, Summary, read


def kept(build: Build) -> Summary | None:
    """The summary of a build; None when it is not kept any more, or the build failed."""
    if build.path is None:
        return None
    try:
        return read(build.path.with_name("summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def estimate(spec: KernelSpec, build: Build) -> Estimate | None:
    """The prediction for one call (seconds), and numbers worth keeping; None for a build that is not kept."""
    summary = kept(build)
    if summary is None:
        return None
    parts = summary.parts
    moved = sum(part.hbm_bytes for part in parts)
    details = {
        "busy_seconds": sum(part.busy_seconds for part in parts),
        "waiting_seconds": sum(part.waiting_seconds for part in parts),
        "hbm_bytes": moved,
        "hbm_bytes_per_weight_byte": moved / spec.streamed_bytes if spec.streamed_bytes else 0.0,
        "steps": float(sum(part.steps for part in parts)),
        "steps_waiting": float(sum(part.steps_waiting for part in parts)),
        "kernels": float(summary.kernels),
        "operations": float(len(parts)),
        "spill_cycles": sum(part.spill_operations for part in parts),
        "whole": float(summary.whole),
        "assumed_branches": float(summary.assumed_branches),
    }
    return Estimate(summary.seconds, MODEL, details, summary.limit)
