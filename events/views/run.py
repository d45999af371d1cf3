"""The state of a run: what the router decides from, folded from the run, its trees and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from ..base import Event, aggregate_id
from ..log import Recorded
from ..run import (
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
    SpecialistAnswered,
    StepFinished,
    StepStarted,
    ToolchainObserved,
)
from ..tree import TreeEvent
from .designs import Designs, Fetch
from .tree import TreeView

OVERHEAD_EXCLUDES = frozenset({"build", "values", "device", "waiting"})
"""Parts of a step's time that are work, not overhead of the loop."""


def run_originators(run: str, kernels: Iterable[str]) -> list[UUID]:
    """The aggregates that make up a run."""
    return [aggregate_id("run", run), *(aggregate_id("tree", run, kernel) for kernel in kernels)]


@dataclass
class RunView:
    """A run and its trees, folded event by event."""

    fetch: Fetch | None = field(default=None, compare=False, repr=False)
    """Reads the log that this is folded from; without it the designs of all trees stay in memory."""
    started: RunStarted | None = None
    """The start of the run, or of the one that it was forked from in the first place."""
    forked: RunForked | None = None
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
    observed: bool = False
    """Whether the toolchain was observed since a process last took the run up."""
    options: dict[str, Any] = field(default_factory=dict)
    """Settings of the target that were changed since the run's start."""
    finished_steps: dict[str, int] = field(default_factory=dict)
    """How often each step has finished, by name and kernel."""
    probed: list[str] = field(default_factory=list)
    """Fingerprints of the toolchains under which this run has measured the chip."""
    last_finish: float = 0.0
    """When the latest step of this process ended (seconds of the Unix clock), 0 before the first."""
    elapsed_seconds: float = 0.0
    """Time in which some process worked at the run, up to the latest event."""
    _tree_of: dict[UUID, TreeView] = field(default_factory=dict)
    heads: dict[UUID, tuple[int, str]] = field(default_factory=dict)
    """Version and digest of the last event of each aggregate that this was folded from."""
    core: dict[str, int] = field(default_factory=dict)
    """Positions of the events of the run that this holds, by field."""
    active_since: float = 0.0
    """When the process that works at it took it up (seconds of the Unix clock); 0 while none does."""
    active_before: float = 0.0
    """Seconds of activity before that."""

    def apply(self, recorded: Recorded) -> None:
        """Fold one recorded event; events of other runs must not be given."""
        event = recorded.event
        self.position = recorded.position
        self.events += 1
        self.heads[event.originator_id] = (event.originator_version, event.seal)
        if isinstance(event, TreeEvent):
            self._tree_of[event.originator_id].apply(event, recorded.position)
        else:
            self._apply_run(event)
        if self.stopped is None and self.active_since:
            self.elapsed_seconds = self.active_before + event.at.timestamp() - self.active_since

    def _apply_run(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.started, self.minutes, self.starts = event, event.minutes, 1
                self.observed, self.last_finish = False, 0.0
                self.started_at = event.at.isoformat(timespec="seconds")
                self.active_since = event.at.timestamp()
                self.trees = {kernel: TreeView(kernel=kernel, designs=Designs(self.fetch)) for kernel in event.kernels}
                self._keep("started")
                self._adopt(event.run)
            case RunForked():
                self.forked, self.minutes = event, event.minutes
                self.started_at = event.at.isoformat(timespec="seconds")
                self.active_before, self.active_since = self.elapsed_seconds, 0.0
                self._keep("forked")
                self._adopt(event.run)
            case RunResumed():
                self.stopped, self.minutes, self.starts = None, event.minutes, self.starts + 1
                self.options |= event.options
                self.observed, self.last_finish = False, 0.0
                self.core.pop("stopped", None)
                self.active_before, self.active_since = self.elapsed_seconds, event.at.timestamp()
            case RunStopped():
                if self.active_since:
                    self.elapsed_seconds = self.active_before + event.at.timestamp() - self.active_since
                self.stopped, self.in_flight = event, None
                self.core.pop("in_flight", None)
                self._keep("stopped")
            case ToolchainObserved():
                self.toolchain = event
                self.observations += 1
                self.observed = True
                for tree in self.trees.values():
                    tree.device = event.device
                self._keep("toolchain")
            case StepStarted():
                self.in_flight = event
                self._keep("in_flight")
            case StepFinished():
                self._finish(event)
            case SpecialistAnswered():
                self.answers += 1
            case _:
                pass

    def _keep(self, field_name: str) -> None:
        self.core[field_name] = self.position

    def adopt_all(self) -> None:
        """Connect the trees with their aggregates, after a snapshot was restored."""
        assert self.started is not None, "a run has a start"
        self._adopt(self.started.run)
        if self.forked is not None:
            self._adopt(self.forked.parent)
            self._adopt(self.forked.run)

    def _adopt(self, run: str) -> None:
        """Take the events of the trees of ``run`` as those of this run's trees."""
        for kernel, tree in self.trees.items():
            self._tree_of[aggregate_id("tree", run, kernel)] = tree

    def _finish(self, event: StepFinished) -> None:
        subject = self.in_flight.subject if self.in_flight is not None else {}
        self.in_flight = None
        self.core.pop("in_flight", None)
        self.steps += 1
        name = f"{event.name}:{subject.get('kernel', '')}"
        self.finished_steps[name] = self.finished_steps.get(name, 0) + 1
        if event.name == "probe" and self.toolchain is not None and self.toolchain.fingerprint not in self.probed:
            self.probed.append(self.toolchain.fingerprint)
        if event.name == "learn":
            self.trees[subject["kernel"]].unlearned.pop(subject["design"], None)
        # From the end of the step before: saving, routing and the state machine count as well.
        now = event.at.timestamp()
        spent = now - (self.last_finish or self.active_since)
        self.last_finish = now
        if subject.get("design") or event.name == "propose":
            self.overhead_seconds += max(0.0, spent - sum(event.seconds.get(part, 0.0) for part in OVERHEAD_EXCLUDES))

    def finished(self, step: str, kernel: str = "") -> int:
        """How often a step has finished for a kernel."""
        return self.finished_steps.get(f"{step}:{kernel}", 0)

    def tree_of(self, originator: UUID) -> TreeView | None:
        """The tree that an aggregate's events are folded into, or None when it is no tree of this run."""
        return self._tree_of.get(originator)

    @property
    def name(self) -> str:
        """The run's name."""
        if self.forked is not None:
            return self.forked.run
        return self.started.run if self.started is not None else ""

    @property
    def policy(self) -> dict[str, Any]:
        """The acceptance thresholds in force, as plain data."""
        source = self.forked or self.started
        assert source is not None, "a run has a start"
        return source.policy

    @property
    def entropy(self) -> str:
        """The secret (hex) that inputs, placement and order are drawn from."""
        source = self.forked or self.started
        assert source is not None, "a run has a start"
        return source.entropy

    @property
    def state(self) -> str:
        """``running`` (or killed while running), or how it stopped."""
        return "running" if self.stopped is None else self.stopped.reason

    @property
    def device(self) -> bool:
        """Whether the toolchain observed last has a device to read on."""
        return self.toolchain is None or self.toolchain.device

    @property
    def device_seconds(self) -> float:
        """Seconds of device time used by readings."""
        return sum(tree.device_seconds for tree in self.trees.values())
