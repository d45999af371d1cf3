"""A lock on one byte of a file: held as long as the process lives, by one holder among all processes that ask."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .store import HeldError

_FLOCK = "hhqqi4x"
"""``struct flock`` of the system's C library on 64-bit machines: type, whence, start, length, process."""


@contextmanager
def range_lock(path: Path, byte: int) -> Iterator[None]:
    """Hold byte number ``byte`` of the file at ``path``, which is made when missing and never holds anything.

    The lock belongs to the open file, not to the process (fcntl(2), "open file description locks"): it excludes other
    threads too, and closing another descriptor of the same file does not drop it. The system drops it when the holder
    dies. Raises HeldError when another has it, OSError when the file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        request = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise HeldError from error
            raise
        yield
    finally:
        os.close(descriptor)
