"""The command line. Each command is a thin layer over views and the runner; heavy imports happen inside commands."""

from __future__ import annotations

import os

# Plug-ins of pydantic could change how events are read; looking for them costs every command some milliseconds.
os.environ["PYDANTIC_DISABLE_PLUGINS"] = "__all__"

from .main import main

__all__ = ["main"]
