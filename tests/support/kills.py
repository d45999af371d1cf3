"""Processes that work at a run and are killed: before or after a save, inside an effect, or whenever it strikes."""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from kernelwright.events.base import Aggregate
from kernelwright.events.log import EventLog, LogError, Recorded
from kernelwright.events.run import Run, StepFinished, StepStarted
from kernelwright.graph.runner import drive, resume, workbench
from kernelwright.hardware.target import Build, Pairs

from support.loops import KERNELS, begin, quietly, repeatable
from support.simulated import GOOD_SCRIPT, Script, SimulatedBench, SimulatedSession, SimulatedTarget, toy_spec

Moment = Literal["before", "after", "effect", "delay", "intent", "outcome", "never"]


@dataclass(frozen=True)
class Kill:
    """When a process dies: before or after its nth save, inside its nth effect, after so many milliseconds; or at a step:
    after its intent was saved, or with its effect done and its outcome not saved.
    """

    moment: Moment
    nth: int = 0
    step: str = ""


def die() -> None:
    """Kill this process at once; nothing is flushed or closed."""
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


class MortalLog(EventLog):
    """A log that kills its process at a save, and that notes what it has acknowledged."""

    kill = Kill("never")
    acknowledged: Path
    saves = 0

    def record(self, *aggregates: Aggregate, synced: bool = True) -> list[Recorded]:
        """Save, and die before or after it when it is time; what is acknowledged is noted in between."""
        self.saves += 1
        if self.kill == Kill("before", self.saves):
            die()
        made = [event for aggregate in aggregates for event in aggregate.pending]
        ended = [event.name for event in made if isinstance(event, StepFinished)]
        if self.kill.moment == "outcome" and self.kill.step in ended:
            die()
        saved = super().record(*aggregates, synced=synced)
        with self.acknowledged.open("a") as file:
            file.writelines(f"{each.position} {each.event.seal}\n" for each in saved)
        begun = [event.name for event in made if isinstance(event, StepStarted)]
        if self.kill == Kill("after", self.saves) or (
            self.kill.moment == "intent" and self.kill.step in begun and self.kill.step not in ended
        ):
            die()
        return saved


@dataclass
class MortalTarget(SimulatedTarget):
    """A target that kills its process inside an effect, after the reading has been taken.

    Its readings depend on what is asked for alone, not on what else was read in the same processes, so that a run that
    was killed reads what one that was not reads.
    """

    kill: Kill = field(default_factory=lambda: Kill("never"))
    effects: int = 0

    @contextmanager
    def open(self, spec: Any, seed: int) -> Iterator[SimulatedBench]:
        """A bench of mortal sessions."""
        yield MortalBench(self)


class MortalBench(SimulatedBench):
    """Opens sessions that forget what they have read."""

    @contextmanager
    def pair(self, best: Build, candidate: Build, seed: int) -> Iterator[SimulatedSession]:
        """A session."""
        yield MortalSession(self.target, best, candidate, seed)


class MortalSession(SimulatedSession):
    """Noise from the seed and the orders."""

    def __init__(self, target: SimulatedTarget, best: Build, candidate: Build, seed: int) -> None:
        super().__init__(target, best, candidate, np.random.default_rng(seed))
        self._seed = seed

    def read(self, orders: Sequence[Literal["BC", "CB"]], calls: int, pairs_per_process: int = 1) -> Pairs:
        """Read, and die when it is time."""
        self.rng = np.random.default_rng([self._seed, calls, pairs_per_process, *(order == "BC" for order in orders)])
        taken = super().read(orders, calls, pairs_per_process)
        assert isinstance(self.target, MortalTarget)
        self.target.effects += 1
        if self.target.kill == Kill("effect", self.target.effects):
            die()
        return taken


@dataclass
class Scene:
    """A run in a folder, worked at by one process after another."""

    folder: Path
    url: str = ""
    """A database instead of a file in the folder."""
    deaths: int = 0
    found: Counter[str] = field(default_factory=Counter)
    """Steps that were in flight by the log when a process had been killed."""

    @property
    def store(self) -> str:
        """The log."""
        return self.url or str(self.folder / "log.sqlite")

    @property
    def acknowledged(self) -> Path:
        """Positions and seals that a process was told are recorded, by line."""
        return self.folder / "acknowledged"

    @property
    def journal(self) -> Path:
        """Readings that the simulated device has taken, by line."""
        return self.folder / "journal"

    def work(self, kill: Kill) -> bool:
        """Work at the run in a new process until it is finished (True) or the process was killed (False)."""
        child = os.fork()
        if child == 0:
            self._child(kill)
        if kill.moment == "delay":
            time.sleep(kill.nth / 1000)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            self.deaths += 1
            self._look()
            return False
        assert os.WEXITSTATUS(status) == 0, (self.folder / "failure").read_text()
        return True

    def _look(self) -> None:
        """Count which step is in flight."""
        try:
            log = EventLog.open(self.store, read_only=True)
        except LogError:
            return  # killed before there was a store
        run = log.load(Run, "r") if log.store.positions_given() else None
        if run is not None and run.in_flight is not None:
            self.found[run.in_flight[1]] += 1
        log.close()

    def _child(self, kill: Kill) -> None:
        """Never returns: nothing of the test may run on in here."""
        code = 1
        try:
            with repeatable(self.folder):
                self._work(kill)
            code = 0
        finally:
            if code:
                (self.folder / "failure").write_text(traceback.format_exc())
            os._exit(code)

    def _work(self, kill: Kill) -> None:
        log = MortalLog.open(self.store, create=True)
        assert isinstance(log, MortalLog)
        log.kill, log.acknowledged = kill, self.acknowledged
        if log.store.last_position() == 0:
            begin(log)
        target = MortalTarget(journal=self.journal, kill=kill)
        specs = {name: toy_spec(name) for name in KERNELS}
        with workbench(log, "r", target, specs, Script(GOOD_SCRIPT)) as wb:
            if wb.view.stopped is not None and wb.view.stopped.reason == "finished":
                return
            if log.saves == 0:
                resume(wb, wb.view.minutes, "search")
            drive(wb, quietly)
