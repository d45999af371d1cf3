"""Where the time of a run went, candidate by candidate, from the log alone.

Each event says when it was made. The time from the end of one step to the end of the next is the second one's: routing,
the graph, saving the first one's outcome, the intent's own save, the effect, progress. What the step counted as compiling,
checking values, reading or waiting for the device is taken off; the rest is the loop's overhead. This is more than the
step's own ``rest``, which stops before the outcome is saved and knows nothing of what lies between two steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kernelwright.events.log import Recorded
from kernelwright.events.run import RunResumed, RunStopped, StepFinished, StepStarted
from kernelwright.events.tree import DesignProposed
from kernelwright.events.views.run import OVERHEAD_EXCLUDES

PARTS = ("build", "values", "device", "waiting")
"""Parts of a step's time that are no overhead of the loop."""
assert frozenset(PARTS) == OVERHEAD_EXCLUDES  # a new part would have to be shown here


@dataclass(frozen=True)
class StepTime:
    """One step of a candidate: seconds of wall time since the step before it ended, and the parts that it counted."""

    name: str
    candidate: tuple[str, str] | None
    wall: float
    parts: dict[str, float]

    @property
    def overhead(self) -> float:
        """Seconds that are none of the excluded parts; never below zero, as clocks differ by microseconds."""
        return max(0.0, self.wall - sum(self.parts.get(part, 0.0) for part in PARTS))

    @property
    def counted(self) -> float:
        """Seconds of overhead that the step itself counted."""
        return sum(seconds for part, seconds in self.parts.items() if part not in OVERHEAD_EXCLUDES)


@dataclass
class Candidate:
    """A design and all steps that worked at it, the one that proposed it included."""

    kernel: str
    design: str
    steps: list[StepTime] = field(default_factory=list)

    @property
    def overhead(self) -> float:
        """Seconds of overhead."""
        return sum(step.overhead for step in self.steps)

    @property
    def counted(self) -> float:
        """Seconds of overhead that its steps counted themselves."""
        return sum(step.counted for step in self.steps)

    def part(self, name: str) -> float:
        """Seconds of a part."""
        return sum(step.parts.get(name, 0.0) for step in self.steps)


def step_times(events: Iterable[Recorded]) -> list[StepTime]:
    """The steps of a run in order. Time in which no process worked at it belongs to none."""
    found: list[StepTime] = []
    ended = None
    subject: dict[str, str] = {}
    proposed = None
    kernels: dict[str, str] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, RunResumed | RunStopped):
            ended = event.at
        elif isinstance(event, StepStarted):
            subject, proposed = event.subject, None
            ended = ended or event.at
        elif isinstance(event, DesignProposed):
            proposed = event.design
        elif isinstance(event, StepFinished):
            # A proposal is registered within its step, and saved before the step's end.
            design = subject.get("design") or proposed
            kernel = subject.get("kernel", "")
            kernels[event.name] = kernel
            assert ended is not None, "a step has begun before it ends"
            wall = (event.at - ended).total_seconds()
            found.append(StepTime(event.name, (kernel, design) if design else None, wall, dict(event.seconds)))
            ended = event.at
    return found


def candidates(steps: Iterable[StepTime]) -> list[Candidate]:
    """The designs that were proposed (a baseline is none), each with its steps.

    Steps at the end of a run, which look again at what was accepted, belong to no candidate.
    """
    found: dict[tuple[str, str], Candidate] = {}
    for step in steps:
        if step.candidate is None:
            continue
        if step.name == "propose":
            found[step.candidate] = Candidate(*step.candidate)
        if step.candidate in found and step.name not in ("recheck", "anchor"):
            found[step.candidate].steps.append(step)
    return list(found.values())
