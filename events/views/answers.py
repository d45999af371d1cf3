"""What language models were asked and said in a run: recorded answers by request, analyses, who proposed what."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..answers import (
    AnswerReused,
    Answers,
    BudgetSet,
    BudgetWarned,
    DesignAttributed,
    ModelAnswered,
    ModelAsked,
    RoleAnswered,
    RoundOpened,
    ToolCalled,
)
from ..log import EventLog, Recorded


@dataclass(frozen=True)
class Kept:
    """A recorded answer: the blob's digest, the run that it was given in, and whether it was of use."""

    answer: str
    source: str
    outcome: str
    reason: str


@dataclass
class CallView:
    """One call: its question and how each attempt ended."""

    asked: ModelAsked
    position: int
    attempts: list[ModelAnswered] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether it waits for an answer: in flight, or lost with the process that sent it."""
        return not self.attempts or self.attempts[-1].wait_seconds is not None


@dataclass
class AnswersView:
    """The asking of one run, folded event by event."""

    run: str = ""
    kept: dict[str, Kept] = field(default_factory=dict)
    """Answers by digest of their request."""
    calls: dict[str, CallView] = field(default_factory=dict)
    taken: list[RoleAnswered] = field(default_factory=list)
    tools: list[ToolCalled] = field(default_factory=list)
    reused: list[AnswerReused] = field(default_factory=list)
    attributed: dict[tuple[str, str], DesignAttributed] = field(default_factory=dict)
    """By kernel and design."""
    analyses: dict[str, RoleAnswered] = field(default_factory=dict)
    """The latest usable answer of the analyst, by kernel."""
    probes_chosen: RoleAnswered | None = None
    """The latest usable answer of the prober."""
    analysed_at: dict[str, int] = field(default_factory=dict)
    """How often the analyst was asked, by kernel."""
    rounds: dict[tuple[str, int], int] = field(default_factory=dict)
    """Position of the event that first opened a round, by kernel and number."""
    budget: BudgetSet | None = None
    warned: set[tuple[str, str, float]] = field(default_factory=set)

    def apply(self, recorded: Recorded) -> None:
        """Fold one recorded event of the run's answers."""
        event = recorded.event
        match event:
            case RoundOpened():
                self.rounds.setdefault((event.kernel, event.ask), recorded.position)
            case ModelAsked():
                self.run = event.run
                self.calls[event.call] = CallView(event, recorded.position)
            case ModelAnswered():
                self.calls[event.call].attempts.append(event)
                if event.answer is not None:
                    self.kept[event.request] = Kept(event.answer, self.run, event.outcome, event.reason)
            case AnswerReused():
                self.reused.append(event)
            case ToolCalled():
                self.tools.append(event)
            case RoleAnswered():
                self.taken.append(event)
                if event.role == "prober" and event.outcome == "ok":
                    self.probes_chosen = event
                if event.role == "analyst":
                    self.analysed_at[event.kernel] = self.analysed_at.get(event.kernel, 0) + 1
                    if event.outcome == "ok":
                        self.analyses[event.kernel] = event
            case DesignAttributed():
                self.attributed[event.kernel, event.design] = event
            case BudgetSet():
                self.budget = event
            case BudgetWarned():
                self.warned.add((event.scope, event.resource, event.limit))
            case _:
                pass


def load_answers(log: EventLog, run: str, before: int | None = None) -> AnswersView:
    """Fold the answers of a run, up to the event at position ``before``; empty when no model was asked in it."""
    view = AnswersView(run=run)
    for recorded in log.stream([Answers.identify(run)]):
        if before is not None and recorded.position >= before:
            break
        view.apply(recorded)
    return view
