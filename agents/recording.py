"""A recorded run as it was at a point of its history: what its specialists were told can be made again from there."""

from __future__ import annotations

from collections.abc import Mapping

from ..events.base import Context
from ..events.log import EventLog
from ..events.views.answers import AnswersView, load_answers
from ..events.views.knowledge import load_knowledge
from ..events.views.load import load_run
from ..hardware.target import Target
from ..kernels.spec import KernelSpec
from .desk import Desk


class Recording:
    """The answers of a run, to be given again: matched by the digest of their requests, which are made anew from its log.

    What is measured anew differs from what was measured then, and so would requests made from it. So each question is made
    from the recorded run's views as they were when it was asked; if it is still the same question, its answer is used.
    """

    def __init__(self, log: EventLog, run: str, target: Target, specs: Mapping[str, KernelSpec]) -> None:
        self._log, self._target, self._specs = log, target, specs
        self.run = run
        self.answers: AnswersView = load_answers(log, run)

    def round(self, kernel: str, ask: int, context: Context) -> tuple[Desk, AnswersView] | None:
        """The desk and the answers before round ``ask`` of a kernel; None when the recording has no such round."""
        position = self.answers.rounds.get((kernel, ask))
        return None if position is None else self._before(position, context)

    def review(self, kernel: str, ask: int, context: Context) -> tuple[Desk, AnswersView] | None:
        """The same before the reviewer was asked of a design; None when it was not."""
        asked = [
            call.position
            for call in self.answers.calls.values()
            if (call.asked.role, call.asked.kernel, call.asked.ask) == ("reviewer", kernel, ask)
        ]
        return self._before(min(asked), context) if asked else None

    def _before(self, position: int, context: Context) -> tuple[Desk, AnswersView]:
        until = position - 1
        view = load_run(self._log, self.run, until=until)
        known = load_knowledge(self._log, self._target.name, until=until)
        desk = Desk(self._log, view, known, self._target, self._specs, context)
        return desk, load_answers(self._log, self.run, before=position)
