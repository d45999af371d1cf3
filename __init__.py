"""Kernelwright: learns an AI accelerator and optimizes kernels for it, every step an event."""

__version__ = "0.1.0"
