"""A kernel file: the attention output kernel at a size that takes microseconds."""

from kernelwright.kernels.sliding_attention_output import tiny

SPEC = tiny()
