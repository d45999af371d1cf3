"""Run the vendor's programs on a candidate's text, confined: native code on hostile input, so it sees nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...sandbox import Finished, Jail, Limits, Mount, SandboxLevel, run_bounded
from ...target import TargetError
from .tool import Tool

_DEVICES = ("/dev/urandom", "/dev/null")
"""Devices without which the vendor's programs, or PyTorch, do not start."""
INSIDE = "/build"
"""Where the working folder is seen inside a full sandbox."""
OUTPUT_LIMIT_BYTES = 64 << 10
_LIMITS = Limits(address_bytes=64 << 30, file_bytes=1 << 30, processes=4096)
"""The address space is large because PyTorch reserves much; what is used is bounded by what the sandboxed program needs."""


def run(
    jail: Jail,
    tool: Tool,
    folder: Path,
    argv: Sequence[str],
    seconds: float,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run ``argv`` with ``folder`` as its writable working folder; the toolchain's own folders are read only."""
    full = jail.level is SandboxLevel.FULL
    here = INSIDE if full else str(folder)
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TMPDIR": here, "HOME": here}
    variables |= environment or {}
    roots = tool.roots or (tool.executable.parent,)
    mounts = [Mount(folder, writable=True, inside=INSIDE), *(Mount(each) for each in roots if _outside_system(each))]
    mounts += [Mount(Path(each), device=True) for each in _DEVICES]
    if not full:
        _reachable(jail, roots)
    hand_over(jail, folder)
    done = run_bounded(
        jail.command_of_owner(argv, _LIMITS, mounts, cwd=INSIDE),
        timeout_seconds=seconds,
        environment=variables,
        cwd=None if full else folder,
        output_limit_bytes=OUTPUT_LIMIT_BYTES,
    )
    if done.status not in (0, None) and re.match(r"bwrap: |launcher: ", done.output):
        # The sandbox itself failed: that says nothing about a design.
        raise TargetError(f"the sandbox does not start: {done.output.strip().splitlines()[0]}")
    return done


def hand_over(jail: Jail, folder: Path) -> None:
    """Give a folder and what lies in it to the user that confined programs run as."""
    if jail.uid >= 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, jail.uid, jail.uid)
        folder.chmod(0o711)  # the sandbox is entered by a root that has given its privileges away


def read_regular(path: Path, limit_bytes: int) -> bytes | None:
    """The content of a file that hostile code may have had a hand in; None unless it is a plain file within the limit."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not path.is_file():
            return None
        content = file.read(limit_bytes + 1)
    return content if len(content) <= limit_bytes else None


def _outside_system(path: Path) -> bool:
    return not path.is_relative_to("/usr")


def _reachable(jail: Jail, roots: Sequence[Path]) -> None:
    """Refuse a toolchain that lies where the sandbox's user cannot go."""
    if jail.uid < 0:
        return
    for root in roots:
        for parent in root.parents:
            if not parent.stat().st_mode & 0o001:
                raise TargetError(
                    f"the sandbox's user cannot reach {root}: {parent} is closed to others; put toolchains elsewhere "
                    "(set KERNELWRIGHT_DATA to a folder such as /var/lib/kernelwright and add them again)"
                )
