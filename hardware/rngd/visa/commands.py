"""The command lines of the vendor's tools, and the environment that they run in. Nothing here runs anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .project import Project

PROFILE_BEFORE_8 = "TUC_PROFILE_LEVEL"
PROFILE = "FURIOSA_OPT_PROFILE"
"""The variable that makes a launch report its cycles; 0.8 renamed it."""
PROFILE_LEVEL = "info"
"""The level that reports a launch's cycles and no more: at ``trace`` a kernel takes longer."""
INSIDE = "/build"
"""Where the copy of a project lies in the sandbox: the same path for every design, so that paths tell none apart."""
TARGET = f"{INSIDE}/target"
OUT = f"{INSIDE}/kernels"
SCHEDULE = f"{INSIDE}/schedule.json"


@dataclass(frozen=True)
class Version:
    """A version as its first two numbers; ordered."""

    major: int
    minor: int

    def __lt__(self, other: Version) -> bool:
        return (self.major, self.minor) < (other.major, other.minor)


def version_of(text: str) -> Version | None:
    """The first ``N.N`` in a text, None when there is none."""
    for word in text.replace("v", " ").split():
        parts = word.split(".")
        if len(parts) >= 2 and all(re.fullmatch(r"[0-9]{1,6}", part) for part in parts[:2]):
            return Version(int(parts[0]), int(parts[1]))
    return None


def profile_variable(tool_version: str) -> str:
    """The profiling variable of a version; of one that cannot be read, the newer name."""
    version = version_of(tool_version)
    return PROFILE_BEFORE_8 if version is not None and version < Version(0, 8) else PROFILE


def compile_command(cargo: str, project: Project, kernel: str) -> list[str]:
    """Compile one device function and dump its schedule; ``--exact``, for a filter is a substring otherwise."""
    function = project.function(kernel)
    options = ["--exact", "-p", project.package, "--message-format", "json", "--dump-schedule", SCHEDULE]
    return [cargo, "furiosa-opt", "compile", function, *options]


def bench_command(cargo: str, project: Project) -> list[str]:
    """Build the test program for the device; its path comes in a ``compiler-artifact`` message."""
    options = ["--release", "--test", project.bench, "-p", project.package, "--message-format", "json"]
    return [cargo, "furiosa-opt", "build", *options]


def values_command(cargo: str, project: Project) -> list[str]:
    """Run the test program on the CPU: plain cargo is the CPU build."""
    return [cargo, "test", "--release", "--test", project.bench, "-p", project.package]


def environment(path: str, homes: Mapping[str, Path], kernel: str, kernel_variable: str = "") -> dict[str, str]:
    """What the tools see: one target folder and one kernel folder of this design alone, and no network.

    ``homes`` are RUSTUP_HOME and CARGO_HOME. ``kernel_variable`` is what the project's test program reads the only kernel
    to run from, empty when it runs all of them.
    """
    found = {
        "PATH": path,
        "HOME": INSIDE,
        "TMPDIR": INSIDE,
        "LC_ALL": "C",
        "CARGO_TARGET_DIR": TARGET,
        "FURIOSA_OPT_OUT_DIR": OUT,
        "CARGO_NET_OFFLINE": "true",
        "CARGO_TERM_COLOR": "never",
        "CARGO_INCREMENTAL": "0",
    }
    found |= {name: str(folder) for name, folder in homes.items()}
    return found | ({kernel_variable: kernel} if kernel_variable else {})
