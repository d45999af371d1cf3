"""Where every argument lies in shared memory: segments with guard pages between them, and a pointer table per slot.

A *slot* is one set of arguments for one call. Weights of a copy and tables are shared by all slots that use them; every
other argument has memory of its own in every slot. An argument ends (or starts) at a page end wherever its alignment
allows, so that one element too many hits a page that is not mapped.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from dataclasses import dataclass
from typing import Literal

from ...kernels.spec import Argument, Array, KernelSpec
from .memory import HUGE_PAGE, Mapping
from .protocol import PLAN, POINTER, REGION, SEGMENT

PAGE = mmap.PAGESIZE
WEIGHT_ALIGNMENT = 64
"""Bytes that a weight or a table is aligned to. Other arguments are aligned to their element only."""
CANARY = 0xA5
"""What the bytes of a page that belong to no argument are filled with."""
Placement = Literal["end", "start", "odd"]
"""Flush with the page end, flush with the page start, or at an address that is a multiple of nothing but the element."""
ARGUMENT_REGION, WEIGHT_REGION = 0, 1


@dataclass(frozen=True)
class Place:
    """Where an argument lies in its region's file: its first byte, and the segment of whole pages around it."""

    offset: int
    size: int
    segment: int
    segment_bytes: int


class Region:
    """A memory file that grows while arguments are placed, and is then mapped. Pages between segments are never mapped
    by a worker: they are the guards."""

    def __init__(self, name: str, huge: bool) -> None:
        self.huge = huge
        self.descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self.bytes = PAGE
        self.segments: list[tuple[int, int, bool]] = []
        self._memory: Mapping | None = None

    def place(self, size: int, alignment: int, placement: Placement, writable: bool, shift: int = 0) -> Place:
        """Make room for ``size`` bytes. ``shift`` (bytes, a multiple of the element) is used by placement ``odd``."""
        ahead = shift if placement == "odd" else 0
        room = max(math.ceil((ahead + size) / PAGE), 1) * PAGE
        start = self.bytes
        if self.huge and size >= HUGE_PAGE:
            # So that huge pages can hold all but the last part of it.
            start = math.ceil((start + PAGE) / HUGE_PAGE) * HUGE_PAGE + (HUGE_PAGE - room % HUGE_PAGE) % HUGE_PAGE
        offset = (room - size) // alignment * alignment if placement == "end" else ahead
        self.segments.append((start, room, writable))
        self.bytes = start + room + PAGE
        return Place(start + offset, size, start, room)

    def map(self) -> None:
        """Give the file its size and map it here; called once, after the last :meth:`place`."""
        os.ftruncate(self.descriptor, self.bytes)
        self._memory = Mapping(self.descriptor, self.bytes, self.huge)

    @property
    def _array(self) -> Array:
        if self._memory is None:
            raise RuntimeError("the region is not mapped")
        return self._memory.array

    def view(self, place: Place) -> Array:
        """The bytes of an argument (uint8, writable)."""
        return self._array[place.offset : place.offset + place.size]

    def slack(self, place: Place) -> tuple[Array, Array]:
        """The bytes of the segment before and after an argument, which must stay :data:`CANARY`."""
        end = place.segment + place.segment_bytes
        return self._array[place.segment : place.offset], self._array[place.offset + place.size : end]

    def seal(self) -> None:
        """Unmap it here and forbid, for everyone and for ever, to write it or change its size."""
        self.unmap()
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)

    def unmap(self) -> None:
        """Drop the mapping; views of it must not be used any more."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def close(self) -> None:
        """Drop mapping and file. The memory lives on in workers until they end."""
        self.unmap()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def alignment(argument: Argument) -> int:
    """Bytes that the contract aligns an argument to."""
    return WEIGHT_ALIGNMENT if argument.role in ("weight", "table") else argument.storage.itemsize


@dataclass(frozen=True)
class Slot:
    """One call's arguments: the copy of the weights, and the places of the arguments that are its own."""

    copy: int
    own: dict[str, Place]


def is_own(argument: Argument) -> bool:
    """Whether each slot has memory of its own for ``argument``."""
    return argument.role not in ("weight", "table")


def place_weights(region: Region, spec: KernelSpec, copies: int) -> list[dict[str, Place]]:
    """Places of weights and tables in each copy; tables are the same in all."""
    tables: dict[str, Place] = {}
    placed: list[dict[str, Place]] = []
    for _ in range(copies):
        places: dict[str, Place] = {}
        for argument in spec.arguments:
            if is_own(argument):
                continue
            if argument.role == "table" and argument.name in tables:
                places[argument.name] = tables[argument.name]
                continue
            places[argument.name] = region.place(argument.bytes, WEIGHT_ALIGNMENT, "end", writable=False)
            if argument.role == "table":
                tables[argument.name] = places[argument.name]
        placed.append(places)
    return placed


def place_slot(region: Region, spec: KernelSpec, copy: int, placement: Placement, shift: int = 0) -> Slot:
    """Places of one slot's own arguments. ``shift`` counts elements and is for placement ``odd``."""
    own = {
        argument.name: region.place(
            argument.bytes, alignment(argument), placement, argument.writes, shift * argument.storage.itemsize
        )
        for argument in spec.arguments
        if is_own(argument)
    }
    return Slot(copy, own)


def plan_bytes(spec: KernelSpec, regions: list[Region], weights: list[dict[str, Place]], slots: list[Slot]) -> bytes:
    """The plan that a worker maps by; ``regions`` are the slots' own and the weights', in this order."""
    segments = [(number, segment) for number, region in enumerate(regions) for segment in region.segments]
    parts = [PLAN.pack(len(regions), len(segments), len(slots), len(spec.arguments))]
    parts += [REGION.pack(region.bytes, int(region.huge), 0) for region in regions]
    parts += [SEGMENT.pack(number, int(writable), start, room) for number, (start, room, writable) in segments]
    for slot in slots:
        for argument in spec.arguments:
            if is_own(argument):
                parts.append(POINTER.pack(ARGUMENT_REGION, 0, slot.own[argument.name].offset))
            else:
                parts.append(POINTER.pack(WEIGHT_REGION, 0, weights[slot.copy][argument.name].offset))
    return b"".join(parts)
