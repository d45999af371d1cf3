"""A round of proposals: which models are asked, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..events.views.spend import Spent
from .bandit import Arm, choose
from .draft import Given
from .port import Proposal
from .settings import Role


@dataclass(frozen=True)
class Asked:
    """One specialist's answer in a round, for the run's own record."""

    role: Role
    specialist: str
    model: str | None
    request: str
    answer: str
    outcome: str
    seconds: float
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Round:
    """What a round gave. ``budget`` means that a limit is reached and the run should stop."""

    proposals: tuple[Proposal, ...]
    outcome: Literal["ok", "nothing-left", "unusable", "budget"]
    reason: str = ""
    asked: tuple[Asked, ...] = ()


def next_models(table: Mapping[tuple[str, str], Spent], role: Role, names: Sequence[str], count: int) -> list[str]:
    """A model for each of ``count`` samples; those of one round count as asked for the next choice."""
    extra = dict.fromkeys(names, 0)
    chosen = []
    for _ in range(count):
        arms = []
        for name in names:
            row = table.get((role, name))
            calls, gain, tokens = (row.calls, row.log_gain, row.charged_tokens) if row else (0, 0.0, 0)
            arms.append(Arm(name, calls + extra[name], gain, tokens))
        name = choose(arms)
        extra[name] += 1
        chosen.append(name)
    return chosen


def answer_text(given: Given) -> str:
    """An answer for the run's own record: the typed value, or why there is none."""
    return given.answer.model_dump_json() if given.answer is not None else given.reason or given.outcome
