"""Where hostile code is compiled and run: processes without privileges, files or network, and with an end."""

from .jail import Jail, Limits, Mount
from .level import SandboxLevel, SandboxReport
from .process import Finished, end_group, run_bounded

__all__ = ["Finished", "Jail", "Limits", "Mount", "SandboxLevel", "SandboxReport", "end_group", "run_bounded"]
