"""What each role is asked and what it may answer. Answers can only be values of these types; nothing else has an effect.

Tasks are made from views (:mod:`.brief`). No field of an answer can accept a design, change a threshold or run a command.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from .port import Frozen
from .settings import Role

Line = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Paragraph = Annotated[str, StringConstraints(min_length=1, max_length=4000, strip_whitespace=True)]
Bottleneck = Literal["memory", "decode", "latency", "overhead", "compute", "unknown"]


class Fact(Frozen):
    """A valid item of knowledge with its id."""

    id: str
    text: str


class Piece(Frozen):
    """A text to be quoted: a source, a difference, diagnostics, a document."""

    name: str
    text: str


class Story(Frozen):
    """A design and what became of it. ``ratio`` is best seconds / its seconds over its deciding pairs."""

    design: str
    parent: str | None
    by: str
    title: str
    outcome: str
    verdict: str | None
    against: str | None
    ratio: float | None
    pairs: int
    gain: float | None
    reason: str


class RoleTask(Frozen):
    """What every task says. ``as_of`` is the log's position, ``ask`` and ``sample`` tell repeated questions apart."""

    target: str
    as_of: int
    ask: int
    sample: int = 0
    knowledge: tuple[Fact, ...] = ()
    pieces: tuple[Piece, ...] = ()


class KernelTask(RoleTask):
    """What is said of a kernel's search. Seconds are for one call."""

    kernel: str
    contract: str
    dimensions: dict[str, int]
    best: str
    best_seconds: float | None
    floor_seconds: float | None
    device: bool = True
    """Without one nothing was read: seconds are estimates, and the best is the best by estimate."""
    path: tuple[Story, ...] = ()
    """From the baseline to the best."""
    helped: tuple[Story, ...] = ()
    hurt: tuple[Story, ...] = ()
    near_misses: tuple[Story, ...] = ()
    failed: tuple[Story, ...] = ()
    bottleneck: Bottleneck | None = None
    analysis: str = ""
    lessons: tuple[str, ...] = ()


class MenuEntry(Frozen):
    """A direction that a proposal may take."""

    mechanism: str
    says: str


class ArchitectTask(KernelTask):
    """Propose a whole-kernel design."""

    menu: tuple[MenuEntry, ...] = ()


class Repair(Frozen):
    """A design that did not pass a check, to be put right."""

    design: str
    parent: str | None
    check: str
    reason: str


class EngineerTask(KernelTask):
    """Propose a small change to the best, or repair a design that failed."""

    menu: tuple[MenuEntry, ...] = ()
    repair: Repair | None = None


class ReviewerTask(KernelTask):
    """Say whether a design should be kept from the compiler; its source is the first piece."""

    design: str
    title: str
    mechanism: str


class AnalystTask(KernelTask):
    """Name the one bottleneck of the best and what results teach."""


class LibrarianTask(RoleTask):
    """Turn documents (the pieces) into claims that can be checked."""


class ProbeOffer(Frozen):
    """A microbenchmark that the target can run, and the question that it answers."""

    name: str
    question: str


class ProberTask(RoleTask):
    """Choose which microbenchmarks to run, given what is known."""

    offers: tuple[ProbeOffer, ...]


class Edit(Frozen):
    """Replace a passage that stands exactly once in the source."""

    search: Annotated[str, StringConstraints(min_length=1)]
    replace: str


class DesignAnswer(Frozen):
    """A design: the complete source, or edits of the parent's. ``knowledge`` holds the ids of facts that it rests on."""

    title: Line
    rationale: Paragraph
    mechanism: Line
    levers: dict[str, str | int] = Field(default_factory=dict)
    knowledge: tuple[str, ...] = ()
    source: str | None = None
    edits: tuple[Edit, ...] = ()

    @model_validator(mode="after")
    def _one_form(self) -> DesignAnswer:
        if (self.source is None) == (not self.edits):
            raise ValueError("give either the complete source or edits, not both and not neither")
        return self


class NothingToPropose(Frozen):
    """The role sees nothing worth trying."""

    nothing: Paragraph


class ReviewerAnswer(Frozen):
    """Whether to keep a design from the compiler, and why."""

    veto: bool
    reason: Paragraph


class AnalystAnswer(Frozen):
    """The one bottleneck, why, and lessons from what helped and what hurt. ``designs`` are those that show it."""

    bottleneck: Bottleneck
    explanation: Paragraph
    designs: tuple[str, ...] = ()
    lessons: Annotated[tuple[Line, ...], Field(max_length=10)] = ()


class ClaimDraft(Frozen):
    """One sentence of a document as a claim, with a snippet that a compiler can check where there is one."""

    sentence: Line
    section: Line
    snippet: str | None = None
    expects: Literal["compiles", "is-refused", "unchecked"] = "unchecked"


class LibrarianAnswer(Frozen):
    """Claims drawn from the documents."""

    claims: Annotated[tuple[ClaimDraft, ...], Field(max_length=50)]


class ProbeChoice(Frozen):
    """A microbenchmark to run and what its answer decides."""

    name: Line
    why: Paragraph


class ProberAnswer(Frozen):
    """The microbenchmarks to run, the most useful first."""

    probes: Annotated[tuple[ProbeChoice, ...], Field(max_length=20)]


AnyTask = ArchitectTask | EngineerTask | ReviewerTask | AnalystTask | LibrarianTask | ProberTask
AnyAnswer = DesignAnswer | NothingToPropose | ReviewerAnswer | AnalystAnswer | LibrarianAnswer | ProberAnswer

ANSWERS: dict[Role, tuple[type[Frozen], ...]] = {
    "librarian": (LibrarianAnswer,),
    "prober": (ProberAnswer,),
    "architect": (DesignAnswer, NothingToPropose),
    "engineer": (DesignAnswer, NothingToPropose),
    "reviewer": (ReviewerAnswer,),
    "analyst": (AnalystAnswer,),
}
"""The types that an answer of each role may have."""
