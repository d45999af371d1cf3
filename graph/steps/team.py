"""A round of proposals from a team: each is registered before any work on it starts, or the run stops at a budget."""

from __future__ import annotations

from ...agents.desk import Desk
from ...agents.port import ProposeTask
from ...agents.team import Round, Team
from ...events.tree import SearchExhausted
from ..workbench import Workbench


def desk(wb: Workbench) -> Desk:
    """What specialists may look at."""
    return Desk(wb.log, wb.view, wb.known, wb.target, wb.specs, wb.context)


def propose_round(wb: Workbench, team: Team, task: ProposeTask) -> tuple[Round, str]:
    """Ask the team and record what each said; returns the round, and the outcome of the step when it is over with it.

    The outcome is empty when there are proposals, which the caller registers.
    """
    found = team.round(desk(wb), task)
    for each in found.asked:
        wb.run.answered(
            wb.context,
            role=each.role,
            specialist=team.name,
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
