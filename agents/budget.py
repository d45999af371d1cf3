"""Budgets as a pure decision: what is used, what is set aside for calls in flight, what may still be asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..events.answers import BudgetSet
from ..events.views.spend import Spent, Use, use

WARN_AT = 0.8
"""Share of a limit from which on a warning is given, once."""
Table = Mapping[tuple[str, str], Spent]


@dataclass(frozen=True)
class Line:
    """One limit and its use. ``scope`` is ``run`` or a role."""

    scope: str
    resource: str
    used: float
    limit: float

    @property
    def text(self) -> str:
        """For people."""
        whose = "the run" if self.scope == "run" else f"the {self.scope}"
        return f"{whose} has used {self.used:.6g} of {self.limit:.6g} {self.resource}"


def lines(budget: BudgetSet | None, table: Table, device_seconds: float) -> Iterator[Line]:
    """Each limit with what counts against it now."""
    if budget is None:
        return
    yield from _lines("run", budget.run_limits, use(table.values(), device_seconds))
    for role, limits in budget.role_limits.items():
        yield from _lines(role, limits, use(row for row in table.values() if row.role == role))


def _lines(scope: str, limits: Mapping[str, float], used: Use) -> Iterator[Line]:
    for resource, limit in limits.items():
        yield Line(scope, resource, used.of(resource), limit)


def reached(budget: BudgetSet | None, table: Table, device_seconds: float) -> Line | None:
    """The first limit that is used up, or None."""
    return next((line for line in lines(budget, table, device_seconds) if line.used >= line.limit), None)


def refuses(
    budget: BudgetSet | None, table: Table, device_seconds: float, role: str, tokens: int, cost: float | None
) -> Line | None:
    """The first limit that a call in ``role`` could break if it used all of ``tokens`` and ``cost``, or None."""
    more = {"tokens": float(tokens), "money": cost or 0.0}
    for line in lines(budget, table, device_seconds):
        if line.scope in ("run", role):
            after = line.used + more.get(line.resource, 0.0)
            if line.used >= line.limit or after > line.limit:
                return line
    return None


def near(budget: BudgetSet | None, table: Table, device_seconds: float) -> list[Line]:
    """The limits that are used to :data:`WARN_AT` or more."""
    return [line for line in lines(budget, table, device_seconds) if line.used >= WARN_AT * line.limit]
