"""A design's source: one text that holds one Rust file, or several.

Each file stands after a line ``//// file: PATH``; a text without such a line is the file :data:`MAIN` alone. A design may
only bring the files that a contest submission may change, so that tests, references and build settings stay the project's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

MAIN = "src/ops.rs"
"""The file of the device functions."""
DEVICE = "src/device"
"""The folder of what they are made of."""
MOST_FILES = 200
_HEAD = "//// file: "
_MARK = re.compile(r"^//// file: (?P<path>.*)$")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class BundleError(ValueError):
    """A text that is no bundle, or brings a file that a design may not. The message names the line or the file."""


def _checked(path: str) -> str:
    pure = PurePosixPath(path)
    plain = str(pure) == path and all(_NAME.fullmatch(part) for part in pure.parts)
    if not plain:
        raise BundleError(f"{path!r} is not a plain relative path")
    if path != MAIN and not (path.startswith(f"{DEVICE}/") and path.endswith(".rs")):
        raise BundleError(f"{path}: a design may bring {MAIN} and Rust files under {DEVICE}/, nothing else")
    return path


def split_bundle(text: str) -> dict[str, str]:
    """The files of a source by path. Raises BundleError."""
    files: dict[str, list[str]] = {}
    current: list[str] | None = None
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        mark = _MARK.match(line.rstrip("\r\n"))
        if mark:
            path = _checked(mark.group("path").strip())
            if path in files:
                raise BundleError(f"line {number}: {path} comes twice")
            current = files[path] = []
        elif current is not None:
            current.append(line)
        elif line.strip() and files == {}:
            return {MAIN: text} if not re.search(rf"^{re.escape(_HEAD)}", text, re.MULTILINE) else _late(number)
    if not files:
        raise BundleError("the source is empty")
    if len(files) > MOST_FILES:
        raise BundleError(f"{len(files)} files; a design may bring {MOST_FILES}")
    return {path: "".join(lines) for path, lines in files.items()}


def _late(number: int) -> dict[str, str]:
    raise BundleError(f"line {number}: text before the first line that begins with {_HEAD!r}")


def join_bundle(files: Mapping[str, str]) -> str:
    """One text of several files, sorted by path; each file ends with a newline. Raises BundleError."""
    if not files:
        raise BundleError("a design without files")
    parts = []
    for path in sorted(files):
        body = files[path]
        if any(_MARK.match(line) for line in body.splitlines()):
            raise BundleError(f"{path}: a line in it begins with {_HEAD!r}")
        parts.append(f"{_HEAD}{_checked(path)}\n{body}" + ("" if body.endswith("\n") or not body else "\n"))
    return "".join(parts)
