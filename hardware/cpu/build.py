"""Compile a source in the sandbox, into a cache that is addressed by content."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ...kernels.spec import KernelSpec
from ..kept import keep_build, load_build
from ..lease import shared
from ..outcome import Outcome
from ..sandbox import Finished, Jail, Limits, Mount, SandboxLevel, run_bounded
from ..target import Build
from . import zig
from .contract import header
from .review import RULES
from .symbols import check_symbols
from .toolchain import Compiler

BUILD_SECONDS = 60.0
"""Wall-clock limit of one compilation."""
DIAGNOSTICS_LIMIT_BYTES = 16 << 10
"""Compiler output beyond this is cut, with a note."""
_LIMITS = Limits(address_bytes=4 << 30, file_bytes=256 << 20, processes=4096)
_INSIDE = "/build"
_MARKER = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"')
_CRASH = re.compile(
    r"internal compiler error|PLEASE submit a bug report|signal terminated program|Segmentation fault", re.I
)
_AFTER_PREPROCESSING = tuple(rule for rule in RULES if rule.name in ("no-assembly", "no-load-time-code"))


@dataclass(frozen=True)
class Compilation:
    """What a build is made with: the compiler, the jail, the cache folder, the device whose readings it must not disturb."""

    compiler: Compiler
    jail: Jail
    cache: Path
    device: str
    seconds: float = BUILD_SECONDS
    """Wall-clock limit of one run of the compiler."""


def build_key(compiler: Compiler, spec: KernelSpec, source: str) -> str:
    """What an artifact is cached by: a digest of source, header, flags and compiler (sha256 hex)."""
    parts = ["1", compiler.fingerprint, *compiler.flags, spec.name, header(spec), source]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def build(tools: Compilation, spec: KernelSpec, source: str) -> Build:
    """Compile ``source`` for ``spec``, or return what was kept of an earlier time. ``seconds`` is 0 for a kept one.

    A hang is not kept: the machine may have been busy.
    """
    home = tools.cache / "builds" / build_key(tools.compiler, spec, source)
    kept = load_build(home, "kernel.so")
    if kept is not None:
        return kept
    start = time.monotonic()
    # Compiling takes the cores that a reading needs: it waits for readings, and a reading waits for it.
    with shared(tools.device):
        made, artifact = _compile(tools, spec, source)
    made = Build(made.outcome, made.artifact, None, made.diagnostics, time.monotonic() - start)
    if made.outcome is Outcome.BUILD_HUNG:
        return made
    return keep_build(home, made, "kernel.so", artifact)


def _compile(tools: Compilation, spec: KernelSpec, source: str) -> tuple[Build, bytes]:
    with tempfile.TemporaryDirectory(prefix="kernelwright-build-") as name:
        folder = Path(name)
        (folder / "kernel.c").write_text(source, errors="surrogateescape")
        (folder / "kernel.h").write_text(header(spec))
        if tools.jail.uid >= 0:
            for path in (folder, *folder.iterdir()):
                os.chown(path, tools.jail.uid, tools.jail.uid)
        compile_flags = [
            f for f in tools.compiler.flags if not f.startswith("-Wl") and f not in ("-shared", "-nostartfiles")
        ]
        looked = _run(tools, folder, [*compile_flags, "-E", "kernel.c", "-o", "kernel.i"])
        refused = _failed(looked, tools.jail.level) or _refuse_text(
            folder / "kernel.i", str(_outside_system(tools.compiler) or "/usr/")
        )
        if refused:
            return refused, b""
        flags = list(tools.compiler.flags)
        done = _run(tools, folder, [*flags, "kernel.c", "-o", "kernel.so", "-lm"])
        refused = _failed(done, SandboxLevel.FULL)  # the preprocessed text was clean, so there is nothing to hide
        if refused:
            return refused, b""
        artifact = _read_regular(folder / "kernel.so")
        problem = check_symbols(artifact, spec.name)
        if problem:
            return Build(Outcome.BAD_SYMBOLS, None, None, problem, 0.0), b""
        return Build(Outcome.OK, hashlib.sha256(artifact).hexdigest(), None, _said(done), 0.0), artifact


def _run(tools: Compilation, folder: Path, arguments: list[str]) -> Finished:
    full = tools.jail.level is SandboxLevel.FULL
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TMPDIR": _INSIDE if full else str(folder)}
    environment["HOME"] = environment["TMPDIR"]
    mounts = [Mount(folder, writable=True, inside=_INSIDE)]
    if zig.is_zig(tools.compiler.command):
        environment |= zig.environment()
        mounts.append(Mount(zig.cache_folder(), writable=True))
    prefix = _outside_system(tools.compiler)
    if prefix is not None:
        mounts.append(Mount(prefix))
    argv = tools.jail.command([*tools.compiler.command, *arguments], _LIMITS, mounts, cwd=_INSIDE)
    return run_bounded(
        argv,
        timeout_seconds=tools.seconds,
        environment=environment,
        cwd=None if full else folder,
        output_limit_bytes=DIAGNOSTICS_LIMIT_BYTES,
    )


def _outside_system(compiler: Compiler) -> Path | None:
    """The installation prefix of a compiler that does not live under /usr, which a sandbox has to show as well."""
    program = Path(compiler.command[0])
    if not program.is_absolute() or program.is_relative_to("/usr") or len(program.parents) < 3:
        return None
    return program.parent if zig.is_zig(compiler.command) else program.parent.parent


def _said(done: Finished) -> str:
    note = f"\n[cut at {DIAGNOSTICS_LIMIT_BYTES} bytes]" if done.truncated else ""
    return done.output + note


def _failed(done: Finished, level: SandboxLevel) -> Build | None:
    if done.status is None:
        return Build(Outcome.BUILD_HUNG, None, None, f"killed after {done.seconds:.0f} s\n{_said(done)}", done.seconds)
    if done.status == 0:
        return None
    said = _said(done)
    crashed = done.status < 0 or done.status >= 128 or _CRASH.search(said) is not None
    if level is SandboxLevel.REDUCED:
        # The compiler saw the host's files: a diagnostic may quote one. Only lines about the source itself are kept.
        said = "\n".join(line for line in said.splitlines() if line.startswith(("kernel.c:", "kernel.h:")))
    return Build(Outcome.BUILD_CRASHED if crashed else Outcome.BUILD_FAILED, None, None, said, done.seconds)


def _refuse_text(preprocessed: Path, prefix: str) -> Build | None:
    """Look at the text after macros and includes: where every part came from, and what macros may have spelled.

    Text of system headers is not looked at: they use what a design may not.
    """
    own = False
    for number, line in enumerate(_read_regular(preprocessed).decode(errors="replace").splitlines(), 1):
        marker = _MARKER.match(line)
        if marker:
            name = marker.group(1)
            own = name in ("kernel.c", "./kernel.c")
            ours = name in ("kernel.c", "kernel.h", "./kernel.c", "./kernel.h")
            inside = ours or name.startswith(("/usr/", "<", prefix))
            if not inside:
                return Build(
                    Outcome.BUILD_FAILED, None, None, "allowed-headers: a file outside the toolchain is included", 0.0
                )
        elif own:
            for rule in _AFTER_PREPROCESSING:
                if rule.pattern.search(line):
                    reason = f"{rule.name} (after preprocessing, line {number}): {rule.why}"
                    return Build(Outcome.VETOED, None, None, reason, 0.0)
    return None


def _read_regular(path: Path) -> bytes:
    """Read a file that hostile code may have had a hand in: never through a link, never from a device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LIMITS.file_bytes)
