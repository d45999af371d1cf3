"""What is installed of the vendor's tools: found, asked for its versions, and checked for pairs that cannot work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...sandbox import Jail, Mount
from ...target import TargetError
from .commands import Version, profile_variable, version_of
from .project import Project

ASK_SECONDS = 60.0
BUILD_SECONDS = 1800.0
"""Wall-clock limit of one run of the compiler: a cold build compiles the vendor's library as well."""
_HOMES = (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"))


@dataclass(frozen=True)
class Tools:
    """What a build is made with. ``versions`` are the answers of the tools, by part of the toolchain's fingerprint."""

    cargo: Path
    homes: Mapping[str, Path]
    project: Project
    versions: Mapping[str, str]
    jail: Jail
    cache: Path
    kernel_variable: str = ""
    build_seconds: float = BUILD_SECONDS

    @property
    def path(self) -> str:
        """The search path in the sandbox: the folder of cargo, then the system's."""
        return f"{self.cargo.parent}:/usr/local/bin:/usr/bin:/bin"

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """What the sandbox shows of the host beside the system: cargo's folder, both homes, and ``/dev/null``."""
        folders = dict.fromkeys([self.cargo.parent, *self.homes.values()])
        outside = [folder for folder in folders if not folder.is_relative_to("/usr")]
        inner = [f for f in outside if not any(f != other and f.is_relative_to(other) for other in outside)]
        return (Mount(Path("/dev/null"), device=True), *(Mount(folder) for folder in inner))

    @property
    def profile_variable(self) -> str:
        """The variable that makes a launch report its cycles."""
        return profile_variable(self.versions["furiosa_opt"])


def find_cargo(configured: str | None) -> Path:
    """Cargo: ``configured``, or the one on the search path. Raises TargetError when there is none."""
    named = shutil.which(configured or "cargo")
    if named is None:
        raise TargetError(
            f"{configured or 'cargo'} is not installed: the visa toolchain needs Rust's pinned nightly and"
            " `cargo binstall cargo-furiosa-opt` (docs/how-to/rngd-visa.md)"
        )
    return Path(named).absolute()


def find_homes(cargo: Path) -> dict[str, Path]:
    """RUSTUP_HOME and CARGO_HOME as they are set, or where rustup puts them; those that exist."""
    found = {}
    for variable, folder in _HOMES:
        named = os.environ.get(variable)
        path = Path(named) if named else Path.home() / folder
        if path.is_dir() and (named or cargo.is_relative_to(Path.home())):
            found[variable] = path.absolute()
    return found


def ask_versions(cargo: Path, homes: Mapping[str, Path], project: Project) -> dict[str, str]:
    """The parts of the fingerprint: tool, nightly, library, runtime, profiling variable. Raises TargetError.

    The tool is asked in the project's folder, where rustup chooses the pinned nightly. The runtime is the kernel driver's
    management tool where that is installed, else what the readings' host says (``not here``).
    """
    tool = _asked([str(cargo), "furiosa-opt", "--version"], homes, project.folder)
    number = re.search(r"\d+\.\d+(?:\.\d+)?\S*", tool)
    if number is None:
        raise TargetError(f"`cargo furiosa-opt --version` gave no version but {tool[:200]!r}")
    rustc = _asked([str(cargo.with_name("rustc")), "--version"], homes, project.folder, needed=False)
    smi = shutil.which("furiosa-smi")
    runtime = _asked([smi, "--version"], homes, project.folder, needed=False) if smi else ""
    found = {
        "furiosa_opt": number.group(),
        "nightly": f"{project.nightly()} ({rustc or 'rustc gives no version'})",
        "library": project.library(),
        "runtime": runtime or "not here",
        "profile_variable": profile_variable(number.group()),
    }
    problem = mismatch(found["furiosa_opt"], found["library"])
    if problem:
        raise TargetError(problem)
    return found


def mismatch(tool: str, library: str) -> str:
    """Why a compiler and a library cannot work together; empty when nothing is known against them.

    0.7 of the compiler with 0.6 of the library was seen to fail in every device function with
    ``FURIOSA_OPT_OUT_DIR not defined`` (participants' notes of the 2026 RNGD kernel contest).
    """
    first, second = version_of(tool), version_of(library)
    if first is None or second is None or first == second:
        return ""
    known = (
        "; this pair fails on a missing FURIOSA_OPT_OUT_DIR" if Version(0, 6) < first and second < Version(0, 7) else ""
    )
    return (
        f"cargo-furiosa-opt {tool} with furiosa-opt-std {library}: they are released together{known};"
        f" install cargo-furiosa-opt {second.major}.{second.minor}, or raise the library in Cargo.toml"
    )


def _asked(argv: list[str], homes: Mapping[str, Path], folder: Path, *, needed: bool = True) -> str:
    environment = {**os.environ, **{name: str(path) for name, path in homes.items()}}
    try:
        done = subprocess.run(
            argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=ASK_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        if not needed:
            return ""
        raise TargetError(f"`{' '.join(argv)}` gives no answer: {error}") from error
    if done.returncode == 0 and done.stdout.strip():
        return done.stdout.strip().splitlines()[0]
    if not needed:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    raise TargetError(
        f"`{' '.join(argv)}` ends with status {done.returncode}: {said[-1] if said else 'nothing was said'};"
        " `cargo binstall cargo-furiosa-opt` installs the compiler"
    )
