"""What holds when nothing is said; apart from the configuration, so that commands that only read need not load that."""

from __future__ import annotations

DEFAULT_STORE = "kernelwright.sqlite"
"""The log, in the working directory."""
