"""Toolchains that are Python packages: each in an isolated environment of its own, made once and never changed.

An environment is a virtual environment under the data folder, at ``toolchains/<target>/<name>``. It is made beside its
final place, checked by running a program of the target's in it, and renamed into place: one that is there is whole.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from .target import TargetError

DATA_VARIABLE = "KERNELWRIGHT_DATA"
"""Environment variable that names another data folder."""
_RECORD = "kernelwright-toolchain.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
INSTALL_SECONDS = 3600.0
CHECK_SECONDS = 300.0
SHOWN_LINES = 6
"""How many of the last lines of a failed installer are shown."""


@dataclass(frozen=True)
class ToolchainOption:
    """An option of ``kernelwright toolchain add TARGET``: ``--name VALUE``, or ``--name`` alone for a ``flag``."""

    name: str
    help: str
    default: str = ""
    flag: bool = False


@dataclass(frozen=True)
class Recipe:
    """How an environment is made.

    ``requirements`` are arguments of pip. ``check`` are arguments of the environment's Python; the program must end with
    status 0, and its last line of output be a JSON object of facts (versions, say). ``describe`` tells a person what will
    be installed, licences included where they matter.
    """

    name: str
    requirements: tuple[str, ...]
    describe: str
    check: tuple[str, ...]


@dataclass(frozen=True)
class Environment:
    """A toolchain that is there. ``facts`` is what the check said when it was made."""

    target: str
    name: str
    path: Path
    facts: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The environment's Python."""
        return self.path / "bin" / "python"


@runtime_checkable
class Installs(Protocol):
    """A target whose toolchains can be installed. It can be made, with no options, where there is none yet."""

    def toolchain_options(self) -> tuple[ToolchainOption, ...]:
        """What can be chosen."""

    def recipe(self, options: Mapping[str, str]) -> Recipe:
        """How to make the toolchain that is asked for (a flag that is set is ``"yes"``).

        Raises TargetError for options that cannot work together.
        """


def data_folder() -> Path:
    """Where toolchains lie."""
    given = os.environ.get(DATA_VARIABLE)
    if given:
        return Path(given)
    from platformdirs import user_data_path

    return user_data_path("kernelwright")


def environments(target: str) -> tuple[Environment, ...]:
    """The toolchains of a target that are there, by name."""
    folder = data_folder() / "toolchains" / target
    # What begins with a dot is being made, or what a name points to.
    places = sorted(path for path in folder.glob(f"*/{_RECORD}") if not path.parent.name.startswith("."))
    found = [_read(target, path) for path in places]
    return tuple(each for each in found if each is not None)


def toolchain_lines() -> list[str]:
    """A line for each target whose toolchains can be installed: those that are there, or the command that adds one."""
    from .discovery import find_target, target_names

    lines = []
    for name in target_names():
        try:
            if not isinstance(find_target(name, {}), Installs):
                continue
            found = environments(name)
        except TargetError as error:
            lines.append(f"target {name}: {error}")
            continue
        there = ", ".join(each.name for each in found) or f"none; add one: kernelwright toolchain add {name}"
        lines.append(f"toolchains of target {name}: {there}")
    return lines


def find_environment(target: str, name: str) -> Environment:
    """The toolchain called ``name``. Raises TargetError with the names that are there, and how to add one."""
    known = environments(target)
    for each in known:
        if each.name == name:
            return each
    there = f"there are: {', '.join(each.name for each in known)}" if known else "there is none yet"
    raise TargetError(
        f"no toolchain {name!r} of target {target}; {there}. Add one: kernelwright toolchain add {target}"
    )


def add_environment(target: str, recipe: Recipe, told: Callable[[str], None], base: Path | None = None) -> Environment:
    """Make the environment of a recipe, or find it. ``told`` is given a line for each stage; ``base`` is the Python to use.

    Raises TargetError when it cannot be made, with the end of what the installer said; nothing is left behind then.
    """
    if not _NAME.fullmatch(recipe.name):
        raise TargetError(f"{recipe.name!r} cannot be the name of a toolchain: letters, digits and . _ + - only")
    place = data_folder() / "toolchains" / target / recipe.name
    there = _read(target, place / _RECORD)
    if there is not None:
        told(f"{target} {recipe.name} is there already: {place}")
        return there
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".{recipe.name}-", dir=place.parent))
    except OSError as error:
        raise TargetError(f"the folder of toolchains {place.parent} cannot be written: {error.strerror}") from error
    try:
        facts = _make(making, recipe, base or Path(sys.executable), told)
        # Installed programs name their interpreter by its path, so the environment is moved by a link to where it lies.
        record = {"name": recipe.name, "requirements": recipe.requirements, "facts": facts}
        (making / _RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
        making.chmod(0o755)
        _place(making, place)
    except OSError as error:
        raise TargetError(f"making {target} {recipe.name} failed: {error.strerror or error}") from error
    finally:
        if not place.exists() or place.resolve() != making.resolve():
            shutil.rmtree(making, ignore_errors=True)
    return Environment(target, recipe.name, place, facts)


def remove_environment(target: str, name: str) -> None:
    """Delete a toolchain. Raises TargetError when there is none of that name."""
    found = find_environment(target, name)
    behind = found.path.resolve()
    if found.path.is_symlink():
        found.path.unlink()
    shutil.rmtree(behind, ignore_errors=True)


def _place(making: Path, place: Path) -> None:
    """Make the finished environment appear under its name, in one step."""
    link = making.with_name(f"{making.name}.link")
    link.symlink_to(making.name, target_is_directory=True)
    link.replace(place)


def _make(folder: Path, recipe: Recipe, base: Path, told: Callable[[str], None]) -> dict[str, str]:
    told(f"making an environment for {recipe.name}")
    python = str(folder / "bin" / "python")
    if importlib.util.find_spec("pip") is not None:
        # This Python's own pip installs into the environment, which then needs none: that saves seconds.
        without, pip = ["--without-pip"], [sys.executable, "-m", "pip", "--python", python]
    else:
        without, pip = [], [python, "-m", "pip"]
    _run([str(base), "-m", "venv", *without, str(folder)], "an environment cannot be made", INSTALL_SECONDS)
    told(f"installing {' '.join(recipe.requirements)} (this can take minutes)")
    install = [*pip, "install", "--disable-pip-version-check", "--no-input", *recipe.requirements]
    _run(install, f"{recipe.name} cannot be installed", INSTALL_SECONDS)
    told("checking it")
    said = _run([python, *recipe.check], f"{recipe.name} is installed and does not work", CHECK_SECONDS)
    last = said.strip().splitlines()[-1] if said.strip() else ""
    try:
        facts = json.loads(last)
    except json.JSONDecodeError as error:
        raise TargetError(f"the check of {recipe.name} did not end with its facts, but with: {last[:200]!r}") from error
    return {str(key): str(value) for key, value in facts.items()}


def _run(command: Sequence[str], what: str, seconds: float) -> str:
    """Run a program to its end and return its standard output; TargetError with the end of what it said otherwise."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"{what}: it did not end within {seconds:.0f} s") from error
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise TargetError(f"{what}: " + " | ".join(line.strip() for line in lines[-SHOWN_LINES:]))
    return done.stdout


def _read(target: str, record: Path) -> Environment | None:
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, json.JSONDecodeError) as error:
        raise TargetError(f"the record of a toolchain, {record}, cannot be read: {error}") from error
    facts = {str(key): str(value) for key, value in content["facts"].items()}
    return Environment(target, str(content["name"]), record.parent, facts)
