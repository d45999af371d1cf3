"""Where a design is built: a folder of its own, kept for a while, so that what every design needs is compiled once for it.

A folder is never shared between designs, and its kernels are removed before each compilation: what the compiler leaves is
from the source that lies there. A proof asks for a folder that nothing was ever built in.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...target import TargetError
from .tools import Tools

KEPT = 3
"""Designs whose folders are kept; the ones used longest ago go first. A cold one holds the library's build: gigabytes."""
_MADE = ("target", "kernels")


def root() -> Path:
    """Where folders lie: in the system's temporary folder, for the sandbox's user has to reach them. One for each user.

    Raises TargetError when somebody else has taken the name.
    """
    path = Path(tempfile.gettempdir()) / f"kernelwright-visa-{os.geteuid()}"
    path.mkdir(mode=0o711, exist_ok=True)
    status = path.lstat()
    if path.is_symlink() or status.st_uid != os.geteuid():
        raise TargetError(f"{path} belongs to somebody else: remove it, or set TMPDIR to a folder of your own")
    path.chmod(0o711)
    return path


@contextmanager
def design_folder(tools: Tools, files: Mapping[str, str]) -> Iterator[Path]:
    """The folder of a design: a fresh copy of project and sources over what it has built before. One holder at a time."""
    text = json.dumps([dict(tools.versions), tools.project.digest, dict(files)], sort_keys=True)
    home = root() / hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
    descriptor = _hold(home)
    try:
        folder, kept = home / "project", home / "kept"
        shutil.rmtree(kept, ignore_errors=True)
        built = folder / "target"
        if built.is_dir() and not built.is_symlink():
            built.rename(kept)
        shutil.rmtree(folder, ignore_errors=True)
        _fill(tools, folder, files)
        if kept.exists():
            # The compiler's own store of kernels goes: it is asked again, whatever it thinks it knows.
            shutil.rmtree(kept / "furiosa-opt", ignore_errors=True)
            shutil.rmtree(folder / "target")
            kept.rename(folder / "target")
        _give(tools, folder)
        yield folder
        os.utime(home)
    finally:
        os.close(descriptor)
    _forget(home)


def _hold(home: Path) -> int:
    """Take a folder, which is made if need be; the descriptor of its lock."""
    while True:
        home.mkdir(mode=0o711, exist_ok=True)
        try:
            home.chmod(0o711)
            descriptor = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:  # another process has just forgotten the folder
            continue
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # forgotten while it was waited for


@contextmanager
def new_folder(tools: Tools, files: Mapping[str, str]) -> Iterator[Path]:
    """A folder in which nothing was ever built, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="new-", dir=root()) as name:
        Path(name).chmod(0o711)
        folder = Path(name, "project")
        _fill(tools, folder, files)
        _give(tools, folder)
        yield folder


def _fill(tools: Tools, folder: Path, files: Mapping[str, str]) -> None:
    tools.project.copy(folder, files)
    for made in _MADE:
        (folder / made).mkdir(exist_ok=True)


def _give(tools: Tools, folder: Path) -> None:
    """Hand a folder over to the uid that the sandbox runs under; links are changed, never what they point to."""
    if tools.jail.uid < 0:
        return
    for path, folders, names in os.walk(folder):
        for each in ("", *folders, *names):
            os.chown(Path(path, each), tools.jail.uid, tools.jail.uid, follow_symlinks=False)


def _forget(latest: Path) -> None:
    """Remove the folders that were used longest ago and that nobody holds."""
    homes = [each for each in latest.parent.iterdir() if each.is_dir() and (each / "lock").exists()]
    for home in sorted(homes, key=lambda each: each.stat().st_mtime, reverse=True)[KEPT:]:
        try:
            descriptor = os.open(home / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # another process removed it meanwhile
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # it is being built in
            continue
        else:
            shutil.rmtree(home, ignore_errors=True)
        finally:
            os.close(descriptor)
