"""The lists of packages and package data in pyproject.toml are complete."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
OUTSIDE = {"tests", "scripts", "docs", "benchmarks"}
DATA_SUFFIXES = {".c", ".h", ".md", ".toml", ".py.txt", ".html", ".css"}


def tracked() -> list[Path]:
    """Files of the repository that belong to the package."""
    listed = subprocess.run(["git", "ls-files"], cwd=TOP, check=True, capture_output=True, text=True).stdout
    paths = [Path(line) for line in listed.splitlines()]
    return [path for path in paths if path.parts[0] not in OUTSIDE and not path.parts[0].startswith(".")]


def settings() -> dict[str, object]:
    """The setuptools table of pyproject.toml."""
    table: dict[str, object] = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["setuptools"]
    return table


def test_every_package_is_listed() -> None:
    folders = {path.parent for path in tracked() if path.name == "__init__.py"}
    names = {".".join(("kernelwright", *folder.parts)) for folder in folders}
    packages = settings()["packages"]
    assert isinstance(packages, list)
    assert set(packages) == names


def test_every_data_file_is_listed() -> None:
    package_data = settings()["package-data"]
    assert isinstance(package_data, dict)
    missing = []
    for path in tracked():
        if len(path.parts) < 2 or path.suffix not in DATA_SUFFIXES:
            continue
        # The nearest folder upwards that is a package owns the file.
        owner = next(parent for parent in path.parents if (TOP / parent / "__init__.py").exists())
        patterns = package_data.get(".".join(("kernelwright", *owner.parts)), [])
        if not any(path.relative_to(owner).match(pattern) for pattern in patterns):
            missing.append(str(path))
    assert missing == []
