"""The Cargo project that designs are put into: the contest's skeleton, or any package with device functions."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...target import TargetError
from .bundle import DEVICE, MAIN, join_bundle

LIBRARY = "furiosa-opt-std"
_SKIPPED = shutil.ignore_patterns("target", ".git", "*.pdf")
_LARGE_BYTES = 1 << 20
_OWN_FILES = ("best", "candidate", "entry.sh")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Project:
    """Where device functions live. ``module`` is their path in the crate, ``bench`` the test program that launches them.

    ``fixtures`` are files that the test program reads beside itself on the device, relative to the folder.
    """

    folder: Path
    package: str
    module: str = "ops"
    bench: str = "test_kernels"
    fixtures: tuple[str, ...] = ()

    def function(self, kernel: str) -> str:
        """The path of a kernel's device function, as filters name it."""
        return f"{self.module}::{kernel}"

    def baseline(self) -> str:
        """The project's own device sources as one text. Raises TargetError when there are none."""
        files = {}
        for path in sorted([self.folder / MAIN, *(self.folder / DEVICE).rglob("*.rs")]):
            if path.is_file():
                try:
                    files[path.relative_to(self.folder).as_posix()] = path.read_text(encoding="utf-8")
                except UnicodeDecodeError as error:
                    raise TargetError(f"{path} is not UTF-8 text") from error
        if MAIN not in files:
            raise TargetError(f"{self.folder} has no {MAIN}: name a project with device functions there")
        return join_bundle(files)

    def copy(self, to: Path, files: Mapping[str, str]) -> None:
        """The project without what it has built, with ``files`` in the place of its own device sources."""
        shutil.copytree(self.folder, to, ignore=_SKIPPED, symlinks=False)
        shutil.rmtree(to / DEVICE, ignore_errors=True)
        if DEVICE not in {str(Path(path).parent) for path in files} and not any(p.startswith(DEVICE) for p in files):
            source = self.folder / DEVICE
            if source.is_dir():  # a design of one file uses the project's own parts
                shutil.copytree(source, to / DEVICE)
        for path, text in files.items():
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            (to / path).write_text(text, encoding="utf-8")

    @property
    def stamp(self) -> str:
        """A digest that changes with the size or time of any file of the project; reads none of them."""
        found = hashlib.sha256()
        for path, status in self._files():
            found.update(f"{path} {status.st_ino} {status.st_size} {status.st_mtime_ns}\n".encode())
        return found.hexdigest()[:16]

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for folder, names, files in os.walk(self.folder):
            names[:] = sorted(name for name in names if name not in ("target", ".git"))
            for name in sorted(files):
                path = Path(folder, name)
                yield path, path.stat()

    @property
    def digest(self) -> str:
        """16 hex digits over the project's files, as they are now; of a large one its size and time count."""
        found = hashlib.sha256()
        for path, status in self._files():
            found.update(str(path.relative_to(self.folder)).encode() + b"\0")
            if status.st_size > _LARGE_BYTES:
                found.update(f"{status.st_size} {status.st_mtime_ns}".encode())
            else:
                found.update(path.read_bytes())
        return found.hexdigest()[:16]

    def nightly(self) -> str:
        """The toolchain channel that the project pins. Raises TargetError when it pins none."""
        table = _toml(self.folder / "rust-toolchain.toml").get("toolchain")
        channel = table.get("channel") if isinstance(table, dict) else None
        if not isinstance(channel, str):
            raise TargetError(
                f"{self.folder}/rust-toolchain.toml names no channel; the compiler needs a pinned nightly"
            )
        return channel

    def library(self) -> str:
        """The version of the vendor's library that the project locks. Raises TargetError when it locks none."""
        packages = _toml(self.folder / "Cargo.lock").get("package")
        for each in packages if isinstance(packages, list) else ():
            if isinstance(each, dict) and each.get("name") == LIBRARY:
                return str(each.get("version"))
        raise TargetError(f"{self.folder}/Cargo.lock does not lock {LIBRARY}: run `cargo generate-lockfile` there")


def find_project(folder: str | Path | None, module: str, bench: str, fixtures: tuple[str, ...]) -> Project:
    """The project in ``folder``. Raises TargetError for one that is missing or marks no package for kernel compilation."""
    if folder is None:
        raise TargetError(
            "the visa toolchain needs a project: set [targets.rngd-visa] project to a Cargo project's folder"
        )
    root = Path(folder).expanduser()
    manifest = _toml(root / "Cargo.toml")
    package = manifest.get("package")
    name = package.get("name") if isinstance(package, dict) else None
    metadata = package.get("metadata", {}) if isinstance(package, dict) else {}
    if not isinstance(name, str) or not _NAME.fullmatch(name) or "furiosa-opt" not in metadata:
        raise TargetError(
            f"{root}/Cargo.toml is not a kernel package: it lacks [package] name or [package.metadata.furiosa-opt]"
        )
    for each in fixtures:
        if not (root / each).is_file():
            raise TargetError(f"{root} has no fixture {each}: generate it as the project's README says")
        if Path(each).name in _OWN_FILES:
            raise TargetError(f"fixture {each}: a job has a file of its own called {Path(each).name}")
    return Project(root, name, module, bench, fixtures)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetError(f"{path} is not TOML: {error}") from error
