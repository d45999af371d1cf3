"""The state of a run: what the router decides from, folded from the run, its trees and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from ..base import Event, aggregate_id
from ..log import EventLog, Recorded
from ..run import (
    RunResumed,
    RunStarted,
    RunStopped,
    SpecialistAnswered,
    StepFinished,
    StepStarted,
    ToolchainObserved,
)
from ..tree import TreeEvent
from .tree import TreeView

OVERHEAD_EXCLUDES = frozenset({"build", "values", "device"})
"""Parts of a step's time that are work, not overhead of the loop."""


def run_originators(run: str, kernels: Iterable[str]) -> list[UUID]:
    """The aggregates that make up a run."""
    return [aggregate_id("run", run), *(aggregate_id("tree", run, kernel) for kernel in kernels)]


@dataclass
class RunView:
    """A run and its trees, folded event by event."""

    started: RunStarted | None = None
    started_at: str = ""
    minutes: float = 0.0
    stopped: RunStopped | None = None
    toolchain: ToolchainObserved | None = None
    in_flight: StepStarted | None = None
    trees: dict[str, TreeView] = field(default_factory=dict)
    steps: int = 0
    overhead_seconds: float = 0.0
    answers: int = 0
    position: int = 0
    events: int = 0
    starts: int = 0
    """How often a process took the run up."""
    observations: int = 0
    finished_steps: dict[str, int] = field(default_factory=dict)
    """How often each step has finished, by name and kernel."""
    elapsed_seconds: float = 0.0
    """Time in which some process worked at the run, up to the latest event."""
    _by_originator: dict[UUID, TreeView] = field(default_factory=dict)
    _active_since: float = 0.0
    _before: float = 0.0

    def apply(self, recorded: Recorded) -> None:
        """Fold one recorded event; events of other runs must not be given."""
        event = recorded.event
        self.position = recorded.position
        self.events += 1
        if isinstance(event, TreeEvent):
            self._by_originator[event.originator_id].apply(event)
        else:
            self._apply_run(event)
        if self.stopped is None and self._active_since:
            self.elapsed_seconds = self._before + event.at.timestamp() - self._active_since

    def _apply_run(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.started, self.minutes, self.starts = event, event.minutes, 1
                self.started_at = event.at.isoformat(timespec="seconds")
                self._active_since = event.at.timestamp()
                for kernel in event.kernels:
                    tree = TreeView(kernel=kernel)
                    self.trees[kernel] = tree
                    self._by_originator[aggregate_id("tree", event.run, kernel)] = tree
            case RunResumed():
                self.stopped, self.minutes, self.starts = None, event.minutes, self.starts + 1
                self._before, self._active_since = self.elapsed_seconds, event.at.timestamp()
            case RunStopped():
                self.elapsed_seconds = self._before + event.at.timestamp() - self._active_since
                self.stopped = event
            case ToolchainObserved():
                self.toolchain = event
                self.observations += 1
            case StepStarted():
                self.in_flight = event
            case StepFinished():
                self._finish(event)
            case SpecialistAnswered():
                self.answers += 1
            case _:
                pass

    def _finish(self, event: StepFinished) -> None:
        subject = self.in_flight.subject if self.in_flight is not None else {}
        self.in_flight = None
        self.steps += 1
        name = f"{event.name}:{subject.get('kernel', '')}"
        self.finished_steps[name] = self.finished_steps.get(name, 0) + 1
        if subject.get("design"):
            self.overhead_seconds += sum(s for part, s in event.seconds.items() if part not in OVERHEAD_EXCLUDES)

    def finished(self, step: str, kernel: str = "") -> int:
        """How often a step has finished for a kernel."""
        return self.finished_steps.get(f"{step}:{kernel}", 0)

    @property
    def name(self) -> str:
        """The run's name."""
        return self.started.run if self.started is not None else ""

    @property
    def state(self) -> str:
        """``running`` (or killed while running), or how it stopped."""
        return "running" if self.stopped is None else self.stopped.reason

    @property
    def device_seconds(self) -> float:
        """Seconds of device time used by readings."""
        return sum(tree.device_seconds for tree in self.trees.values())


class UnknownRunError(Exception):
    """There is no such run; the message names the nearest ones."""


def load_run(log: EventLog, run: str) -> RunView:
    """Fold a run from the log; raises UnknownRunError."""
    view = RunView()
    head = aggregate_id("run", run)
    for recorded in log.stream([head]):
        if isinstance(recorded.event, RunStarted):
            kernels = recorded.event.kernels
            for each in log.stream(run_originators(run, kernels)):
                view.apply(each)
            return view
    raise UnknownRunError(run)
