"""Compile a design in the sandbox: its own copy of the project, its own target folder, nothing of an earlier build.

The compiler keeps kernels by name, and cargo's fingerprints have been shared between worktrees, so that "it compiled" may
be said of another source. Each build therefore begins without any kernel, and what it leaves is known by digest.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ....kernels.spec import KernelSpec
from ...outcome import Outcome
from ...sandbox import Finished, Limits, Mount, SandboxLevel, run_bounded
from ...target import Build, TargetError
from .analysis import describe
from .bundle import BundleError, split_bundle
from .commands import INSIDE, compile_command, environment
from .diagnostics import crashed, parse_diagnostics, readable
from .schedule import ScheduleError, parse_schedule
from .tools import Tools
from .workspace import design_folder

OUTPUT_LIMIT_BYTES = 4 << 20
DIAGNOSTICS_LIMIT = 16 << 10
"""Characters of the compiler's text that are kept."""
_LIMITS = Limits(file_bytes=8 << 30, processes=4096)
SUFFIXES = (".bin", ".edf")
"""What a kernel's artifact consists of; ``.hash`` is the compiler's own key and proves nothing."""


SOURCE = "source.txt"
"""The file beside a kept artifact that holds what it was made from."""


@dataclass(frozen=True)
class Made:
    """What one run of the compiler left: the kernel's files by suffix, and the text of its schedule (empty: none)."""

    outcome: Outcome
    diagnostics: str
    seconds: float
    files: dict[str, bytes]
    schedule: str = ""

    @property
    def artifact(self) -> str | None:
        """Digest (sha256 hex) over the kernel's files; None when there are none."""
        if not self.files:
            return None
        found = hashlib.sha256()
        for suffix in sorted(self.files):
            found.update(f"{suffix} {len(self.files[suffix])}\n".encode() + self.files[suffix])
        return found.hexdigest()


def build_key(tools: Tools, spec: KernelSpec, source: str) -> str:
    """What an artifact is kept by: a digest of source, project, kernel and every version (sha256 hex)."""
    versions = json.dumps(dict(tools.versions), sort_keys=True)
    parts = ["1", versions, tools.project.digest, tools.project.function(spec.name), source]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def build(tools: Tools, spec: KernelSpec, source: str) -> Build:
    """Compile the kernel's device function, or return what was kept of an earlier time (``seconds`` is 0 then).

    ``path`` is a folder with ``kernel.bin``, ``kernel.edf``, the source (:data:`SOURCE`) and, where the compiler wrote one,
    ``schedule.json``. A hang is not kept. Raises TargetError when the sandbox cannot see the toolchain.
    """
    try:
        files = split_bundle(source)
    except BundleError as error:
        return Build(Outcome.VETOED, None, None, f"source-files: {error}", 0.0)
    home = tools.cache / "visa" / build_key(tools, spec, source)
    kept = _load(home)
    if kept is not None:
        return kept
    with design_folder(tools, files) as folder:
        made = compile_in(tools, spec, folder)
    built = Build(made.outcome, made.artifact, None, made.diagnostics, made.seconds)
    return built if made.outcome is Outcome.BUILD_HUNG else _store(home, built, made, source)


def compile_in(tools: Tools, spec: KernelSpec, folder: Path) -> Made:
    """One run of the compiler in a folder of :mod:`.workspace`; nothing is taken from the cache, nothing is kept."""
    done = run_tool(tools, folder, compile_command("cargo", tools.project, spec.name), spec.name)
    return _judged(tools, spec, folder, done)


def run_tool(tools: Tools, folder: Path, command: list[str], kernel: str, seconds: float | None = None) -> Finished:
    """Run one of the vendor's tools on a copy of the project, confined. Raises TargetError when it cannot be started."""
    full = tools.jail.level is SandboxLevel.FULL
    seen = environment(tools.path, tools.homes, kernel, tools.kernel_variable)
    argv = [str(tools.cargo), *command[1:]]
    if not full:  # the folder is where it is: no mount gives it another name
        seen = {name: value.replace(INSIDE, str(folder)) for name, value in seen.items()}
        argv = [each.replace(INSIDE, str(folder)) for each in argv]
    mounts = [Mount(folder, writable=True, inside=INSIDE), *tools.mounts]
    done = run_bounded(
        tools.jail.command(argv, _LIMITS, mounts, cwd=INSIDE),
        timeout_seconds=seconds or tools.build_seconds,
        environment=seen,
        cwd=None if full else folder,
        output_limit_bytes=OUTPUT_LIMIT_BYTES,
    )
    if done.status == 1 and done.output.startswith("bwrap:"):
        raise TargetError(
            f"the sandbox cannot show the toolchain: {done.output.strip().splitlines()[0]}; RUSTUP_HOME and CARGO_HOME"
            " have to lie where every user may read (candidates run without privileges)"
        )
    return done


def _judged(tools: Tools, spec: KernelSpec, folder: Path, done: Finished) -> Made:
    said = readable(done.output)[-DIAGNOSTICS_LIMIT:]
    if done.status is None:
        return Made(Outcome.BUILD_HUNG, f"killed after {done.seconds:.0f} s\n{said}", done.seconds, {})
    if done.status != 0:
        # `Finished` may follow an error: only the exit status decides.
        broke = done.status < 0 or done.status >= 128 or crashed(done.output)
        broke = broke or any(each.crash for each in parse_diagnostics(done.output))
        return Made(Outcome.BUILD_CRASHED if broke else Outcome.BUILD_FAILED, said, done.seconds, {})
    function = tools.project.function(spec.name)
    files = find_kernel(folder / "kernels", function)
    if set(files) != set(SUFFIXES):
        missing = ", ".join(suffix for suffix in SUFFIXES if suffix not in files)
        reason = f"error: exit status 0, but no {missing} of {function} in the output folder"
        return Made(Outcome.BUILD_FAILED, f"{reason}\n{said}", done.seconds, {})
    dump = read_regular(folder / "schedule.json")
    text = "" if dump is None else dump.decode(errors="replace")
    try:
        note = describe(parse_schedule(text))
    except ScheduleError as error:
        note, text = f"note: no estimate: {error}", ""
    return Made(Outcome.OK, f"{note}\n\n{said}", done.seconds, files, text)


def find_kernel(folder: Path, function: str) -> dict[str, bytes]:
    """The files of one kernel in the compiler's output folder, by suffix: ``PACKAGE::FUNCTION.bin`` and ``.edf``.

    A file of more than one kernel whose path ends so is an error of the project's naming; the first by name counts.
    """
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        owner, _, name = path.stem.partition("::")
        if path.suffix in SUFFIXES and path.suffix not in found and owner and name == function:
            content = read_regular(path)
            if content:
                found[path.suffix] = content
    return found


def read_regular(path: Path) -> bytes | None:
    """A file that hostile code may have had a hand in: never through a link, never a device; None when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # a link, or nothing: not a file of the compiler's
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_LIMITS.file_bytes) if os.path.isfile(f"/proc/self/fd/{descriptor}") else None  # noqa: PTH113


def _load(home: Path) -> Build | None:
    try:
        record = json.loads((home / "build.json").read_text())
        outcome, artifact, said = Outcome(record["outcome"]), record["artifact"], str(record["diagnostics"])
        if artifact is not None:
            files = {suffix: (home / f"kernel{suffix}").read_bytes() for suffix in SUFFIXES}
            if Made(outcome, said, 0.0, files).artifact != artifact:
                return None  # damaged: build again
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Build(outcome, artifact, home if artifact is not None else None, said, 0.0)


def _store(home: Path, built: Build, made: Made, source: str) -> Build:
    home.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="new-", dir=home.parent))
    record = {"outcome": built.outcome.value, "artifact": built.artifact, "diagnostics": built.diagnostics}
    (new / "build.json").write_text(json.dumps(record))
    (new / SOURCE).write_text(source, encoding="utf-8", errors="surrogateescape")
    for suffix, content in made.files.items():
        (new / f"kernel{suffix}").write_bytes(content)
    if made.schedule:
        (new / "schedule.json").write_text(made.schedule)
    shutil.rmtree(home, ignore_errors=True)
    try:
        new.rename(home)
    except OSError:  # another process was first between the two lines: it made the same
        shutil.rmtree(new)
    return Build(built.outcome, built.artifact, home if built.ok else None, built.diagnostics, built.seconds)
