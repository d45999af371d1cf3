"""The ledger of a run's calls: what was asked and answered is recorded at once, what was paid for is found again.

Every text that is recorded passes :meth:`Ledger.redacted`: a key that a server sent back is never kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..events.answers import AnswerEvent, AnswerReused, Answers, BudgetSet, BudgetWarned, ModelAsked
from ..events.base import Context
from ..events.log import EventLog, Recorded
from ..events.views.answers import AnswersView, Kept, load_answers
from ..events.views.run import RunView
from ..events.views.spend import UNBILLED, spend
from . import budget
from .failures import CallFailedError, CallOutcome, Failure
from .settings import ROLES, Limits, ModelSettings, RoleLimits

Notify = Callable[[str], None]
"""Told what a person should hear while a run works: one line each."""


class Ledger:
    """Records the calls of one run. ``recorded`` holds answers of another run that are to be used without any network."""

    def __init__(
        self,
        log: EventLog,
        view: RunView,
        secrets: tuple[str, ...] = (),
        recorded: AnswersView | None = None,
        notify: Notify = lambda _line: None,
    ) -> None:
        self._log = log
        self._run = view
        self._answers = log.load(Answers, view.name)
        self._secrets = tuple(sorted(filter(None, secrets), key=len, reverse=True))
        self._recorded = recorded
        self._notify = notify
        self.view = load_answers(log, view.name)
        log.listen(self._follow)

    def _follow(self, saved: Sequence[Recorded]) -> None:
        for each in saved:
            if each.event.originator_id == self._answers.id:
                self.view.apply(each)

    @property
    def offline(self) -> bool:
        """Whether answers come from a recording alone."""
        return self._recorded is not None

    def redacted(self, text: str) -> str:
        """``text`` without any key."""
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        return text

    def put(self, text: str) -> str:
        """Stage a blob of text without any key; returns its digest."""
        return self._log.blobs.put(self.redacted(text))

    def text(self, digest: str) -> str:
        """The text of a blob."""
        return self._log.blobs.text(digest)

    def lookup(self, request: str) -> Kept | None:
        """The recorded answer to a request with this digest, of this run or of the one that is replayed."""
        kept = self.view.kept.get(request)
        if kept is None and self._recorded is not None:
            kept = self._recorded.kept.get(request)
        return kept

    def reuse(self, context: Context, kept: Kept, **content: Any) -> None:
        """Record that a request was not sent, since its answer is known."""
        self.note(context, AnswerReused, source=kept.source, answer=kept.answer, **content)

    def ask(self, context: Context, **content: Any) -> ModelAsked:
        """Record that a request is about to be sent, unless it could break a budget; raises CallFailedError."""
        line = budget.refuses(
            self.view.budget,
            spend(self.view, self._run),
            self._run.device_seconds,
            content["role"],
            content["tokens_reserved"],
            content["cost_reserved"],
        )
        if line is not None:
            raise CallFailedError(Failure(CallOutcome.BUDGET, f"{line.text}, calls in flight included"))
        event = self._answers.ask(context, run=self._run.name, **content)
        self._log.record(self._answers)
        return event

    def answered(self, context: Context, **content: Any) -> None:
        """Record how an attempt ended."""
        content["reason"] = self.redacted(content["reason"])
        self._answers.answer(context, **content)
        self._log.record(self._answers)
        self.warn(context)

    def note(self, context: Context, event_class: type[AnswerEvent], **content: Any) -> None:
        """Record another fact."""
        if "reason" in content:
            content["reason"] = self.redacted(content["reason"])
        self._answers.note(context, event_class, **content)
        self._log.record(self._answers)

    def stage(self, context: Context, event_class: type[AnswerEvent], **content: Any) -> Answers:
        """A fact to be recorded with the step: returns the aggregate to save with it."""
        self._answers.note(context, event_class, **content)
        return self._answers

    def paid(self, requests: Sequence[str]) -> tuple[int | None, int | None, float | None]:
        """Tokens in, tokens out and cost of some requests' attempts in this run; None where one of them is not known."""
        wanted = set(requests)
        attempts = [
            attempt
            for call in self.view.calls.values()
            if call.asked.request in wanted
            for attempt in call.attempts
            if attempt.outcome not in UNBILLED
        ]
        tokens_in = [attempt.tokens_in for attempt in attempts if attempt.tokens_in is not None]
        tokens_out = [attempt.tokens_out for attempt in attempts if attempt.tokens_out is not None]
        costs = [attempt.cost for attempt in attempts if attempt.cost is not None]
        whole = len(attempts)
        return (
            sum(tokens_in) if attempts and len(tokens_in) == whole else None,
            sum(tokens_out) if attempts and len(tokens_out) == whole else None,
            sum(costs) if attempts and len(costs) == whole else None,
        )

    def set_budget(self, context: Context, limits: Limits, roles: RoleLimits) -> None:
        """Record what may be used, if that differs from what is in force."""
        run_limits = _amounts(limits)
        role_limits = {role: _amounts(roles.of(role)) for role in ROLES if _amounts(roles.of(role))}
        now = self.view.budget
        if now is None and not run_limits and not role_limits:
            return
        if now is None or (now.run_limits, now.role_limits) != (run_limits, role_limits):
            self.note(context, BudgetSet, run_limits=run_limits, role_limits=role_limits)

    def reached(self) -> budget.Line | None:
        """The limit that is used up, if one is."""
        return budget.reached(self.view.budget, spend(self.view, self._run), self._run.device_seconds)

    def warn(self, context: Context) -> None:
        """Say once of each limit that most of it is used."""
        table = spend(self.view, self._run)
        for line in budget.near(self.view.budget, table, self._run.device_seconds):
            if (line.scope, line.resource, line.limit) in self.view.warned:
                continue
            self.note(context, BudgetWarned, scope=line.scope, resource=line.resource, used=line.used, limit=line.limit)
            self._notify(f"{line.text} ({line.used / line.limit:.0%})")


def _amounts(limits: Limits) -> dict[str, float]:
    return {name: float(value) for name, value in limits.model_dump().items() if value is not None}


def keys(models: Mapping[str, ModelSettings], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The keys that the environment holds for these models, to be kept out of everything that is recorded.

    Keys shorter than six characters are left out: they are placeholders such as ``none``, and would black out words.
    """
    names = {model.key_variable for model in models.values()}
    found = {environment.get(name, "") for name in names if name}
    return tuple(sorted(key for key in found if len(key) >= 6))
