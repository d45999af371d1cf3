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
    """A design in the tree and what came of it. ``log_gain`` is log(best seconds / its seconds), where it was read."""

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
