"""The specialists with language models: who is asked in a round, how often, and what stands in where no answer comes.

This module imports no agent library; that happens when a model is asked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ..events.answers import Answers, DesignAttributed, RoundOpened
from ..events.views.answers import AnswersView
from ..events.views.spend import spend
from ..knowledge.documents import Section
from .brief import analyst_task, architect_task, engineer_task, librarian_task, prober_task, reviewer_task
from .desk import Desk, asks
from .draft import Draft, Given, failed_to_repair, repeats_sample, seat, useless_rounds
from .ledger import Ledger, Notify, keys
from .panel import ask_alone
from .port import Frozen, Proposal, ProposeTask, Specialist
from .recording import Recording
from .roles import (
    AnyTask,
    ArchitectTask,
    ClaimDraft,
    EngineerTask,
    LibrarianAnswer,
    NothingToPropose,
    ReviewerAnswer,
)
from .round import Asked, Round, answer_text, next_models
from .settings import Role, TeamSettings

USELESS_ROUNDS = 3
"""After so many rounds in a row without a usable answer, and with no playbook to stand in, a kernel's search ends."""


class Team:
    """Proposes with language models, and with the playbook where the settings say so."""

    name = "models"
    records_calls = True

    def __init__(
        self,
        settings: TeamSettings,
        playbook: Specialist,
        environment: Mapping[str, str] | None = None,
        notify: Notify = lambda _line: None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self._settings, self._playbook, self._notify = settings, playbook, notify
        self._environment = os.environ if environment is None else environment
        self._sleep = sleep
        self._ledgers: dict[str, Ledger] = {}
        self._recording: Recording | None = None

    # -- a panel ------------------------------------------------------------------------------------------------------

    def round(self, desk: Desk, task: ProposeTask) -> Round:
        """Proposals for the next designs of a kernel, or why there are none."""
        kernel, ledger = task.kernel, self.ledger(desk)
        ledger.set_budget(desk.context, self._settings.limits, self._settings.role_limits)
        ledger.warn(desk.context)
        line = ledger.reached()
        if line is not None:
            return Round((), "budget", line.text)
        if not any(self._models(role) for role in ("architect", "engineer", "analyst", "prober")):
            return self._stand_in(desk, task)
        shown, answers = desk, ledger.view
        if self._settings.replay is not None:
            past = self._record(desk).round(kernel, asks(desk.view, kernel), desk.context)
            if past is None:
                return Round((), "nothing-left", f"the recording of {self._settings.replay} has no more rounds")
            shown, answers = past
        ledger.note(desk.context, RoundOpened, kernel=kernel, ask=asks(desk.view, kernel))
        if self._models("prober") and self._settings.replay is None and not self._probed(ledger.view):
            self._ask(desk, desk, answers, "prober", [prober_task(desk)])
            answers = ledger.view
        if self._models("analyst") and self._analysis_due(shown, answers, kernel):
            self._ask(shown, desk, answers, "analyst", [analyst_task(shown, answers, kernel)])
            if self._settings.replay is None:
                answers = ledger.view
            elif kernel in ledger.view.analyses:
                answers = replace(answers, analyses={**answers.analyses, kernel: ledger.view.analyses[kernel]})
        role = seat(shown, answers, kernel, self._settings.roles)
        if not self._models(role):
            return self._stand_in(desk, task, role)
        return self._collect(desk, shown, answers, role, task)

    def author(self, proposal: Proposal) -> str:
        """The model that a proposal came from, or whoever stood in."""
        return proposal.model or self._playbook.name

    def review(self, desk: Desk, kernel: str, design: str) -> str | None:
        """Why the reviewer would keep a design from the compiler; None when it would not, or was not asked."""
        if not self._models("reviewer"):
            return None
        ledger = self.ledger(desk)
        if (kernel, design) not in ledger.view.attributed:  # the playbook's and people's go straight to the compiler
            return None
        if ledger.reached() is not None:
            return None
        shown, answers = desk, ledger.view
        if self._settings.replay is not None:
            past = self._record(desk).review(kernel, int(design.lstrip("d") or 0), desk.context)
            if past is None:
                return None
            shown, answers = past
        given = self._ask(shown, desk, answers, "reviewer", [reviewer_task(shown, answers, kernel, design)])
        opinion = given[0].answer if given else None
        return opinion.reason if isinstance(opinion, ReviewerAnswer) and opinion.veto else None

    def attribute(self, desk: Desk, kernel: str, design: str, proposal: Proposal) -> Answers | None:
        """Note whose design this is, to be saved with its registration; None for one that no model proposed."""
        if proposal.model is None:
            return None
        return self.ledger(desk).stage(
            desk.context,
            DesignAttributed,
            kernel=kernel,
            design=design,
            role=proposal.role,
            model=proposal.model,
            request=proposal.request or "",
            mechanism=proposal.mechanism,
            repairs=proposal.repairs,
        )

    def claims(self, desk: Desk, section: Section) -> tuple[str, tuple[ClaimDraft, ...]]:
        """The librarian's claims of a section of a document, and the model that made them; none where none is asked."""
        ledger = self.ledger(desk)
        if not self._models("librarian") or self._settings.replay is not None or ledger.reached() is not None:
            return "", ()
        given = self._ask(desk, desk, ledger.view, "librarian", [librarian_task(desk, section)])[0]
        return given.model, given.answer.claims if isinstance(given.answer, LibrarianAnswer) else ()

    # -- who is asked -------------------------------------------------------------------------------------------------

    def ledger(self, desk: Desk) -> Ledger:
        """The ledger of the desk's run."""
        run = desk.view.name
        if run not in self._ledgers:
            recorded = self._record(desk).answers if self._settings.replay is not None else None
            secrets = keys(self._settings.models, self._environment)
            self._ledgers[run] = Ledger(desk.log, desk.view, secrets, recorded, self._notify)
        return self._ledgers[run]

    def _record(self, desk: Desk) -> Recording:
        if self._recording is None:
            assert self._settings.replay is not None
            self._recording = Recording(desk.log, self._settings.replay, desk.target, desk.specs)
        return self._recording

    def _models(self, role: Role) -> tuple[str, ...]:
        return self._settings.roles.of(role).models

    @staticmethod
    def _probed(answers: AnswersView) -> bool:
        """Whether the prober was asked in this run."""
        return any(taken.role == "prober" for taken in answers.taken)

    def _analysis_due(self, desk: Desk, answers: AnswersView, kernel: str) -> bool:
        settled = sum(1 for design in desk.tree(kernel).designs.values() if not design.open) - 1
        return settled >= self._settings.roles.analyst.every * (answers.analysed_at.get(kernel, 0) + 1)

    # -- asking -------------------------------------------------------------------------------------------------------

    def _ask(
        self,
        shown: Desk,
        desk: Desk,
        answers: AnswersView,
        role: Role,
        tasks: Sequence[AnyTask],
        accepts: Sequence[Callable[[Frozen], None]] = (),
    ) -> list[Given]:
        from .chat.ask import Asker, ask_role

        settings, ledger = self._settings.roles.of(role), self.ledger(desk)
        models = next_models(spend(answers, shown.view), role, self._models(role), len(tasks))
        online = self._settings.replay is None
        more = {} if self._sleep is None else {"sleep": self._sleep}
        asker = Asker(self._settings.models, ledger, online, self._environment, **more)  # type: ignore[arg-type]
        heats = settings.temperatures

        async def all_of_them() -> list[Given]:
            questions = (
                ask_role(
                    asker,
                    shown,
                    role,
                    task,
                    model,
                    settings,
                    heats[index % len(heats)] if heats else None,
                    accepts[index] if accepts else _anything,
                )
                for index, (task, model) in enumerate(zip(tasks, models, strict=True))
            )
            return list(await asyncio.gather(*questions))

        return asyncio.run(all_of_them())

    def _collect(
        self, desk: Desk, shown: Desk, answers: AnswersView, role: Literal["architect", "engineer"], task: ProposeTask
    ) -> Round:
        kernel, settings, ledger = task.kernel, self._settings.roles.of(role), self.ledger(desk)
        repair = failed_to_repair(shown, answers, kernel, self._settings.roles.engineer.repairs)
        count = 1 if role == "engineer" and repair is not None else settings.samples
        tasks: list[ArchitectTask | EngineerTask] = [
            architect_task(shown, answers, kernel, settings, sample)
            if role == "architect"
            else engineer_task(shown, answers, kernel, settings, sample, repair)
            for sample in range(count)
        ]
        drafts = [Draft(shown, answers, each) for each in tasks]
        given = self._ask(shown, desk, answers, role, tasks, [draft.accept for draft in drafts])
        asked = tuple(self._asked(ledger, role, g, g.request) for g in given if g.request is not None)
        proposals: list[Proposal] = []
        for draft, g in zip(drafts, given, strict=True):
            proposal = draft.proposal(role, g.model, g.request) if g.outcome == "ok" else None
            if proposal is not None and repeats_sample(proposal, proposals, shown.target.name) is None:
                proposals.append(proposal)
        if proposals:
            return Round(tuple(proposals), "ok", asked=asked)
        if given and all(g.outcome == "budget" for g in given):
            return Round((), "budget", given[0].reason, asked)
        return self._stand_in(desk, task, role, asked, given)

    def _asked(self, ledger: Ledger, role: Role, given: Given, request: str) -> Asked:
        text, paid = ledger.put(answer_text(given)), ledger.paid(given.requests)
        return Asked(role, self.name, given.model, request, text, given.outcome, given.seconds, *paid)

    def _stand_in(
        self,
        desk: Desk,
        task: ProposeTask,
        role: Literal["architect", "engineer"] = "engineer",
        asked: tuple[Asked, ...] = (),
        given: Sequence[Given] = (),
    ) -> Round:
        """The playbook's proposal where the role falls back to it; else that nothing came, or that nothing is left."""
        reason = "; ".join(f"{g.model}: {g.outcome} {g.reason}".strip() for g in given)
        if self._settings.roles.of(role).fallback == "playbook" or not given:
            answer, alone = ask_alone(self._playbook, desk, task)
            asked = (*asked, alone)
            if isinstance(answer, Proposal):
                return Round((answer,), "ok", reason, asked)
            reason = f"{reason}; {answer.reason}" if reason else answer.reason
        if all(isinstance(g.answer, NothingToPropose) for g in given):
            return Round((), "nothing-left", reason, asked)
        if useless_rounds(self.ledger(desk).view, task.kernel) >= USELESS_ROUNDS:
            return Round((), "nothing-left", f"{USELESS_ROUNDS} rounds without a usable answer: {reason}", asked)
        return Round((), "unusable", reason, asked)


def _anything(_answer: Frozen) -> None:
    """Every typed answer will do."""
