"""The right to use a device: one holder at a time on a host, whichever process it is in.

A lease is an exclusive ``flock`` on a file per device in a runtime folder of the host. The kernel drops the lock with its
holder, so that a dead holder's lease is free at once. The file says who holds it, for the message to whoever waits, and a
fencing token that only grows: a holder that was away can be told from its successor. Builds take the same lock in shared
mode: they run beside each other, but never beside a reading.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

RUNTIME_VARIABLE = "KERNELWRIGHT_RUNTIME"
"""Environment variable that names the folder of lease files; runs that should take turns must agree on it."""
_held: dict[str, Lease] = {}
"""Leases of this process, by device: whoever holds one may read and build without taking it again."""
_POLL_SECONDS = 0.05
_RECORD_BYTES = 4096


class LeaseHeldError(Exception):
    """Another holder has the device and waiting was not asked for. The message says who."""


@dataclass(frozen=True)
class Holder:
    """Who has a lease: description, process id, and since when (seconds of the Unix clock)."""

    name: str
    pid: int
    since: float


@dataclass(frozen=True)
class Lease:
    """A lease that is held: device, holder, and its fencing token (grows with each lease of the device)."""

    device: str
    holder: Holder
    token: int


def runtime_folder() -> Path:
    """Where lease files lie: the variable KERNELWRIGHT_RUNTIME, or a folder in the system's temporary folder.

    The folder is one per host, not per user, so that runs of different users take turns as well.
    """
    named = os.environ.get(RUNTIME_VARIABLE)
    folder = Path(named) if named else Path(tempfile.gettempdir()) / "kernelwright-leases"
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):  # another user made it meanwhile, and did this
            folder.chmod(0o1777)
    return folder


def _open(device: str) -> int:
    path = runtime_folder() / f"{re.sub(r'[^A-Za-z0-9._-]', '_', device)}.lease"
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except PermissionError:
        # Sticky folders may refuse O_CREAT on a file of another user although it may be written.
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)


def _read(descriptor: int) -> tuple[int, Holder | None]:
    try:
        record = json.loads(os.pread(descriptor, _RECORD_BYTES, 0) or b"{}")
        token = int(record.get("token", 0))
        holder = Holder(str(record["name"]), int(record["pid"]), float(record["since"])) if "pid" in record else None
    except (ValueError, TypeError):  # torn by a full disk: the lock still holds, only the description is lost
        return 0, None
    return token, holder


def _write(descriptor: int, token: int, holder: Holder | None) -> None:
    record: dict[str, object] = {"token": token}
    if holder is not None:
        record |= {"name": holder.name, "pid": holder.pid, "since": holder.since}
    text = json.dumps(record).encode()
    os.pwrite(descriptor, text, 0)
    os.ftruncate(descriptor, len(text))


def _acquire(
    descriptor: int, how: int, device: str, wait: bool, on_wait: Callable[[Holder | None], None] | None
) -> None:
    told = False
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = _read(descriptor)[1]
            if not wait:
                who = f"{holder.name} (process {holder.pid})" if holder else "a build"
                raise LeaseHeldError(f"device {device} is in use by {who}") from None
            if on_wait is not None and not told:
                on_wait(holder)
                told = True
        # Polling keeps Ctrl-C and the message working; a reading lasts far longer than the interval.
        time.sleep(_POLL_SECONDS if told or on_wait is None else 0.001)


@contextlib.contextmanager
def lease(
    device: str,
    holder: str,
    *,
    wait: bool = True,
    on_wait: Callable[[Holder | None], None] | None = None,
) -> Iterator[Lease]:
    """Hold ``device`` for the body. ``on_wait`` is called once, with who has it, when it is not free at once.

    A lease that this process holds already is given again. Raises LeaseHeldError when it is not free and ``wait`` is false.
    """
    if device in _held:
        yield _held[device]
        return
    descriptor = _open(device)
    try:
        _acquire(descriptor, fcntl.LOCK_EX, device, wait, on_wait)
        token = _read(descriptor)[0] + 1
        me = Holder(holder, os.getpid(), time.time())
        _write(descriptor, token, me)
        _held[device] = Lease(device, me, token)
        try:
            yield _held[device]
        finally:
            del _held[device]
            _write(descriptor, token, None)
    finally:
        os.close(descriptor)  # drops the lock


@contextlib.contextmanager
def shared(device: str) -> Iterator[None]:
    """Keep readings of ``device`` away for the body, without keeping other builds away; nothing to do for its holder."""
    if device in _held:
        yield
        return
    descriptor = _open(device)
    try:
        _acquire(descriptor, fcntl.LOCK_SH, device, True, None)
        yield
    finally:
        os.close(descriptor)


def is_current(held: Lease) -> bool:
    """Whether ``held`` is still the device's latest lease: its token is the one in the file."""
    descriptor = _open(held.device)
    try:
        return _read(descriptor)[0] == held.token
    finally:
        os.close(descriptor)
