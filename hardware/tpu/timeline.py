"""Follows a compiled program through time: one cycle for a bundle, copies at the memory's bandwidth, waits until they are
done. What loops do, and how often, comes from running the program's own scalar code (:mod:`.scalar`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .chips import Chip
from .dump import TOP, UNIT_NAMES, Listing
from .scalar import REGISTERS, WORD, Block, Event, Translator

BLOCK_LIMIT = 3_000_000
"""How many blocks are followed before the rest is left: seconds of work, for kernels that are hopeless anyway."""
VMEM_BYTES_PER_CYCLE = 4096
"""What a copy inside the core is taken to move: one register of 8 x 128 words a cycle."""
_PROBE = 1 << 20


@dataclass
class Part:
    """What one operation of the graph took: a kernel, or an operation of XLA's around it."""

    name: str
    runs: int = 0
    cycles: float = 0.0
    bundles: float = 0.0
    waited: float = 0.0
    """Cycles of waiting for copies."""
    hbm_bytes: float = 0.0
    local_bytes: float = 0.0
    units: dict[str, float] = field(default_factory=dict)
    """Cycles that each unit would need alone: operations over what it can issue in a cycle."""
    steps: int = 0
    """Turns of its outermost loop."""
    steps_waiting: int = 0
    """Those in which it waited for copies."""

    def limit(self, bytes_per_cycle: float) -> str:
        """The unit that it is limited by: what would take the most time alone, when that is half of the time taken."""
        alone = dict(self.units)
        alone["HBM"] = self.hbm_bytes / bytes_per_cycle
        alone["local copies"] = self.local_bytes / VMEM_BYTES_PER_CYCLE
        busiest = max(alone, key=lambda unit: alone[unit])
        if alone[busiest] < self.cycles / 2:
            return "latency" if self.waited < self.cycles / 2 else "waiting for copies"
        return UNIT_NAMES.get(busiest, busiest)


@dataclass(frozen=True)
class Timeline:
    """A program followed to its end. ``whole`` is false when it was left before; ``assumed`` branches rest on data."""

    cycles: float
    parts: tuple[Part, ...]
    whole: bool
    assumed: int
    unmatched_waits: int
    missing: tuple[str, ...]
    """Operations of the graph that the dump does not show; they take no time here."""


@dataclass
class _Flag:
    """A synchronization flag: what will have been added by when, and what was taken from it."""

    arrivals: list[tuple[float, int]] = field(default_factory=list)
    taken: int = 0

    def when(self, amount: int) -> float | None:
        """The time at which ``amount`` can be taken; None when it never can."""
        total = -self.taken
        for time, added in sorted(self.arrivals):
            total += added
            if total >= amount:
                return time
        return None

    def take(self, amount: int) -> None:
        """Take ``amount`` away; what has been used up is forgotten."""
        self.taken += amount
        ordered = sorted(self.arrivals)
        while ordered and ordered[0][1] <= self.taken:
            self.taken -= ordered.pop(0)[1]
        self.arrivals = ordered


class _Run:
    def __init__(self, listings: Mapping[str, Listing], chip: Chip) -> None:
        self.listings, self.chip = listings, chip
        self.blocks: dict[str, dict[int, Block]] = {}
        self.time = 0.0
        self.hbm_free = self.local_free = 0.0
        self.bytes_per_cycle = chip.core_bytes_per_second / chip.clock_hz
        self.registers = [0] * REGISTERS
        self.memory: dict[int, int] = {}
        self.flags: dict[int, _Flag] = {}
        self.parts: dict[str, Part] = {}
        self.followed = 0
        self.assumed: set[tuple[str, int]] = set()
        self.unmatched = 0
        self.missing: list[str] = []
        self.sums: dict[tuple[str, int], dict[str, float]] = {}

    def of(self, name: str) -> dict[int, Block]:
        if name not in self.blocks:
            translator = Translator(
                self.listings[name], len(self.blocks) + 1, self.chip.delay_slots, self.chip.loop_slots
            )
            self.blocks[name] = translator.blocks()
        return self.blocks[name]

    def units(self, name: str, block: Block) -> dict[str, float]:
        """Cycles that every unit needs for a block's bundles, were it alone."""
        key = (name, block.start)
        if key not in self.sums:
            use = self.listings[name].units
            totals: dict[str, float] = {}
            if use is not None:
                for unit, column in zip(use.names, range(len(use.names)), strict=True):
                    operations = sum(row[column] for row in use.rows[block.start : block.end])
                    if operations:
                        totals[unit] = operations / max(use.capacity[column], 1)
            self.sums[key] = totals
        return self.sums[key]

    def module(self, name: str) -> bool:
        """Run one module to its end; false when the limit of blocks was reached."""
        blocks = self.of(name)
        part = self.parts.setdefault(name, Part(name))
        part.runs += 1
        began = self.time
        head = _outer_loop(blocks)
        place: int | None = 0
        step_waited = part.waited
        inner = 0.0
        while place is not None and place in blocks:
            if place == head:
                part.steps += 1
                part.steps_waiting += part.waited > step_waited
                step_waited = part.waited
            block = blocks[place]
            self.followed += 1
            if self.followed > BLOCK_LIMIT:
                part.cycles += self.time - began - inner
                return False
            if block.assumed:
                self.assumed.add((name, block.start))
            taken, called = self._block(name, block, part)
            inner += called
            if taken is None:
                return False
            taken = taken and not block.assumed  # what rests on data is taken to do its work, once
            if taken and block.target == block.start and block.pure:
                self._turn_quickly(name, block, part)
                place = block.end
            else:
                place = block.target if taken else block.end
        part.cycles += self.time - began - inner
        return True

    def _count(self, name: str, block: Block, part: Part, times: int) -> None:
        bundles = (block.end - block.start) * times
        part.bundles += bundles
        for unit, cycles in self.units(name, block).items():
            part.units[unit] = part.units.get(unit, 0.0) + cycles * times

    def _block(self, name: str, block: Block, part: Part) -> tuple[bool | None, float]:
        """Run one block; whether its branch is taken (None: left in a call), and the time that its calls took."""
        self._count(name, block, part, 1)
        at = block.start
        called = 0.0
        for event, piece in zip(block.events, block.pieces, strict=False):
            piece(self.registers, self.memory)
            self.time += event.at - at
            at = event.at
            if event.kind == "call":
                began = self.time
                if not self._call(event):
                    return None, called
                called += self.time - began
            else:
                self._happens(event, part)
        taken = block.pieces[-1](self.registers, self.memory)
        self.time += block.end - at
        return taken, called

    def _call(self, event: Event) -> bool:
        name = event.name
        if name.startswith("<"):
            return True  # what the runtime does before and after every program
        if name not in self.listings:
            twin = _twin(name, self.listings)
            if twin is None:
                self.missing.append(name)
                return True
            name = twin
        return self.module(name)

    def _happens(self, event: Event, part: Part) -> None:
        happens, *values = event.values(self.registers, self.memory)
        if not happens:
            return
        if event.kind == "copy":
            size, flag, source = values
            self._copy(event.name, size * self.chip.granule_bytes, size, (flag, source), part)
            return
        flag, amount = values
        state = self.flags.setdefault(flag, _Flag())
        if event.kind == "set":
            self.flags[flag] = _Flag(arrivals=[(self.time, amount)] if amount > 1 else [])
        elif event.kind == "wait":
            done = state.when(amount)
            if done is None:
                self.unmatched += 1
            elif done > self.time:
                part.waited += done - self.time
                self.time = done
        elif amount > WORD // 2:
            state.take(WORD + 1 - amount)
        else:
            state.arrivals.append((self.time, amount))

    def _copy(self, name: str, size_bytes: int, granules: int, flags: tuple[int, int], part: Part) -> None:
        if "hbm" in name or "cmem" in name:
            begins = max(self.time, self.hbm_free)
            done = self.hbm_free = begins + size_bytes / self.bytes_per_cycle
            part.hbm_bytes += size_bytes
        else:
            begins = max(self.time, self.local_free)
            done = self.local_free = begins + size_bytes / VMEM_BYTES_PER_CYCLE
            part.local_bytes += size_bytes
        for flag in flags:
            if flag:
                self.flags.setdefault(flag, _Flag()).arrivals.append((done, granules))

    def _turn_quickly(self, name: str, block: Block, part: Part) -> None:
        """The rest of a loop that is one block and changes registers alone, without turning it every time.

        When two turns change every register by the same step, so does every other; the turn that leaves is then found
        by halving. Any other loop is turned one by one.
        """
        step = block.pieces[0]
        first = list(self.registers)
        if not step(self.registers, self.memory):
            self._pass(name, block, part, 1)
            return
        second = list(self.registers)
        if not step(self.registers, self.memory):
            self._pass(name, block, part, 2)
            return
        third = list(self.registers)
        steps = [(b - a) & WORD for a, b in zip(first, second, strict=True)]
        turned = 2
        if steps == [(b - a) & WORD for a, b in zip(second, third, strict=True)]:

            def leaves(turns: int) -> bool:
                trial = [(value + change * turns) & WORD for value, change in zip(third, steps, strict=True)]
                return not step(trial, self.memory)

            low, high = 0, 1
            while high < _PROBE and not leaves(high):
                low, high = high, high * 2
            if leaves(high):
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (low, middle) if leaves(middle) else (middle, high)
                skipped = 0 if leaves(0) else high
                self.registers[:] = [
                    (value + change * skipped) & WORD for value, change in zip(third, steps, strict=True)
                ]
                turned += skipped
        while step(self.registers, self.memory):
            turned += 1
            self.followed += 1
            if self.followed > BLOCK_LIMIT:
                break
        self._pass(name, block, part, turned + 1)

    def _pass(self, name: str, block: Block, part: Part, turns: int) -> None:
        self._count(name, block, part, turns)
        self.time += (block.end - block.start) * turns


def _twin(name: str, listings: Mapping[str, Listing]) -> str | None:
    """The operation whose code one without a listing shares: code that is the same is compiled and dumped once, and such
    operations are numbered near each other."""
    stem, _, number = name.rpartition(".")
    alike = [other for other in listings if other.rpartition(".")[0] == stem and other.rpartition(".")[2].isdigit()]
    if not number.isdigit() or not alike:
        return None

    def distance(other: str) -> tuple[int, int]:
        its = int(other.rpartition(".")[2])
        return abs(its - int(number)), its

    return min(alike, key=distance)


def _outer_loop(blocks: Mapping[int, Block]) -> int | None:
    """Where the longest loop of a module begins; None when there is none."""
    loops = [(b.end - b.target, b.target) for b in blocks.values() if b.target is not None and b.target <= b.start]
    return max(loops)[1] if loops else None


def follow(listings: Mapping[str, Listing], chip: Chip) -> Timeline:
    """The timeline of a program on a chip, from a dump that :func:`.dump.read_dump` has read."""
    run = _Run(listings, chip)
    whole = run.module(TOP)
    # What was written last still has to arrive.
    end = max(run.time, run.hbm_free)
    parts = tuple(run.parts.values())
    return Timeline(end, parts, whole, len(run.assumed), run.unmatched, tuple(run.missing))
