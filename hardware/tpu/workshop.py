"""The confined processes of one toolchain and chip, asked in turn: one lowers and interprets candidates, one compiles."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from ..outcome import Outcome
from ..sandbox import Jail, Limits, Mount, SandboxLevel
from ..target import TargetError
from .chips import Chip
from .dump import DumpError, read_dump
from .inside import wire
from .summary import summarize
from .timeline import follow
from .toolchains import Found
from .workers import EndedError, Server

FLAGS = ("--xla_jf_dump_llo_text=true", "--xla_jf_dump_llo_pass_label_regex=final_bundles|final_hlo")
"""Flags of libtpu besides the folder of the dump: the filter keeps a dump at about a tenth of its size."""
LOWER_SECONDS = 60.0
COMPILE_SECONDS = 120.0
MEMORY_BYTES = 6 << 30
"""What a candidate's process may map beyond what jax has mapped."""
COMPILER_RUNS = 400
COMPILER_BYTES = 6 << 30
"""A compiler process is replaced after so many programs, or when it has grown to so much memory."""
FREE_BYTES = 256 << 20
"""Below this much free space for a dump, a build that went wrong is the disk's fault."""
DUMP_BYTES = 512 << 20
"""The largest file that the compiler may write."""
_DUMP = "/dump"
_SPOOL = "/spool"
_QUIET = {"TPU_MIN_LOG_LEVEL": "3", "TPU_STDERR_LOG_LEVEL": "3", "TF_CPP_MIN_LOG_LEVEL": "3", "GRPC_VERBOSITY": "NONE"}


@dataclass
class Frames:
    """Puts the pieces of a candidate's answers together again, as frames; what is no frame ends the candidate."""

    buffer: bytearray = field(default_factory=bytearray)
    found: list[tuple[wire.Header, bytes]] = field(default_factory=list)

    def add(self, piece: bytes) -> None:
        """Take another piece. Raises wire.WireError for what cannot be a frame."""
        self.buffer += piece
        while len(self.buffer) >= 12:
            text, blob = int.from_bytes(self.buffer[:4], "little"), int.from_bytes(self.buffer[4:12], "little")
            if text > wire.HEADER_LIMIT_BYTES or blob > 1 << 30:
                raise wire.WireError("a frame that is too long")
            if len(self.buffer) < 12 + text + blob:
                return
            try:
                header = json.loads(bytes(self.buffer[12 : 12 + text]))
            except ValueError as error:
                raise wire.WireError(f"a frame without a header: {error}") from None
            if not isinstance(header, dict):
                raise wire.WireError("a frame whose header is no object")
            self.found.append((header, bytes(self.buffer[12 + text : 12 + text + blob])))
            del self.buffer[: 12 + text + blob]


@dataclass(frozen=True)
class Answer:
    """What came of a candidate's process: the outcome and its text, and the frames that it sent before."""

    outcome: Outcome
    text: str
    frames: tuple[tuple[wire.Header, bytes], ...]


def _outcome(value: Any) -> Outcome:
    try:
        return Outcome(str(value))
    except ValueError:
        return Outcome.CRASHED  # it answered what is no outcome


@dataclass
class Workshop:
    """The confined processes of one toolchain and chip, and the folders that they share with the target."""

    found: Found
    chip: Chip
    jail: Jail
    cache: Path
    compile_seconds: float = COMPILE_SECONDS
    lower_seconds: float = LOWER_SECONDS
    flags: tuple[str, ...] = FLAGS
    lock: threading.RLock = field(default_factory=threading.RLock)
    cpu_seconds: float = 0.0
    """Processor time that candidates and the compiler have used so far, their starts aside."""
    _compiled: int = 0

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kernelwright-tpu-"))
        self.dump, self.spool = self.folder / "dump", self.folder / "spool"
        for folder in (self.folder, self.dump, self.spool):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        if self.jail.uid >= 0:
            os.chown(self.dump, self.jail.uid, self.jail.uid)
        full = self.jail.level is SandboxLevel.FULL
        self.inside = Path(_SPOOL) if full else self.spool
        dump = _DUMP if full else str(self.dump)
        base = {
            **_QUIET,
            "JAX_PLATFORMS": "cpu",
            "TPU_SKIP_MDS_QUERY": "1",
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # nothing here holds a chip, so there is nothing to lock
            "OPENBLAS_NUM_THREADS": "1",
            "HOME": "/",
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "PYTHONHASHSEED": "0",
        }
        flags = " ".join((f"--xla_jf_dump_to={dump}", *self.flags))
        self.zygote = Server(
            "zygote",
            self.found.interpreter,
            self.jail,
            (self.chip.device_kind,),
            base,
            [Mount(self.spool, inside=_SPOOL)],
        )
        self.compiler = Server(
            "compiler",
            self.found.interpreter,
            self.jail,
            (self.chip.topology,),
            {**base, "LIBTPU_INIT_ARGS": flags, "TMPDIR": dump},
            # libtpu counts the processors, and ends where it cannot.
            [Mount(self.dump, writable=True, inside=_DUMP), Mount(Path("/sys/devices/system/cpu"))],
            Limits(file_bytes=DUMP_BYTES),
        )

    def device(self) -> Server:
        """A process that holds the machine's TPU: it sees the devices of the host, and runs no candidate's Python."""
        shown = [Mount(Path("/dev"), device=True), Mount(Path("/sys")), Mount(self.spool, inside=_SPOOL)]
        base = {**_QUIET, "HOME": "/", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "JAX_PLATFORMS": "tpu"}
        return Server("device", self.found.interpreter, self.jail, (self.chip.device_kind,), base, shown)

    def close(self) -> None:
        """End the processes and delete what they left."""
        with self.lock:
            self.zygote.stop()
            self.compiler.stop()
            shutil.rmtree(self.folder, ignore_errors=True)

    def ask_candidate(self, header: wire.Header) -> Answer:
        """Run one candidate's process to its end."""
        frames = Frames()
        seconds = float(header["seconds"])
        with self.lock:
            try:
                end, _ = self.zygote.ask(header, b"", seconds + 15.0, frames.add)
            except wire.WireError as error:
                self.zygote.stop()
                return Answer(Outcome.CRASHED, f"its answer cannot be read: {error}", ())
            except EndedError as ended:  # the fork server itself: whatever the candidate did to it ends here
                outcome = Outcome.HUNG if ended.hung else Outcome.CRASHED
                return Answer(outcome, f"its process took the fork server along: {ended.said[-300:]}", ())
        self.cpu_seconds += float(end.get("cpu_seconds", 0.0))
        done = next((header for header, _ in frames.found if header.get("done")), None)
        if end.get("end") == "hung":
            return Answer(Outcome.HUNG, f"no end after {seconds:.0f} s", tuple(frames.found))
        if done is None:
            status = end.get("status")
            if status in (3, -9):
                return Answer(Outcome.OUT_OF_MEMORY, "its process ran out of memory", tuple(frames.found))
            return Answer(Outcome.CRASHED, f"its process ended with status {status}", tuple(frames.found))
        return Answer(_outcome(done.get("outcome")), str(done.get("text", ""))[:8000], tuple(frames.found))

    def compile(self, program: bytes, donated: list[int]) -> tuple[wire.Header, Outcome]:
        """Compile a program; the answer, and the outcome. Raises TargetError when the disk is full."""
        with self.lock:
            grown = int(self.compiler.facts.get("resident_bytes", 0)) > COMPILER_BYTES
            if grown or self._compiled >= COMPILER_RUNS:
                self.compiler.stop()
                self._compiled = 0
            self._clear()
            self._compiled += 1
            try:
                answer, _ = self.compiler.ask({"donated": donated}, program, self.compile_seconds)
            except EndedError as ended:
                self._disk()
                self._compiled = 0
                text = f"design.py:0: error: compile: the compiler {'did not end' if ended.hung else 'crashed'}"
                said = [line for line in ended.said.splitlines() if "Check failed" in line or "F0" in line[:3]]
                return {"text": "\n".join([text, *said[:3]])}, (
                    Outcome.BUILD_HUNG if ended.hung else Outcome.BUILD_CRASHED
                )
            self.cpu_seconds += float(answer.get("cpu_seconds", 0.0))
            self.compiler.facts["resident_bytes"] = answer.get("resident_bytes", 0)
            return answer, _outcome(answer.get("outcome"))

    def _clear(self) -> None:
        for path in self.dump.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete the dump: what is needed of it was read."""
        with self.lock:
            self._clear()

    def _disk(self) -> None:
        free = shutil.disk_usage(self.dump).free
        if free < FREE_BYTES:
            raise TargetError(
                f"the disk is full: {free >> 20} MiB are free at {self.dump}, and the compiler's dumps need more;"
                " make room, or let TMPDIR name a folder with room"
            )

    def timeline(self, operations: Mapping[str, int], memory: Mapping[str, int]) -> tuple[str, list[str]]:
        """Read the dump: the summary as a text, and its lines. Raises TargetError when the disk was full, DumpError."""
        try:
            summary = summarize(follow(read_dump(self.dump), self.chip), self.chip, operations, memory)
        except DumpError:
            self._disk()
            raise
        return summary.text(), summary.lines()


def cache_folder(configured: Path | None) -> Path:
    """Where builds are kept: ``configured``, a folder of the variable KERNELWRIGHT_CACHE, or of the user's cache."""
    if configured is not None:
        return configured
    named = os.environ.get("KERNELWRIGHT_CACHE")
    return (Path(named) if named else platformdirs.user_cache_path("kernelwright")) / "tpu"
