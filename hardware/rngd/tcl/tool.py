"""The vendor's programs: ``furiosa-tcc``, and the Python environment that evaluates TCL for values where it is installed.

They are the user's own installation under the vendor's licence. Nothing of them ships with this package.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...environments import Environment, Recipe, ToolchainOption, environments, find_environment
from ...target import TargetError

TARGET = "rngd"
RELEASES = ("2026.4.0", "2026.3.0")
"""Releases of furiosa-tcc that were tried with this package, the newest first."""
PES = (2, 4, 8)
"""How many processing elements a design may be compiled for; the compiler knows no other number on one chip."""
ASK_SECONDS = 120.0
HOW_TO_GET = f"kernelwright toolchain add {TARGET} --tcc {RELEASES[0]}"
_NOTICE = (
    "furiosa-tcc, furiosa-torch and furiosa-kernels are FuriosaAI's, under the vendor's licence: by installing them you"
    " accept it. They go into an environment of their own, and no part of them is part of Kernelwright."
)
_CHECK = """
import importlib.metadata as m, json, pathlib, subprocess, sys
tcc = pathlib.Path(sys.executable).parent / "furiosa-tcc"
said = subprocess.run([tcc, "--version"], capture_output=True, text=True, check=True).stdout.strip()
helps = subprocess.run([tcc, "--help"], capture_output=True, text=True, check=True).stdout
facts = {"tcc": said, "estimates": "yes" if "--evaluate-tcl" in helps else "no", "values": "no"}
if WANTED:
    from furiosa.torch import TclModule
    facts["values"] = " ".join(f"{p} {m.version(p)}" for p in ("furiosa-torch", "furiosa-kernels", "torch"))
print(json.dumps(facts))
"""


@dataclass(frozen=True)
class Tool:
    """An installed toolchain. ``python`` runs programs of the environment that evaluates for values, None without one.

    ``roots`` are the folders that a sandbox has to show for the programs to start.
    """

    executable: Path
    version: str
    estimates: bool
    values: str
    python: Path | None
    roots: tuple[Path, ...]

    @functools.cached_property
    def digest(self) -> str:
        """A digest of the executable (12 hex digits)."""
        with self.executable.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:12]

    @property
    def stamp(self) -> str:
        """A text that changes when the executable is replaced."""
        status = self.executable.stat()
        return f"{self.executable} {status.st_ino} {status.st_size} {status.st_mtime_ns} {self.values}"


def options() -> tuple[ToolchainOption, ...]:
    """What can be chosen of a toolchain."""
    return (
        ToolchainOption("tcc", f"release of furiosa-tcc (tried: {', '.join(RELEASES)})", default=RELEASES[0]),
        ToolchainOption("torch-env", "also furiosa-torch of that release, for values: 7 GB", flag=True),
    )


def recipe(chosen: Mapping[str, str]) -> Recipe:
    """The environment of a toolchain. Raises TargetError for a release that has no evaluation."""
    release = chosen.get("tcc", RELEASES[0])
    if not re.fullmatch(r"\d{4}\.\d+(\.\w+)*", release):
        raise TargetError(f"{release!r} is no release of furiosa-tcc; tried: {', '.join(RELEASES)}")
    torch = chosen.get("torch-env") == "yes"
    requirements = (f"furiosa-tcc=={release}", *((f"furiosa-torch=={release}",) if torch else ()))
    size = "about 7 GB on disk, some minutes" if torch else "57 MB to fetch, 180 MB on disk"
    return Recipe(
        name=f"tcc-{release}{'-torch' if torch else ''}",
        requirements=requirements,
        describe=f"{' and '.join(requirements)} ({size}). {_NOTICE}",
        check=("-c", _CHECK.replace("WANTED", str(torch))),
    )


def find_tool(toolchain: str | None) -> Tool:
    """The toolchain called ``toolchain``; without a name the best of those installed, or one on the search path.

    The best has values, then the newest release. Raises TargetError, with the command that would fix it, when there is none.
    """
    if toolchain is not None:
        return _of_environment(find_environment(TARGET, toolchain))
    installed = environments(TARGET)
    if installed:
        return _of_environment(max(installed, key=_worth))
    beside = Path(sys.executable).with_name("furiosa-tcc")
    found = str(beside) if beside.exists() else shutil.which("furiosa-tcc")
    if found is None:
        raise TargetError(f"furiosa-tcc is not installed: {HOW_TO_GET}")
    executable = Path(found).resolve()
    return Tool(
        executable, _ask(executable, "--version"), "--evaluate-tcl" in _ask(executable, "--help"), "no", None, ()
    )


def _worth(each: Environment) -> tuple[bool, bool, tuple[int, ...]]:
    numbers = tuple(int(number) for number in re.findall(r"\d+", each.name))
    return each.facts.get("estimates") == "yes", each.facts.get("values", "no") != "no", numbers


def _of_environment(found: Environment) -> Tool:
    # What the name points to: a sandbox shows the folder itself, and programs in it name their interpreter there.
    folder = found.path.resolve()
    executable = folder / "bin" / "furiosa-tcc"
    if not os.access(executable, os.X_OK):
        raise TargetError(f"toolchain {found.name} has no furiosa-tcc; remove it and add it again: {HOW_TO_GET}")
    facts = found.facts
    values = facts.get("values", "no")
    python = folder / "bin" / "python" if values != "no" else None
    roots = (folder, *((_base(folder),) if python is not None else ()))
    return Tool(executable, facts.get("tcc", "unknown"), facts.get("estimates") == "yes", values, python, roots)


def _base(folder: Path) -> Path:
    """The prefix of the Python that an environment was made with."""
    for line in (folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home":
            return Path(value.strip()).resolve().parent
    raise TargetError(f"{folder} is no environment: its pyvenv.cfg names no Python")


def _ask(executable: Path, question: str) -> str:
    try:
        done = subprocess.run(
            [str(executable), question], capture_output=True, text=True, timeout=ASK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{executable} does not answer {question}: {error}") from error
    if done.returncode != 0:
        raise TargetError(f"{executable} {question} ends with status {done.returncode}: {done.stderr.strip()[:200]}")
    return done.stdout.strip()


def release_of(version: str) -> str:
    """The release in what ``furiosa-tcc --version`` says, such as ``2026.4.0``; ``unknown`` where there is none."""
    found = re.search(r"\bv(\d{4}(?:\.\w+)+)", version)
    return found.group(1) if found else "unknown"


def facts_of(tool: Tool) -> dict[str, str]:
    """What identifies a toolchain, as named parts."""
    return {
        "tcc": tool.version,
        "tcc_digest": tool.digest,
        "estimates": "furiosa-tcc --evaluate-tcl" if tool.estimates else "none",
        "values": tool.values if tool.values != "no" else "none",
    }
