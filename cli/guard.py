"""What can go wrong while a run is worked on, turned into one line and an exit code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from .output import fail

if TYPE_CHECKING:
    from ..hardware.lease import Holder


def tell_who_waits(holder: Holder | None) -> None:
    """Say that the device is in use, and by whom; the run goes on by itself when it is free."""
    who = f"{holder.name} (process {holder.pid})" if holder is not None else "builds"
    sys.stderr.write(f"kernelwright: the device is in use by {who}; waiting for its turn\n")


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends the work as Ctrl-C does: by KeyboardInterrupt, with the signal's number as its argument."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def explained(*, as_json: bool) -> Iterator[None]:
    """Errors that a person can act on end the command with one line and exit code 1."""
    from ..events.base import InvariantError
    from ..events.blobs import BlobError
    from ..events.log import LogError
    from ..events.mapper import UnreadableEventError
    from ..hardware.target import TargetError

    try:
        yield
    except (TargetError, LogError, BlobError, UnreadableEventError, InvariantError) as error:
        fail(str(error), as_json=as_json, code=1)
    except OSError as error:
        fail(f"the system refused: {error}; free space or permissions may be missing", as_json=as_json, code=1)
