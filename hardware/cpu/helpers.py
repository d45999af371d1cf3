"""The target's own C programs (conductor, worker, launcher), compiled once by the compiler that designs use."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import platformdirs

from ..target import TargetError
from .toolchain import Compiler, ask

CACHE_VARIABLE = "KERNELWRIGHT_CACHE"
"""Environment variable that names the cache folder."""
_SOURCES = ("conductor.c", "worker.c", "launcher.c", "favour.h", "protocol.h", "seccomp.h")


def cache_folder(configured: Path | None = None) -> Path:
    """Where built things are kept: ``configured``, the variable KERNELWRIGHT_CACHE, or the user's cache folder."""
    if configured is not None:
        return configured
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("kernelwright") / "cpu"


@dataclass(frozen=True)
class Helpers:
    """Paths of the compiled programs."""

    conductor: Path
    worker: Path
    launcher: Path


def compile_helpers(compiler: Compiler, cache: Path) -> Helpers:
    """The programs, from ``cache`` or compiled into it. Raises TargetError when that fails or the folder is read-only."""
    texts = {name: resources.files(__package__).joinpath("c", name).read_text() for name in _SOURCES}
    digest = hashlib.sha256("\0".join([compiler.fingerprint, *texts.values()]).encode()).hexdigest()[:24]
    home = cache / "helpers" / digest
    names = ("conductor", "worker", "launcher")
    if all((home / name).exists() for name in names):
        return Helpers(*(home / name for name in names))
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            for name, text in texts.items():
                Path(folder, name).write_text(text)
            for name in names:
                # The worker brings the OpenMP runtime, so that loading a design opens no further file.
                openmp = ["-fopenmp"] if name == "worker" and compiler.openmp else []
                flags = ["-O2", "-std=gnu11", *openmp, f"{name}.c", "-o", f"{name}.new", "-ldl", "-lm", "-pthread"]
                status, said = ask(compiler.command, *flags, cwd=Path(folder))
                if status != 0:
                    raise TargetError(f"{' '.join(compiler.command)} does not compile {name}.c: {said[:500]}")
                Path(folder, f"{name}.new").replace(home / name)
    except OSError as error:
        raise TargetError(f"the cache folder {cache} is not usable: {error.strerror}; set {CACHE_VARIABLE}") from error
    return Helpers(*(home / name for name in names))
