"""The command line. Each command is a thin layer over views and the runner; heavy imports happen inside commands."""

from __future__ import annotations

from .main import main

__all__ = ["main"]
