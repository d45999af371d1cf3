"""A round of proposals: each is registered before any work on it starts, or the run stops at a budget."""

from __future__ import annotations

from ...agents.desk import Desk
from ...agents.port import ProposeTask
from ...agents.roles import ClaimDraft
from ...agents.round import Round
from ...events.tree import SearchExhausted
from ...knowledge.claims import Claim
from ...knowledge.documents import Section
from ...knowledge.expectation import Expectation, Kind
from ..workbench import Workbench


def desk(wb: Workbench) -> Desk:
    """What specialists may look at."""
    return Desk(wb.log, wb.view, wb.known, wb.target, wb.specs, wb.context)


def propose_round(wb: Workbench, task: ProposeTask) -> tuple[Round, str]:
    """Ask the panel and record what each said; returns the round, and the outcome of the step when it is over with it.

    The outcome is empty when there are proposals, which the caller registers.
    """
    found = wb.panel.round(desk(wb), task)
    for each in found.asked:
        wb.run.answered(
            wb.context,
            role=each.role,
            specialist=each.specialist,
            request=each.request,
            answer=each.answer,
            outcome=each.outcome,
            seconds=each.seconds,
            model=each.model,
            tokens_in=each.tokens_in,
            tokens_out=each.tokens_out,
            cost=each.cost,
        )
    match found.outcome:
        case "budget":
            wb.run.stop(wb.context, "budget", found.reason)
        case "nothing-left":
            wb.trees[task.kernel].note(wb.context, SearchExhausted, reason=found.reason)
        case _:
            pass
    return found, "" if found.proposals else found.outcome


def librarian_claims(wb: Workbench, section: Section, languages: tuple[str, ...]) -> tuple[str, list[Claim]]:
    """What a model's librarian reads out of a section beside the playbook's claims, and which model; checked like those."""
    model, drafts = wb.panel.claims(desk(wb), section)
    return model, [_claim(section, draft, languages) for draft in drafts]


def _claim(section: Section, draft: ClaimDraft, languages: tuple[str, ...]) -> Claim:
    kinds: dict[str, Kind] = {"compiles": "builds", "is-refused": "refused"}
    kind = kinds.get(draft.expects) if languages else None
    return Claim(
        sentence=draft.sentence,
        document=section.document,
        heading=section.heading,
        first_line=section.first_line,
        last_line=section.last_line,
        section=section.digest,
        snippet=draft.snippet if kind is not None else None,
        expectation=Expectation(kind) if kind is not None and draft.snippet is not None else None,
    )
