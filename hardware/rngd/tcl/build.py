"""Compile a TCL source in the sandbox, into a cache that is addressed by content.

A build is what the compiler makes of the program for its chip: with a release that evaluates, the schedule and its cycles
(under a second); with an older one, or on request, the binary as well (minutes for a kernel of full size).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....kernels.spec import KernelSpec
from ...kept import keep_build, load_build
from ...outcome import Outcome
from ...sandbox import Finished, Jail
from ...target import Build, TargetError
from .confined import read_regular, run
from .diagnosis import has_crashed, told
from .program import without_comments
from .schedule import Instruction, ScheduleError, makespan, read_plot
from .tool import Tool

EVALUATE_SECONDS = 60.0
"""Wall-clock limit of one evaluation, which takes under a second on a machine that is not busy."""
COMPILE_SECONDS = 180.0
"""Wall-clock limit of one compilation to a binary."""
DIAGNOSTICS_LIMIT_BYTES = 16 << 10
PLOT_LIMIT_BYTES = 64 << 20
CROSS_COMPILER = "aarch64-linux-gnu-gcc"
"""What the last stage of a compilation to a binary calls: the chip's own cores are Arm's."""
_FORMAT = 1


@dataclass(frozen=True)
class Compilation:
    """What a build is made with. ``binary``: the chip's binary too; a release that does not evaluate makes no more."""

    tool: Tool
    jail: Jail
    cache: Path
    pes: int
    binary: bool = False
    evaluate_seconds: float = EVALUATE_SECONDS
    compile_seconds: float = COMPILE_SECONDS

    @property
    def npu(self) -> str:
        """The compiler's name of the chip with that many processing elements."""
        return f"renegade-{self.pes}pe"


@dataclass(frozen=True)
class Record:
    """What a build left: the program's text as it was compiled, its cycles and schedule, the digest of its binary."""

    source: str
    npu: str
    cycles: int | None
    schedule: tuple[Instruction, ...]
    binary: str | None


def read_record(path: Path) -> Record:
    """The record of a build. Raises OSError, or ValueError for a file that is none."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content.get("format") != _FORMAT:
        raise ValueError(f"{path} is no record of a build")
    rows = [Instruction(e, k, of, b, end, tuple(r), tuple(w)) for e, k, of, b, end, r, w in content["schedule"]]
    return Record(content["source"], content["npu"], content["cycles"], tuple(rows), content["binary"])


def build(tools: Compilation, spec: KernelSpec, source: str) -> Build:
    """Compile ``source``, or return what was kept of an earlier time. ``seconds`` is 0 for a kept one.

    A hang is not kept: the machine may have been busy. Raises TargetError when the machine lacks what a binary needs.
    """
    wants_binary = tools.binary or not tools.tool.estimates
    if wants_binary and shutil.which(CROSS_COMPILER) is None:
        raise TargetError(
            f"{tools.tool.version.split(',')[0]} compiles to a binary, which needs {CROSS_COMPILER}: "
            "run `apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross`"
        )
    parts = [str(_FORMAT), tools.tool.version, tools.tool.digest, tools.npu, str(wants_binary), spec.name, source]
    key = hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()
    home = tools.cache / "rngd" / "builds" / key
    kept = load_build(home, "record.json")
    if kept is not None:
        return kept
    begun = time.monotonic()
    made, record = _compile(tools, source, wants_binary)
    made = Build(made.outcome, made.artifact, None, made.diagnostics, time.monotonic() - begun)
    return made if made.outcome is Outcome.BUILD_HUNG else keep_build(home, made, "record.json", record)


def _compile(tools: Compilation, source: str, wants_binary: bool) -> tuple[Build, bytes]:
    with tempfile.TemporaryDirectory(prefix="kernelwright-build-") as name:
        folder = Path(name)
        (folder / "kernel.tcl").write_text(source, encoding="utf-8", errors="surrogateescape")
        cycles: int | None = None
        schedule: tuple[Instruction, ...] = ()
        if tools.tool.estimates:
            asked = [str(tools.tool.executable), "--target-npu", tools.npu, "--evaluate-tcl", "--tcl-plot", "plot.json"]
            done = run(tools.jail, tools.tool, folder, [*asked, "kernel.tcl"], tools.evaluate_seconds)
            evaluated = _evaluated(done, read_regular(folder / "plot.json", PLOT_LIMIT_BYTES))
            if isinstance(evaluated, Build):
                return evaluated, b""
            cycles, schedule = evaluated
        binary: str | None = None
        if wants_binary:
            asked = [str(tools.tool.executable), "--target-npu", tools.npu, "--output", "kernel.edf"]
            done = run(tools.jail, tools.tool, folder, [*asked, "kernel.tcl"], tools.compile_seconds)
            content = read_regular(folder / "kernel.edf", PLOT_LIMIT_BYTES)
            if done.status != 0 or not content:
                return _failed(done, "no binary was written"), b""
            binary = hashlib.sha256(content).hexdigest()
        record = _record(without_comments(source), tools.npu, cycles, schedule, binary)
        said = "" if cycles is None else f"{cycles} cycles"
        return Build(Outcome.OK, hashlib.sha256(record).hexdigest(), None, said, 0.0), record


def _evaluated(done: Finished, plot: bytes | None) -> tuple[int, tuple[Instruction, ...]] | Build:
    """Cycles and schedule. The exit status alone proves nothing: a program can be refused with status 0."""
    answer = re.search(r"(?m)^(\d{1,15})\s*$", done.output)
    if done.status != 0 or answer is None or plot is None:
        return _failed(done, "no cycles and no schedule were given")
    try:
        schedule = read_plot(plot.decode(errors="replace"))
    except ScheduleError as error:
        return _failed(done, str(error))
    cycles = int(answer.group(1))
    if not schedule or makespan(schedule) != cycles:
        return _failed(done, f"the schedule takes {makespan(schedule)} cycles, and {cycles} were said")
    return cycles, schedule


def _failed(done: Finished, missing: str) -> Build:
    if done.status is None:
        said = f"killed after {done.seconds:.0f} s\n{done.output[:DIAGNOSTICS_LIMIT_BYTES]}"
        return Build(Outcome.BUILD_HUNG, None, None, said, done.seconds)
    crashed = done.status < 0 or done.status >= 128 or has_crashed(done.output)
    said = done.output if done.status != 0 or has_crashed(done.output) else f"{done.output}\n{missing} (exit status 0)"
    outcome = Outcome.BUILD_CRASHED if crashed else Outcome.BUILD_FAILED
    return Build(outcome, None, None, told(said or missing, DIAGNOSTICS_LIMIT_BYTES), done.seconds)


def _record(source: str, npu: str, cycles: int | None, schedule: Sequence[Instruction], binary: str | None) -> bytes:
    rows = [[e.engine, e.kind, e.of, e.begin, e.end, list(e.reads), list(e.writes)] for e in schedule]
    content: Mapping[str, object] = {
        "format": _FORMAT,
        "npu": npu,
        "source": source,
        "cycles": cycles,
        "schedule": rows,
        "binary": binary,
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
