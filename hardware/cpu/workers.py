"""The processes behind a reading: the conductor, and a sandboxed worker for each loaded design."""

from __future__ import annotations

import array
import contextlib
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..sandbox import Jail, Limits, end_group
from ..target import TargetError
from .layout import Region
from .protocol import ANSWER, CONTROL_BYTES, ORDER, Control, Operation, Status, read_control

LOAD_SECONDS = 20.0
"""Wall-clock limit for a worker to start, map its buffers and load its design."""
SPARE_BYTES = 2 << 30
"""Address space that a worker has beyond its buffers: libraries, thread stacks, static scratch of the design."""
SPIN_COUNT = 30000
"""How long OpenMP threads look for work before they sleep: some tenths of a millisecond, so that they are awake from one
region of a kernel to the next, and asleep soon after its end."""
_GRACE_SECONDS = 5.0
FAVOUR = -15
"""Nice value of workers and conductor, where this user may ask for it. A reading that shares its cores with somebody's
build says little of the design. Less than the highest priority, so that whatever ends a design that hangs gets its turn."""


@dataclass(frozen=True)
class Reading:
    """What the conductor says of one order: status, seconds of all timed calls together, threads of the worker."""

    status: Status
    seconds: float
    threads: int


class LoadError(Exception):
    """A worker could not load its design. ``hung`` tells a timeout from an error."""

    def __init__(self, reason: str, hung: bool = False) -> None:
        super().__init__(reason)
        self.hung = hung


def worker_environment(threads: int) -> dict[str, str]:
    """The whole environment of a worker."""
    return {
        "OMP_NUM_THREADS": str(threads),
        "OMP_DYNAMIC": "false",
        "OMP_MAX_ACTIVE_LEVELS": "1",
        # A thread per core, each on its own: left alone, two threads may share a core for the life of a process, and then
        # one spins while the other waits for its turn.
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": ",".join(f"{{{core}}}" for core in sorted(os.sched_getaffinity(0))[:threads]),
        "GOMP_SPINCOUNT": str(SPIN_COUNT),
        "KMP_BLOCKTIME": "1",
        "MALLOC_ARENA_MAX": "1",
        "LC_ALL": "C",
    }


def sealed_file(name: str, content: bytes) -> int:
    """A descriptor of a memory file that holds ``content`` and can never change. The caller closes it."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


class Worker:
    """A design in a process of its own. The process is started here; :meth:`ready` waits until the design is loaded."""

    def __init__(
        self,
        jail: Jail,
        program: bytes,
        design: bytes,
        entry: str,
        plan: bytes,
        regions: Sequence[Region],
        environment: Mapping[str, str],
    ) -> None:
        control = os.memfd_create("control", os.MFD_CLOEXEC)
        os.ftruncate(control, CONTROL_BYTES)
        self.control_descriptor = control
        self._page = mmap.mmap(control, CONTROL_BYTES)
        life_read, life_write = os.pipe2(os.O_CLOEXEC)
        self.life_descriptor = life_read
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        mine.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        files = [sealed_file("worker", program), sealed_file("plan", plan), sealed_file("design", design)]
        descriptors = [theirs.fileno(), control, files[1], files[2], life_write, *(r.descriptor for r in regions)]
        room = sum(r.bytes for r in regions) + SPARE_BYTES
        limits = Limits(address_bytes=room, file_bytes=1 << 20, processes=4096, nice=FAVOUR)
        argv = jail.command([f"/proc/self/fd/{files[0]}", entry, *map(str, descriptors)], limits)
        self.pid = 0
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=dict(environment),
                pass_fds=(files[0], *descriptors),
                start_new_session=True,
            )
        finally:
            for descriptor in (*files, life_write):
                os.close(descriptor)
            theirs.close()
        self._channel: socket.socket | None = mine

    def ready(self) -> None:
        """Wait until the design is loaded and the filter holds. Raises LoadError, and the process is gone then."""
        if self._channel is None:
            return
        try:
            with self._channel as channel:
                self._await_load(channel)
            self._channel = None
        except BaseException:
            self.close()
            raise

    def _await_load(self, channel: socket.socket) -> None:
        end = time.monotonic() + LOAD_SECONDS
        loaded = False
        while True:
            channel.settimeout(max(end - time.monotonic(), 0.001))
            try:
                text, ancillary, _flags, _address = channel.recvmsg(2048, socket.CMSG_SPACE(12))
            except TimeoutError:
                raise LoadError(f"not loaded after {LOAD_SECONDS:.0f} s", hung=True) from None
            if not text:
                if loaded:
                    return
                raise LoadError(f"the worker ended before it had loaded the design ({self._ending()})")
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and not self.pid:
                    # The kernel translates the pid out of the worker's namespace; the worker could not fake it.
                    self.pid = struct.unpack("3i", data)[0]
            if text.startswith(b"E"):
                raise LoadError(text[1:].decode(errors="replace"))
            loaded = loaded or text == b"L"

    def _ending(self) -> str:
        try:
            return f"exit status {self._process.wait(2)}"
        except subprocess.TimeoutExpired:
            return "still running"

    def control(self) -> Control:
        """What the worker says about itself."""
        return read_control(self._page[:])

    def exit_signal(self) -> int:
        """The signal that ended the process, 0 when it ended otherwise, or still runs."""
        try:
            status = self._process.wait(2)
        except subprocess.TimeoutExpired:
            return 0
        # Bubblewrap reports a signal as a shell does.
        return -status if status < 0 else status - 128 if status > 128 else 0

    def close(self) -> None:
        """End the process, whatever state it is in, with everything in its group."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                # While the sandbox's own process is unreaped, its child's pid cannot have passed to another process.
                if self._process.poll() is None:
                    os.kill(self.pid, 9)
        end_group(self._process)
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self.control_descriptor >= 0:
            self._page.close()
            os.close(self.control_descriptor)
            os.close(self.life_descriptor)
            self.control_descriptor = self.life_descriptor = -1


class Conductor:
    """The process that holds the clock. One per bench; raises TargetError when it is gone."""

    def __init__(self, program: Path) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            self._process = subprocess.Popen(
                [str(program), str(theirs.fileno()), str(FAVOUR)],
                stdin=subprocess.DEVNULL,
                env={},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def add(self, number: int, worker: Worker) -> None:
        """Put ``worker`` in place ``number`` (0 to 3), instead of any that was there."""
        descriptors = array.array("i", [worker.control_descriptor, worker.life_descriptor])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)]
        self._ask(ORDER.pack(Operation.ADD, number, worker.pid, 0, 0, 0, 0), _GRACE_SECONDS, rights)

    def drop(self, number: int) -> None:
        """Forget the worker in place ``number``."""
        self._ask(ORDER.pack(Operation.DROP, number, 0, 0, 0, 0, 0), _GRACE_SECONDS)

    def read(self, number: int, first: int, warm: int, count: int, timeout_seconds: float) -> Reading:
        """Make ``warm`` untimed calls and then ``count`` timed ones, in the slots from ``first`` on.

        ``timeout_seconds`` holds for the untimed and again for the timed calls.
        """
        order = ORDER.pack(Operation.READ, number, 0, first, count, warm, int(timeout_seconds * 1e9))
        return self._ask(order, 2 * timeout_seconds + _GRACE_SECONDS)

    def _ask(
        self, order: bytes, timeout_seconds: float, rights: Sequence[tuple[int, int, array.array[int]]] = ()
    ) -> Reading:
        self._socket.settimeout(timeout_seconds)
        try:
            self._socket.sendmsg([order], rights)
            answer = self._socket.recv(ANSWER.size, socket.MSG_WAITALL)
        except OSError as error:
            raise TargetError(f"the conductor is gone: {error}") from error
        if len(answer) != ANSWER.size:
            raise TargetError("the conductor is gone: it was ended from outside")
        status, threads, elapsed_ns = ANSWER.unpack(answer)
        if status == Status.BAD_ORDER:
            raise TargetError("the conductor refused an order")
        return Reading(Status(status), elapsed_ns * 1e-9, threads)

    def close(self) -> None:
        """End it."""
        self._socket.close()
        end_group(self._process)
