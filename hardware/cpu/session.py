"""Two loaded designs that are read in pairs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..outcome import Outcome
from ..target import Build, Pair, Pairs
from .faults import ending, load_outcome
from .loading import Loader
from .placed import POISONS, Buffers, Pool
from .protocol import Status
from .verify import check_call, side_effect
from .workers import Conductor, LoadError, Worker

Side = Literal["best", "candidate"]


class SessionError(Exception):
    """One of the two designs failed. ``side`` is to blame."""

    def __init__(self, outcome: Outcome, reason: str, side: Side) -> None:
        super().__init__(reason)
        self.outcome, self.reason, self.side = outcome, reason, side


@dataclass
class Arm:
    """One side of a comparison: its design, buffers, process, and the inputs that its process has not seen yet."""

    side: Side
    number: int
    design: bytes
    buffers: Buffers
    worker: Worker | None = None
    fresh: list[list[int]] = field(default_factory=list)
    """For each copy the numbers of pool inputs still unused by this process."""
    placed: list[tuple[int, tuple[int, int]]] = field(default_factory=list)
    """Slots written for the coming reading, with (copy, input)."""


class CpuSession:
    """See :class:`kernelwright.hardware.target.Session`."""

    def __init__(
        self,
        loader: Loader,
        conductor: Conductor,
        pool: Pool,
        arms: tuple[Arm, Arm],
        seed: int,
        call_seconds: float,
        hold: Callable[[], AbstractContextManager[object]],
    ) -> None:
        self._loader, self._conductor, self._pool = loader, conductor, pool
        self._arms = {arm.side: arm for arm in arms}
        self._rng = np.random.default_rng(np.random.SeedSequence([seed, 2]))
        self._call_seconds = call_seconds
        self._hold = hold
        self._turn = 0
        self._state = frozenset(a.name for a in loader.spec.arguments if a.role == "state")

    def read(self, orders: Sequence[Literal["BC", "CB"]], calls: int, pairs_per_process: int = 1) -> Pairs:
        """Take one pair for each order; see the protocol. Raises ValueError when ``calls`` exceeds the bench's slots."""
        slots = len(self._arms["best"].buffers.slots)
        if not 1 <= calls < slots:
            raise ValueError(f"a reading has 1 to {slots - 1} calls here, not {calls}")
        pairs: list[Pair] = []
        with self._hold():
            start = time.perf_counter()
            try:
                for index, order in enumerate(orders):
                    if index % pairs_per_process == 0:
                        self._part()
                    pairs.append(self._pair(order, calls))
            except SessionError as failure:
                spent = time.perf_counter() - start
                return Pairs(tuple(pairs), failure.outcome, f"{failure.side}: {failure.reason}", spent, failure.side)
            return Pairs(tuple(pairs), Outcome.OK, "", time.perf_counter() - start)

    def _pair(self, order: Literal["BC", "CB"], calls: int) -> Pair:
        sides: tuple[Side, Side] = ("best", "candidate") if order == "BC" else ("candidate", "best")
        wanted = {side: self._next_slots(calls + 1) for side in sides}
        self._renew([self._arms[side] for side in sides if self._used_up(self._arms[side], wanted[side])])
        for side in sides:
            self._prepare(self._arms[side], wanted[side])
        # From here to the end of the second reading no value is looked at: the two readings lie close together.
        seconds = {side: self._reading(self._arms[side], calls) for side in sides}
        for side in sides:
            self._check(self._arms[side])
        return Pair(order, seconds["best"], seconds["candidate"])

    def _part(self) -> None:
        """End both processes, so that the next pair is read in fresh ones."""
        for arm in self._arms.values():
            self.unload(arm)

    def _next_slots(self, calls: int) -> list[int]:
        """The next turns of the rotation, which goes on across both arms."""
        first, self._turn = self._turn, self._turn + calls
        return list(range(first, first + calls))

    def _used_up(self, arm: Arm, turns: list[int]) -> bool:
        """Whether an arm needs a new process: it has none, or has seen too many of the inputs."""
        copies = self._loader.weights.copies
        need = Counter(turn % copies for turn in turns)
        return arm.worker is None or any(len(arm.fresh[copy]) < count for copy, count in need.items())

    def _prepare(self, arm: Arm, turns: list[int]) -> None:
        """Put inputs that its process has not seen into the slots of the coming reading."""
        arm.placed = []
        for turn in turns:
            copy = turn % self._loader.weights.copies
            number = arm.fresh[copy].pop()
            slot = turn % len(arm.buffers.slots)
            arm.buffers.write(slot, self._pool.call(copy, number), skip=self._state)
            arm.placed.append((slot, (copy, number)))

    def _renew(self, arms: Sequence[Arm]) -> None:
        """Start a new process for each arm, side by side; every input is fresh to it. Raises SessionError."""
        for arm in arms:
            self.unload(arm)
            arm.worker = self._loader.start(arm.design, arm.buffers)
        for arm in arms:
            assert arm.worker is not None
            try:
                arm.worker.ready()
            except LoadError as failure:
                arm.worker = None
                raise SessionError(load_outcome(failure), str(failure), arm.side) from failure
            self._conductor.add(arm.number, arm.worker)
            count = len(self._pool.inputs)
            arm.fresh = [self._rng.permutation(count).tolist() for _ in range(self._loader.weights.copies)]

    def unload(self, arm: Arm) -> None:
        """End the process of an arm."""
        if arm.worker is not None:
            arm.worker.close()
            arm.worker = None
            self._conductor.drop(arm.number)

    def close(self, restore: Callable[[Buffers], None]) -> None:
        """End both processes; ``restore`` puts state back that a failed design may have changed."""
        for arm in self._arms.values():
            self.unload(arm)
            if arm.placed:  # not checked, so not restored
                restore(arm.buffers)

    def _reading(self, arm: Arm, calls: int) -> float:
        assert arm.worker is not None
        timeout = self._call_seconds * max(1, calls)
        reading = self._conductor.read(arm.number, arm.placed[0][0], 1, calls, timeout)
        if reading.status is not Status.OK:
            found = ending(reading, arm.worker, self._loader.weights.places, arm.buffers.slots, timeout)
            raise SessionError(*found, arm.side)
        changed = side_effect(arm.worker, reading.threads, self._loader.threads)
        if changed is not None:
            raise SessionError(changed.outcome, changed.reason, arm.side)
        return reading.seconds / calls

    def _check(self, arm: Arm) -> None:
        """Compare every output of the reading, also the untimed call's, and put state back."""
        spec = self._loader.spec
        predictions = self._pool.predict([key for _, key in arm.placed])
        for (slot, (copy, number)), prediction in zip(arm.placed, predictions, strict=True):
            before = self._pool.call(copy, number)
            verdict = check_call(spec, arm.buffers, slot, prediction, before, POISONS[0])
            if verdict.outcome is not Outcome.OK:
                raise SessionError(verdict.outcome, verdict.reason, arm.side)
            for name in self._state:
                region = prediction.regions.get(name)
                if region is not None:
                    arm.buffers.view(slot, name)[region] = before[name][region]
        arm.placed = []


def make_arm(side: Side, number: int, loader: Loader, build: Build, buffers: Buffers) -> Arm:
    """An arm without a process yet. Raises SessionError when its artifact is not what was built."""
    try:
        return Arm(side, number, loader.design(build), buffers)
    except LoadError as failure:
        raise SessionError(load_outcome(failure), str(failure), side) from failure
