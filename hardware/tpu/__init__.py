"""Pallas kernels for Google's TPUs, compiled ahead of time on a machine that has none."""

from .target import TpuTarget

__all__ = ["TpuTarget"]
