"""The C toolchain of this host: which compiler, with which flags, on which processor.

A compiler is usable when it makes a shared object from C; one with OpenMP is preferred over one without. What was found
is kept for the life of the process, and the fingerprint names parts by content, never by where they are installed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..target import TargetError, Toolchain
from . import zig
from .machine import Machine

COMMON_FLAGS = ("-O3", "-march=native", "-std=gnu11", "-fPIC", "-fvisibility=hidden")
"""How every design is compiled; ``-fopenmp`` is added where the compiler has it. No fast-math."""
LINK_FLAGS = ("-shared", "-nostartfiles", "-Wl,-z,now", "-Wl,-z,noexecstack", "-Wl,--build-id=none")
"""How it is linked. Without start files there is no initializer in an artifact unless its source asked for one."""
QUICK_SECONDS = 180.0
"""Wall-clock limit for the small questions put to a compiler. Zig may have to compile its own library first."""
NO_COMPILER = "no C compiler: run `apt-get install gcc` (Debian, Ubuntu) or `pip install ziglang`"

_TRIAL = """#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif
__attribute__((visibility("default"))) float trial(const float *x, int n) {
  float s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < n; i++) s += sqrtf(x[i]);
  return s;
}
"""


@dataclass(frozen=True)
class Compiler:
    """A C compiler that made a shared object here. ``flags`` are those for compiling and linking a design."""

    command: tuple[str, ...]
    version: str
    """Path-independent: name, version, packaging, machine."""
    flags: tuple[str, ...]
    openmp: bool
    macros: Mapping[str, str]
    """The compiler's predefined macros under ``flags``: what the instruction set is decided from."""
    notes: tuple[str, ...] = ()
    """What was passed over on the way, and why."""

    @property
    def fingerprint(self) -> str:
        """A digest of version, flags and macros (16 hex digits)."""
        parts = [self.version, *self.flags, *(f"{k}={v}" for k, v in sorted(self.macros.items()))]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def ask(command: tuple[str, ...], *arguments: str, text: str = "", cwd: Path | None = None) -> tuple[int, str]:
    """Run a trusted question to a compiler; its exit status and output (both streams). Raises TargetError on a hang."""
    try:
        done = subprocess.run(
            [*command, *arguments],
            input=text,
            capture_output=True,
            text=True,
            cwd=cwd,
            timeout=QUICK_SECONDS,
            env={**os.environ, "LC_ALL": "C", **(zig.environment() if zig.is_zig(command) else {})},
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"{command[0]} did not answer within {QUICK_SECONDS:.0f} s") from error
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout + done.stderr


def candidates(configured: str | None) -> Iterator[tuple[str, ...]]:
    """Compiler commands to try, best first. A configured one is the only one."""
    if configured:
        yield tuple(shlex.split(configured))
        return
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path:
            # The real path needs no /etc/alternatives inside a sandbox. ccache and its like choose by the name that
            # they are called by, so a link to something of another kind is kept.
            real = str(Path(path).resolve())
            yield ((real,) if any(part in Path(real).name for part in ("gcc", "clang", "cc-")) else (path,))
    found = zig.find_zig()
    if found is not None:
        yield found


def _trial(command: tuple[str, ...], flags: tuple[str, ...]) -> str:
    """Make a shared object with ``flags``; an empty string when that worked, otherwise the first words of the error."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        source = Path(folder, "trial.c")
        source.write_text(_TRIAL)
        status, said = ask(command, *flags, "trial.c", "-o", "trial.so", "-lm", cwd=Path(folder))
    if status == 0:
        return ""
    lines = [line for line in said.splitlines() if "error" in line.lower()] or said.splitlines()
    return (lines[0] if lines else f"exit status {status}")[:200]


def _version(command: tuple[str, ...], macros: Mapping[str, str]) -> str:
    first = next(iter(ask(command, "--version")[1].splitlines()), "")
    machine = ask(command, "-dumpmachine")[1].strip()
    name = "clang" if "__clang__" in macros else "gcc" if "__GNUC__" in macros else "cc"
    # The first word is the name or path that it was called by.
    rest = first.split(" ", 1)[1] if " " in first else first
    return f"{name} {macros.get('__VERSION__', '').strip(chr(34))} {rest} {machine}".replace("  ", " ")


def _macros(command: tuple[str, ...], flags: tuple[str, ...]) -> dict[str, str]:
    status, said = ask(command, *flags, "-dM", "-E", "-x", "c", "-", text="")
    if status != 0:
        raise TargetError(f"{' '.join(command)} does not list its macros: {said[:200]}")
    found: dict[str, str] = {}
    for line in said.splitlines():
        if line.startswith("#define "):
            name, _, value = line[len("#define ") :].partition(" ")
            found[name] = value
    return found


@functools.cache
def find_compiler(configured: str | None = None) -> Compiler:
    """The compiler to use: ``configured`` (a command line), or the first that works here, OpenMP preferred.

    Raises TargetError, with the command that would fix it, when there is none.
    """
    notes: list[str] = []
    serial: tuple[str, ...] | None = None
    seen: set[tuple[str, ...]] = set()
    for command in candidates(configured):
        if command in seen:
            continue
        seen.add(command)
        with_openmp = (*COMMON_FLAGS, "-fopenmp", *LINK_FLAGS)
        problem = _trial(command, with_openmp)
        if not problem:
            return _describe(command, with_openmp, True, tuple(notes))
        notes.append(f"{' '.join(command)}: no OpenMP ({problem})")
        if serial is None:
            problem = _trial(command, (*COMMON_FLAGS, *LINK_FLAGS))
            if problem:
                notes[-1] = f"{' '.join(command)}: does not make a shared object ({problem})"
            else:
                serial = command
    if serial is not None:
        notes.append("designs run on one thread: install a compiler with OpenMP (`apt-get install gcc`)")
        return _describe(serial, (*COMMON_FLAGS, *LINK_FLAGS), False, tuple(notes))
    if configured:
        raise TargetError(f"the configured compiler is not usable: {'; '.join(notes)}")
    raise TargetError("; ".join([NO_COMPILER, *notes]))


def _describe(command: tuple[str, ...], flags: tuple[str, ...], openmp: bool, notes: tuple[str, ...]) -> Compiler:
    macros = _macros(command, tuple(f for f in flags if not f.startswith("-Wl") and f not in LINK_FLAGS))
    return Compiler(command, _version(command, macros), flags, openmp, macros, notes)


def _library(compiler: Compiler, name: str) -> str:
    """Name and digest of a library that the compiler links, or ``absent``."""
    path = Path(ask(compiler.command, f"-print-file-name={name}")[1].strip())
    if not path.is_absolute() or not path.exists():
        return "absent"
    real = path.resolve()
    return f"{real.name} {hashlib.sha256(real.read_bytes()).hexdigest()[:12]}"


def describe(compiler: Compiler, machine: Machine, threads: int) -> Toolchain:
    """Everything that decides what a C source compiles to here and how fast it runs, as named parts."""
    isa = "\0".join(f"{k}={v}" for k, v in sorted(compiler.macros.items()))
    linker = ask(compiler.command, "-Wl,--version", "-nostdlib")[1].splitlines()
    return Toolchain(
        {
            "compiler": compiler.version,
            "flags": " ".join(compiler.flags),
            "linker": next((line for line in linker if "ld" in line.lower()), "unknown"),
            "libc": " ".join(platform.libc_ver()) or "unknown",
            "libgomp": _library(compiler, "libgomp.so.1") if compiler.openmp else "none",
            "libm": _library(compiler, "libm.so.6"),
            "cpu": machine.cpu,
            "isa": hashlib.sha256(isa.encode()).hexdigest()[:16],
            "cores": str(machine.cores),
            "threads": str(threads),
            "last_level_cache_bytes": str(machine.llc_bytes),
            "host_kernel": platform.release(),
        }
    )
