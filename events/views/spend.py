"""What language models used and what came of it, by role and model: the table of ``spend``, budgets, the bandit's ground.

An unknown count is never taken for zero: where a count matters for a budget, what was set aside for the call stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any

from .answers import AnswersView, CallView
from .run import RunView

UNBILLED = frozenset({"rate-limited", "server-error", "unreachable", "bad-key", "bad-request", "not-recorded"})
"""Outcomes of attempts that no provider charges for."""


@dataclass
class Spent:
    """What one model used in one role."""

    role: str
    model: str
    calls: int = 0
    attempts: int = 0
    failed: dict[str, int] | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    unknown: int = 0
    """Attempts whose tokens are not known."""
    cost: float = 0.0
    cost_unknown: int = 0
    """Attempts whose cost is not known."""
    currency: str | None = None
    seconds: float = 0.0
    charged_tokens: int = 0
    """Tokens that count against budgets: reported ones, else what was set aside."""
    charged_cost: float = 0.0
    in_flight: int = 0
    reused: int = 0
    usable: int = 0
    unusable: int = 0
    proposed: int = 0
    accepted: int = 0
    log_gain: float = 0.0
    """Sum of log gains of its accepted designs."""
    device_seconds: float = 0.0

    @property
    def gain_per_million_tokens(self) -> float | None:
        """Accepted log gain per million charged tokens; None before any were."""
        return 1e6 * self.log_gain / self.charged_tokens if self.charged_tokens else None


def spend(answers: AnswersView, view: RunView) -> dict[tuple[str, str], Spent]:
    """Use and yield by role and model."""
    table: dict[tuple[str, str], Spent] = {}

    def row(role: str, model: str) -> Spent:
        return table.setdefault((role, model), Spent(role, model, failed={}))

    for call in answers.calls.values():
        _count_call(row(call.asked.role, call.asked.model), call)
    for reused in answers.reused:
        row(reused.role, reused.model).reused += 1
    for taken in answers.taken:
        entry = row(taken.role, taken.model)
        if taken.outcome == "ok":
            entry.usable += 1
        elif taken.outcome in ("unusable", "duplicate"):
            entry.unusable += 1
    for (kernel, name), attributed in answers.attributed.items():
        design = view.trees[kernel].designs[name]
        entry = row(attributed.role, attributed.model)
        entry.proposed += 1
        entry.device_seconds += sum(reading.device_seconds for reading in design.readings)
        if design.accepted is not None and design.revoked is None:
            entry.accepted += 1
            entry.log_gain += log(design.accepted.gain)
    return table


def _count_call(entry: Spent, call: CallView) -> None:
    entry.calls += 1
    for attempt in call.attempts:
        entry.attempts += 1
        entry.seconds += attempt.seconds
        entry.currency = attempt.currency or entry.currency
        if attempt.outcome != "ok":
            assert entry.failed is not None
            entry.failed[attempt.outcome] = entry.failed.get(attempt.outcome, 0) + 1
            if attempt.outcome in UNBILLED:
                continue
        if attempt.tokens_in is None or attempt.tokens_out is None:
            entry.unknown += 1
            entry.charged_tokens += call.asked.tokens_reserved
        else:
            entry.charged_tokens += attempt.tokens_in + attempt.tokens_out
        entry.tokens_in += attempt.tokens_in or 0
        entry.tokens_out += attempt.tokens_out or 0
        if attempt.cost is None:
            entry.cost_unknown += 1
            entry.charged_cost += call.asked.cost_reserved or 0.0
        else:
            entry.cost += attempt.cost
            entry.charged_cost += attempt.cost
    if call.open:
        entry.in_flight += 1
        entry.charged_tokens += call.asked.tokens_reserved
        entry.charged_cost += call.asked.cost_reserved or 0.0


@dataclass(frozen=True)
class Use:
    """What counts against a set of limits so far, calls in flight included."""

    tokens: int
    money: float
    minutes: float
    device_seconds: float

    def of(self, resource: str) -> float:
        """The use of a resource by its name in the configuration."""
        return float(getattr(self, resource))


def use(rows: Iterable[Spent], device_seconds: float | None = None) -> Use:
    """The sum over rows; ``device_seconds`` where the rows do not say it (a whole run, calibration included)."""
    listed = list(rows)
    own = sum(row.device_seconds for row in listed)
    return Use(
        tokens=sum(row.charged_tokens for row in listed),
        money=sum(row.charged_cost for row in listed),
        minutes=sum(row.seconds for row in listed) / 60,
        device_seconds=own if device_seconds is None else device_seconds,
    )


def spend_summary(answers: AnswersView, view: RunView) -> dict[str, Any]:
    """The table of ``spend`` as plain data: rows, sums, and each limit with its use. Unknown numbers are None."""
    table = spend(answers, view)
    limits: list[dict[str, Any]] = []
    if answers.budget is not None:
        whole = use(table.values(), view.device_seconds)
        limits.extend(_limits("run", answers.budget.run_limits, whole))
        for role, bounds in answers.budget.role_limits.items():
            limits.extend(_limits(role, bounds, use(row for row in table.values() if row.role == role)))
    return {
        "run": view.name,
        "rows": [_row(table[key]) for key in sorted(table)],
        "tool_calls": len(answers.tools),
        "device_seconds": view.device_seconds,
        "limits": limits,
    }


def _limits(scope: str, bounds: Mapping[str, float], used: Use) -> list[dict[str, Any]]:
    return [
        {"scope": scope, "resource": resource, "used": used.of(resource), "limit": limit}
        for resource, limit in bounds.items()
    ]


def _row(entry: Spent) -> dict[str, Any]:
    counted = entry.attempts - sum((entry.failed or {}).get(outcome, 0) for outcome in UNBILLED)
    known = entry.unknown < counted
    return {
        "role": entry.role,
        "model": entry.model,
        "calls": entry.calls,
        "attempts": entry.attempts,
        "failed": dict(entry.failed or {}),
        "in_flight": entry.in_flight,
        "reused": entry.reused,
        "tokens_in": entry.tokens_in if known else None,
        "tokens_out": entry.tokens_out if known else None,
        "tokens_unknown_attempts": entry.unknown,
        "cost": entry.cost if entry.cost_unknown < counted else None,
        "cost_unknown_attempts": entry.cost_unknown,
        "currency": entry.currency,
        "seconds": entry.seconds,
        "usable": entry.usable,
        "unusable": entry.unusable,
        "proposed": entry.proposed,
        "accepted": entry.accepted,
        "log_gain": entry.log_gain,
        "gain_per_million_tokens": entry.gain_per_million_tokens,
        "device_seconds": entry.device_seconds,
    }
