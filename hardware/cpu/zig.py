"""What the compiler in the PyPI package ``ziglang`` needs beyond a usual one: a cache that builds share.

Zig compiles its own C library stubs at first use, which takes many seconds; without a cache every build would do so.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def find_zig() -> tuple[str, ...] | None:
    """The C compiler of the package, or None where it is not installed."""
    found = importlib.util.find_spec("ziglang")
    if found is None or not found.submodule_search_locations:
        return None
    program = Path(found.submodule_search_locations[0]) / "zig"
    return (str(program), "cc") if program.exists() else None


def is_zig(command: tuple[str, ...]) -> bool:
    """Whether a compiler command is Zig's."""
    return Path(command[0]).name == "zig"


def cache_folder() -> Path:
    """Where Zig keeps what it compiled for itself: one folder per user, in the system's temporary folder, so that the
    unprivileged user of the sandbox reaches it."""
    return Path(tempfile.gettempdir()) / f"kernelwright-zig-{os.geteuid()}"


def environment() -> Mapping[str, str]:
    """The variables that make Zig use :func:`cache_folder`."""
    folder = str(cache_folder())
    return {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}


def hand_over(uid: int) -> None:
    """Make the cache writable for the user of the sandbox. ``uid`` -1 is the caller, who can write it already."""
    folder = cache_folder()
    folder.mkdir(mode=0o755, exist_ok=True)
    if folder.stat().st_uid not in (os.geteuid(), uid):
        raise PermissionError(f"{folder} belongs to another user")
    if uid < 0:
        return
    for place, folders, files in os.walk(folder):
        for name in (place, *(os.path.join(place, each) for each in (*folders, *files))):  # noqa: PTH118 - many files
            os.lchown(name, uid, uid)
