"""From a typed answer to a proposal: edits made, near-duplicates refused, before anything is registered or compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..events.views.answers import AnswersView
from .answer import LANGUAGES, UnusableError
from .desk import Desk
from .duplicates import Earlier, repeated
from .edits import EditError, apply_edits
from .port import Frozen, Proposal
from .quote import one_line, printable
from .roles import ArchitectTask, DesignAnswer, EngineerTask
from .settings import Roles

FRUITLESS_FOR_ARCHITECT = 6
"""After so many designs without an acceptance, and again after as many more, the architect is asked instead."""
REPAIRED = frozenset({"build-failed", "build-crashed", "bad-symbols", "vetoed", "wrong-value", "not-finite"})
"""Outcomes of designs that say nothing against their mechanism: it may be proposed again, done right."""


class DuplicateError(UnusableError):
    """The answer proposes what was tried before."""


@dataclass(frozen=True)
class Given:
    """What came of asking: a typed answer, or None and why. ``requests`` are the digests of all that was asked for it."""

    answer: Frozen | None
    outcome: str
    reason: str
    model: str
    requests: tuple[str, ...]
    seconds: float

    @property
    def request(self) -> str | None:
        """The request that the answer was given to."""
        return self.requests[-1] if self.requests else None


def seat(desk: Desk, answers: AnswersView, kernel: str, roles: Roles) -> Literal["architect", "engineer"]:
    """Who proposes next for a kernel: the engineer, the architect first of all and whenever nothing has helped for long."""
    if failed_to_repair(desk, answers, kernel, roles.engineer.repairs) is not None:
        return "engineer"
    tree = desk.tree(kernel)
    first = len(tree.designs) <= 1
    stuck = tree.fruitless > 0 and tree.fruitless % FRUITLESS_FOR_ARCHITECT == 0
    return "architect" if first or stuck else "engineer"


def failed_to_repair(desk: Desk, answers: AnswersView, kernel: str, repairs: int) -> str | None:
    """The latest design, if a model proposed it and it failed a check that a repair may mend; None after enough repairs."""
    designs = list(desk.tree(kernel).designs.values())
    if not designs or designs[-1].outcome not in REPAIRED:
        return None
    each = answers.attributed.get((kernel, designs[-1].id))
    depth = 0
    while each is not None and each.repairs is not None:
        depth, each = depth + 1, answers.attributed.get((kernel, each.repairs))
    return designs[-1].id if each is not None and depth < repairs else None


def useless_rounds(answers: AnswersView, kernel: str) -> int:
    """How many rounds of a kernel in a row, up to the latest, gave no usable answer."""
    usable: dict[int, bool] = {}
    for taken in answers.taken:
        if taken.kernel == kernel and taken.role in ("architect", "engineer"):
            usable[taken.ask] = usable.get(taken.ask, False) or taken.outcome == "ok"
    count = 0
    for ask in sorted(usable, reverse=True):
        if usable[ask]:
            break
        count += 1
    return count


class Draft:
    """One sample of a round: looks at its answer while it can still be sent back, and makes the proposal from it."""

    def __init__(self, desk: Desk, answers: AnswersView, task: ArchitectTask | EngineerTask) -> None:
        self._desk, self._answers, self._task = desk, answers, task
        self._repair = task.repair if isinstance(task, EngineerTask) else None
        self._answer: DesignAnswer | None = None
        self._source = ""

    @property
    def parent(self) -> str:
        """The design that the proposal hangs under: the best, or the parent of what is repaired."""
        if self._repair is not None and self._repair.parent is not None:
            return self._repair.parent
        return self._task.best

    def accept(self, answer: Frozen) -> None:
        """Take a typed answer; raises UnusableError, or DuplicateError, with what is wrong with it."""
        if not isinstance(answer, DesignAnswer):
            raise UnusableError(f"a design is asked for, not {type(answer).__name__}")
        base = self._repair.design if self._repair is not None else self._task.best
        try:
            source = answer.source
            if source is None:
                source = apply_edits(self._desk.source(self._task.kernel, base), answer.edits)
        except EditError as error:
            raise UnusableError(f"{error} (in the source of {base})") from error
        if not source.strip():
            raise UnusableError("the source is empty")
        reason = repeated(source, self.parent, answer.mechanism, self._earlier(), language(self._desk.target.name))
        if reason is not None:
            raise DuplicateError(f"near-duplicate: {reason}; propose something else")
        self._answer, self._source = answer, source

    def proposal(self, role: Literal["architect", "engineer"], model: str, request: str | None) -> Proposal | None:
        """The proposal of the accepted answer; None when there was none."""
        answer = self._answer
        if answer is None:
            return None
        rationale = printable(answer.rationale) + (
            f" [{', '.join(map(one_line, answer.knowledge))}]" if answer.knowledge else ""
        )
        return Proposal(
            kind="whole" if role == "architect" else "small",
            parent=self.parent,
            role=role,
            title=one_line(answer.title),
            rationale=rationale,
            # A name of its own: the playbook must not take what a model says of its source for a lever that it set.
            levers={f"model.{one_line(name, 40)}": value for name, value in answer.levers.items()},
            source=self._source,
            model=model,
            request=request,
            mechanism=one_line(answer.mechanism),
            repairs=self._repair.design if self._repair is not None else None,
        )

    def _earlier(self) -> list[Earlier]:
        kernel = self._task.kernel
        found = []
        for design in self._desk.tree(kernel).designs.values():
            attributed = self._answers.attributed.get((kernel, design.id))
            found.append(
                Earlier(
                    design=design.id,
                    parent=design.proposed.parent,
                    source=self._desk.source(kernel, design.id),
                    mechanism=attributed.mechanism if attributed else design.proposed.title,
                    decided=design.outcome not in REPAIRED,
                )
            )
        return found


def language(target: str) -> str:
    """The language of a target's sources."""
    return LANGUAGES.get(target, "c")


def repeats_sample(proposal: Proposal, earlier: Sequence[Proposal], target: str) -> str | None:
    """Why a proposal repeats one of its own round; None when it does not."""
    others = [Earlier(f"sample {n}", p.parent, p.source, p.mechanism, True) for n, p in enumerate(earlier)]
    return repeated(proposal.source, proposal.parent, proposal.mechanism, others, language(target))
