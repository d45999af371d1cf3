"""Kernel specs: what has to be computed, how right is right, and how many bytes must move."""
