"""Acceptance: evidence and a policy in, a verdict out. Pure functions: no I/O, no clock, no global random state."""
