"""What the loop asks of its specialists: a round of proposals, an opinion before the compiler, claims of a document.

A panel asks whom it likes. One specialist of the narrow port (:mod:`.port`) is a panel of one: :class:`Solo`.
"""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable

from ..events.answers import Answers
from ..events.base import canonical
from ..knowledge.documents import Section
from .desk import Desk
from .port import NothingLeft, Proposal, ProposeTask, Specialist
from .roles import ClaimDraft
from .round import Asked, Round


@runtime_checkable
class Panel(Protocol):
    """Whom the loop asks. ``records_calls``: it records each call as it makes it, so the step's intent comes first."""

    name: str
    records_calls: bool

    def round(self, desk: Desk, task: ProposeTask, /) -> Round:
        """Proposals for the next designs of a kernel, or why there are none."""

    def author(self, proposal: Proposal, /) -> str:
        """Whose a proposal is: a model's name, or that of a specialist without one."""

    def review(self, desk: Desk, kernel: str, design: str, /) -> str | None:
        """Why a design should be kept from the compiler; None when it should not, or nobody was asked."""

    def attribute(self, desk: Desk, kernel: str, design: str, proposal: Proposal, /) -> Answers | None:
        """Note which call a design came from: the aggregate to save with its registration, None where there is none."""

    def claims(self, desk: Desk, section: Section, /) -> tuple[str, tuple[ClaimDraft, ...]]:
        """Claims of a section of a document and who made them; none where nobody is asked beside the built-in librarian."""


class Solo:
    """A panel of one specialist, which proposes and has no opinions."""

    records_calls = False

    def __init__(self, specialist: Specialist) -> None:
        self._specialist = specialist
        self.name = specialist.name

    def round(self, desk: Desk, task: ProposeTask) -> Round:
        """Its one proposal, or that nothing is left."""
        answer, asked = ask_alone(self._specialist, desk, task)
        if isinstance(answer, NothingLeft):
            return Round((), "nothing-left", answer.reason, (asked,))
        return Round((answer,), "ok", asked=(asked,))

    def author(self, proposal: Proposal) -> str:
        """The specialist, or the model that it names."""
        return proposal.model or self.name

    def review(self, _desk: Desk, _kernel: str, _design: str, /) -> str | None:
        """Nobody is asked."""
        return None

    def attribute(self, _desk: Desk, _kernel: str, _design: str, _proposal: Proposal, /) -> Answers | None:
        """No call is recorded."""
        return None

    def claims(self, _desk: Desk, _section: Section, /) -> tuple[str, tuple[ClaimDraft, ...]]:
        """Nobody is asked."""
        return "", ()


def ask_alone(specialist: Specialist, desk: Desk, task: ProposeTask) -> tuple[Proposal | NothingLeft, Asked]:
    """A specialist's answer, and the record of it for the run."""
    begun = time.perf_counter()
    answer = specialist.propose(task)
    seconds = time.perf_counter() - begun
    left = isinstance(answer, NothingLeft)
    return answer, Asked(
        role="architect" if isinstance(answer, NothingLeft) else answer.role,
        specialist=specialist.name,
        model=None,
        request=desk.blobs.put(canonical(task.model_dump(mode="json"))),
        answer=desk.blobs.put(canonical(answer.model_dump(mode="json"))),
        outcome="nothing-left" if left else "ok",
        seconds=seconds,
    )


def panel_of(specialist: Specialist | Panel) -> Panel:
    """A specialist as a panel; one that is a panel already stays what it is."""
    return specialist if isinstance(specialist, Panel) else Solo(specialist)
