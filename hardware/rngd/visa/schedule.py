"""The schedule that ``--dump-schedule`` writes, read into plain data.

Unknown keys are passed over, since the format belongs to the vendor and grows; what is needed and broken is refused with
the place and the reason. Times are cycles of the compiler's clock (see :data:`SCHEDULE_HZ`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

SCHEDULE_HZ = 1.0e9
"""Cycles a second of the compiler's static schedule. Source: participants' notes of the 2026 RNGD kernel contest, which
give the vendor's forum (thread 469); readings on the chip count another clock, see ``chip.DEVICE_HZ``."""
LIMIT_BYTES = 64 << 20
MOST_CYCLES = 10**15
"""Days of the compiler's clock: a time above it is no schedule's."""
_PLACE = re.compile(r"-->\s*(?P<place>[^\s:]+:\d+(?::\d+)?)")


class ScheduleError(ValueError):
    """A dump that is not a schedule. The message says where and why."""


class _Tolerant(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Lifetime(_Tolerant):
    begin: Annotated[int, Field(ge=0, le=MOST_CYCLES)]
    end: Annotated[int, Field(ge=0, le=MOST_CYCLES)]


class _Utilization(_Tolerant):
    total_util: float | None = None
    base_util: float | None = None
    efficiency: float | None = None


class _Instruction(_Tolerant):
    index: int | str
    tpe: str = "?"
    contexts: list[str] | None = None
    lifetime: _Lifetime
    input_tensors: list[int | str] | None = None
    output_tensors: list[int | str] | None = None
    description: str | None = None
    util: _Utilization | None = None


class _Tensor(_Tolerant):
    name: str = ""
    index: int | str
    buffer_type: str = "?"
    lifetime: _Lifetime
    address: int | None = None
    size: Annotated[int, Field(ge=0)] = 0
    shape: Any = None


class _Dump(_Tolerant):
    title: str = ""
    total_memory: int | None = None
    page_size: int | None = None
    instructions: list[_Instruction]
    tensors: list[_Tensor] = []


@dataclass(frozen=True)
class Node:
    """One scheduled instruction. ``kind`` is DmaLoad, DmaStore, Main, Sub, Core or what a newer compiler adds.

    ``place`` is ``file:line:column`` of the source, empty where the dump names none. ``efficiency`` is what the compiler
    gives as the node's share of its unit's peak, None when it gives nothing.
    """

    index: str
    kind: str
    contexts: tuple[str, ...]
    begin: int
    end: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    description: str
    place: str
    efficiency: float | None

    @property
    def cycles(self) -> int:
        """How long it takes."""
        return self.end - self.begin


@dataclass(frozen=True)
class Buffer:
    """A tensor of the schedule: where it lies (bytes) and from when to when (cycles)."""

    name: str
    index: str
    kind: str
    begin: int
    end: int
    address: int | None
    size_bytes: int


@dataclass(frozen=True)
class Schedule:
    """A kernel's static schedule; nodes in the order in which they begin."""

    title: str
    total_memory_bytes: int | None
    page_size_bytes: int | None
    nodes: tuple[Node, ...]
    buffers: tuple[Buffer, ...]

    @property
    def makespan(self) -> int:
        """Cycles until the last node ends."""
        return max(node.end for node in self.nodes)


def parse_schedule(text: str | bytes) -> Schedule:
    """The schedule in a dump. Raises ScheduleError for what is no JSON, lacks a needed key, or has impossible times."""
    if len(text) > LIMIT_BYTES:
        raise ScheduleError(f"the dump is larger than {LIMIT_BYTES >> 20} MiB")
    try:
        dump = _Dump.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ScheduleError(f"not a schedule: {where}: {first['msg']}") from error
    if not dump.instructions:
        raise ScheduleError("not a schedule: it has no instructions")
    for kind, parts in (("instruction", dump.instructions), ("tensor", dump.tensors)):
        for part in parts:
            if part.lifetime.end < part.lifetime.begin:
                raise ScheduleError(f"not a schedule: {kind} {part.index} ends before it begins")
    if max(each.lifetime.end for each in dump.instructions) == 0:
        raise ScheduleError("not a schedule: no instruction takes any time")
    nodes = sorted(map(_node, dump.instructions), key=lambda node: (node.begin, node.end))
    buffers = tuple(map(_buffer, dump.tensors))
    return Schedule(dump.title, dump.total_memory, dump.page_size, tuple(nodes), buffers)


def _node(raw: _Instruction) -> Node:
    description = raw.description or ""
    place = _PLACE.search(description)
    return Node(
        str(raw.index),
        raw.tpe,
        tuple(dict.fromkeys(raw.contexts or ())),
        raw.lifetime.begin,
        raw.lifetime.end,
        tuple(map(str, raw.input_tensors or ())),
        tuple(map(str, raw.output_tensors or ())),
        description,
        place.group("place") if place else "",
        raw.util.efficiency if raw.util is not None else None,
    )


def _buffer(raw: _Tensor) -> Buffer:
    times = raw.lifetime
    return Buffer(raw.name, str(raw.index), raw.buffer_type, times.begin, times.end, raw.address, raw.size)
