"""The default target: C kernels on the processor of this host."""

from .target import CpuTarget

__all__ = ["CpuTarget"]
