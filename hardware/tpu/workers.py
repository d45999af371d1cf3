"""The processes that work for the target: a fork server for candidates and a compiler, each confined, each replaced when
it does not answer."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..sandbox import Jail, Limits, Mount, SandboxLevel, end_group
from ..target import TargetError
from .inside import wire

START_SECONDS = 180.0
"""How long a process may take until it is ready: importing jax from a cold disk takes long."""
_INSIDE = Path(__file__).with_name("inside")
_PROGRAMS = "/kernelwright"
_SAID_BYTES = 4000
PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from inside.{0} import main; main(*sys.argv[2:])"


class EndedError(Exception):
    """A process that ended or was ended in the middle of its work. ``hung`` when it was its time that was over."""

    def __init__(self, hung: bool, said: str) -> None:
        super().__init__(said or "it said nothing")
        self.hung, self.said = hung, said


@dataclass(frozen=True)
class Interpreter:
    """A Python with jax: its program, and the folders that it needs, which a sandbox has to show."""

    program: Path
    folders: tuple[Path, ...]


@dataclass
class Server:
    """One confined process that is asked and answers in frames. Started when it is first asked, and again after it ended."""

    name: str
    interpreter: Interpreter
    jail: Jail
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: Sequence[Mount] = ()
    limits: Limits = field(default_factory=Limits)
    program: str = PROGRAM
    """What its Python runs; ``{0}`` stands for the name."""
    _process: subprocess.Popen[bytes] | None = None
    _errors: Path | None = None
    facts: wire.Header = field(default_factory=dict)
    starts: int = 0

    def _argv(self) -> list[str]:
        full = self.jail.level is SandboxLevel.FULL
        where = _PROGRAMS if full else str(_INSIDE.parent)
        python = [str(self.interpreter.program), "-E", "-s", "-B", "-c", self.program.replace("{0}", self.name)]
        mounts = [Mount(folder) for folder in self.interpreter.folders]
        mounts += [Mount(Path("/dev/urandom"), device=True)]  # the C++ library of jax seeds its generators from it
        mounts += [Mount(_INSIDE, inside=f"{_PROGRAMS}/inside"), *self.mounts]
        return self.jail.command_of_owner([*python, where, *self.arguments], self.limits, mounts)

    def start(self) -> None:
        """Start the process unless it runs. Raises TargetError when it does not get ready."""
        if self._process is not None and self._process.poll() is None:
            return
        self.stop()
        handle, name = tempfile.mkstemp(prefix="kernelwright-said-")
        self._errors = Path(name)
        with os.fdopen(handle, "wb") as errors:
            self._process = subprocess.Popen(
                self._argv(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(self.environment),
                start_new_session=True,
            )
        self.starts += 1
        try:
            self.facts, _ = self._receive(time.monotonic() + START_SECONDS)
        except EndedError as ended:
            fix = ""
            if "Permission denied" in ended.said and self.jail.level is not SandboxLevel.FULL:
                fix = "; at the reduced level of the sandbox every user must be able to read it: install bubblewrap"
            said = ended.said.strip()[-600:]
            raise TargetError(f"the toolchain's Python does not start its {self.name}: {said}{fix}") from ended
        if not self.facts.get("ready"):
            self.stop()
            raise TargetError(f"the toolchain's {self.name} is not ready: {self.facts.get('text', '')}")

    def ask(
        self, header: wire.Header, blob: bytes, seconds: float, part: Callable[[bytes], None] | None = None
    ) -> tuple[wire.Header, bytes]:
        """Ask for an answer; frames with ``part`` go to that function. Raises EndedError, and TargetError at the start."""
        self.start()
        assert self._process is not None
        assert self._process.stdin is not None
        deadline = time.monotonic() + seconds
        try:
            wire.send(self._process.stdin.fileno(), header, blob)
        except wire.WireError:
            raise self._ended(hung=False) from None
        while True:
            answer, content = self._receive(deadline)
            if part is None or "part" not in answer:
                return answer, content
            part(content)

    def _receive(self, deadline: float) -> tuple[wire.Header, bytes]:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        over = threading.Event()

        def end() -> None:
            over.set()
            end_group(process)

        timer = threading.Timer(max(deadline - time.monotonic(), 0.0), end)
        timer.daemon = True
        timer.start()
        try:
            return wire.receive(process.stdout.fileno())
        except wire.WireError:
            raise self._ended(hung=over.is_set()) from None
        finally:
            timer.cancel()

    def _ended(self, hung: bool) -> EndedError:
        said = self.said()
        self.stop()
        return EndedError(hung, said)

    def said(self) -> str:
        """The end of what the process wrote to its standard error."""
        if self._errors is None:
            return ""
        try:
            return self._errors.read_bytes()[-_SAID_BYTES:].decode(errors="replace")
        except OSError:
            return ""

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            end_group(self._process)
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):  # a write that nobody waits for
                        stream.close()
            self._process = None
        if self._errors is not None:
            self._errors.unlink(missing_ok=True)
            self._errors = None
