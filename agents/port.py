"""The port between the loop and its specialists: a typed task in, a typed answer out.

Nothing of an agent library shows here. Tasks are built from views of the log; what a task holds beside its ``facts`` can
be folded from the log again (``as_of`` says up to where), so only the facts are recorded with each request.
"""

from __future__ import annotations

from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["architect", "engineer"]


class Frozen(BaseModel):
    """Base of what crosses the port."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Tried(Frozen):
    """A design in the tree and what came of it.

    ``log_gain`` is log(seconds of ``against`` / its seconds) by readings, where it was read; ``estimated_log_gain`` is
    log(estimate of ``estimated_against`` / its estimate), where both were estimated. Either is positive for a faster one.
    """

    id: str
    parent: str | None
    kind: Literal["baseline", "whole", "small"]
    by: str
    title: str
    levers: dict[str, str | int]
    outcome: str
    verdict: str | None
    against: str | None
    log_gain: float | None
    pairs: int
    estimated_against: str | None = None
    estimated_log_gain: float | None = None


class ProposeTask(Frozen):
    """Propose the next design of a kernel.

    ``as_of`` is the position of the last event that the task was made from. Seconds are for one call.
    """

    kernel: str
    target: str
    contract: str = Field(exclude=True)
    macros: dict[str, str] = Field(exclude=True)
    dimensions: dict[str, int]
    as_of: int
    turn: int
    seed: int
    best: str
    best_seconds: float | None
    floor_seconds: float | None
    probes: dict[str, float]
    tried: tuple[Tried, ...] = Field(exclude=True)
    best_source: str = Field(exclude=True)
    closed: tuple[tuple[str, str | int], ...] = Field(default=(), exclude=True)
    """Moves (lever, value) that decided comparisons have closed, while their assumptions hold."""
    elsewhere: dict[str, tuple[Tried, ...]] = Field(default={}, exclude=True)
    """Designs of the run's other kernels, by kernel."""
    by_estimate: bool = Field(default=False, exclude=True)
    """The target has no device: the best is the one with the smallest estimate, and gains are estimated ones."""


class Proposal(Frozen):
    """A design to register: a whole kernel, or a small change to its parent; always a complete source."""

    kind: Literal["whole", "small"]
    parent: str
    role: Role
    title: str
    rationale: str
    levers: dict[str, str | int]
    source: str = Field(exclude=True)
    model: str | None = None
    """The language model that it came from, if one did; ``request`` is the digest of what that was asked last."""
    request: str | None = None
    mechanism: str = ""
    repairs: str | None = None
    """The design that it puts right, if it does."""


class NothingLeft(Frozen):
    """The specialist has nothing more to propose from the tree as it stands."""

    reason: str


class Specialist(Protocol):
    """Proposes designs. Deterministic specialists answer equal tasks equally."""

    name: str

    def propose(self, task: ProposeTask) -> Proposal | NothingLeft:
        """The next design, or that there is none."""
