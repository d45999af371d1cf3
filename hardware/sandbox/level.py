"""How well this machine can confine a process, as a value that callers show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SandboxLevel(StrEnum):
    """``full``: own user, process, network, IPC and mount namespaces as well. ``reduced``: none of them.

    Both levels drop privileges, groups and environment, limit resources, forbid gaining privileges, and filter a
    design's system calls.
    """

    FULL = "full"
    REDUCED = "reduced"


@dataclass(frozen=True)
class SandboxReport:
    """The level in use, what that means, and, when it is not full, what is missing and the command that would fix it."""

    level: SandboxLevel
    description: str
    missing: str = ""
    fix: str = ""
