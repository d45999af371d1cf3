"""A text that changes whenever one of some files is replaced: cheap enough to ask for before every step."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def stamps(paths: Iterable[Path]) -> list[str]:
    """Place, size and time of each file or folder, or why it cannot be looked at; a few system calls each."""
    found = []
    for path in paths:
        try:
            status = path.stat()
            found.append(f"{path.resolve()} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
        except OSError as error:
            found.append(f"{path} {error.strerror}")
    return found
