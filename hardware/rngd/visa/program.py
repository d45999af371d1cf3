"""The program that launches a design on the device: the project's test program, built for the NPU with the design in it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from ....kernels.spec import KernelSpec
from ...target import Build, TargetError
from .build import SOURCE, read_regular, run_tool
from .bundle import split_bundle
from .commands import INSIDE, bench_command
from .diagnostics import readable
from .tools import Tools
from .workspace import design_folder

_NAME = "program"


class ProgramError(Exception):
    """The test program does not build with a design whose kernel compiles. The message holds what the compiler said."""


@dataclass(frozen=True)
class Program:
    """An executable with a design in it, and its digest (sha256 hex)."""

    content: bytes
    digest: str


def source_of(build: Build) -> str:
    """The source that a build was made from. Raises TargetError when the cache has lost it."""
    try:
        if build.path is None:
            raise TargetError("a design without an artifact has no program")
        return (build.path / SOURCE).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise TargetError(f"the cache has lost a source ({error.strerror}): {build.path}; run again") from error


def program(tools: Tools, spec: KernelSpec, build: Build) -> Program:
    """Build the test program with a design, or take the one that is kept beside its artifact.

    Raises ProgramError when it does not build, TargetError when the cache has lost the source.
    """
    source = source_of(build)
    assert build.path is not None, "it has a source"
    kept = read_regular(build.path / _NAME)
    if kept:
        return Program(kept, hashlib.sha256(kept).hexdigest())
    with design_folder(tools, split_bundle(source)) as folder:
        done = run_tool(tools, folder, bench_command("cargo", tools.project), spec.name)
        if done.status != 0:
            raise ProgramError(
                f"the test program does not build (status {done.status}): {readable(done.output)[-2000:]}"
            )
        path = executable(done.output, tools.project.bench)
        # A folder on the way to it may be a link: what lies outside is nobody's program.
        inside = bool(path) and (folder / path).resolve().is_relative_to(folder.resolve())
        content = read_regular(folder / path) if inside else None
    if not content:
        raise ProgramError(f"the build names no executable of {tools.project.bench}")
    (build.path / _NAME).write_bytes(content)
    return Program(content, hashlib.sha256(content).hexdigest())


def executable(output: str, bench: str) -> str:
    """The path of the test program in cargo's messages, relative to the project; empty when none names it.

    A path that leads outside the project is none.
    """
    found = ""
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            continue
        target = message.get("target") if isinstance(message, dict) else None
        if not isinstance(target, dict) or message.get("reason") != "compiler-artifact" or target.get("name") != bench:
            continue
        path = message.get("executable")
        if isinstance(path, str) and "/target/" in path and ".." not in path:
            found = (
                path.removeprefix(f"{INSIDE}/")
                if path.startswith(f"{INSIDE}/")
                else "target/" + path.split("/target/", 1)[1]
            )
    return found
