"""The binary layouts of ``c/protocol.h``, in Python."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

MAX_REGIONS = 8
CONTROL_BYTES = 4096
PLAN = struct.Struct("<4I")
REGION = struct.Struct("<QII")
SEGMENT = struct.Struct("<IIQQ")
POINTER = struct.Struct("<IIQ")
ORDER = struct.Struct("<IIiIIIQ")
ANSWER = struct.Struct("<IIQ")
_CONTROL = struct.Struct(f"<7IiQ{MAX_REGIONS}Q")


class Operation(IntEnum):
    """What an order asks of the conductor."""

    ADD = 1
    DROP = 2
    READ = 3


class Status(IntEnum):
    """How an order ended."""

    OK = 0
    HUNG = 1
    DIED = 2
    BAD_ORDER = 3


@dataclass(frozen=True)
class Control:
    """The control page of a worker as it was read: hints from the worker's side, to be believed only about itself."""

    changed: int
    fault_signal: int
    fault_code: int
    fault_address: int
    bases: tuple[int, ...]


def read_control(page: bytes) -> Control:
    """Decode a control page."""
    _go, _done, _first, _count, changed, _ahead, signal, code, address, *bases = _CONTROL.unpack_from(page)
    return Control(changed, signal, code, address, tuple(bases))
