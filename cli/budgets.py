"""Budgets of a run that is taken up again: what is in force by its log, with changes from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..agents.settings import ROLES
from ..config import ConfigError
from ..events.log import EventLog
from ..events.views.answers import load_answers
from ..events.views.run import RunView

RESOURCES = ("tokens", "money", "minutes", "device_seconds")


def budgets_in_force(log: EventLog, view: RunView, changes: Sequence[str]) -> dict[str, Any]:
    """The ``budgets`` section for the rest of a run; ``changes`` are ``tokens=N`` or ``engineer.money=N`` (``none``: no
    limit). Raises ConfigError.
    """
    assert view.started is not None
    section: dict[str, Any] = dict(view.started.config.get("budgets", {}))
    roles: dict[str, Any] = {role: dict(limits) for role, limits in (section.get("roles") or {}).items()}
    budget = load_answers(log, view.name).budget
    if budget is not None:
        section |= {name: budget.run_limits.get(name) for name in RESOURCES if name != "minutes"}
        roles = {role: dict(limits) for role, limits in budget.role_limits.items()}
    for change in changes:
        name, equals, text = change.partition("=")
        scope, dot, resource = name.rpartition(".")
        if (
            not equals
            or resource not in RESOURCES
            or (dot and scope not in ROLES)
            or (not dot and resource == "minutes")
        ):
            raise ConfigError(
                f"--budget takes tokens=N, money=N or device_seconds=N, with a role in front of a dot if it is for one "
                f"(then minutes=N too), got {change!r}"
            )
        (roles.setdefault(scope, {}) if dot else section)[resource] = _amount(name, text)
    for limits in (section, *roles.values()):
        if limits.get("tokens") is not None:
            limits["tokens"] = int(limits["tokens"])
    return {**section, "roles": roles}


def _amount(name: str, text: str) -> float | None:
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError as error:
        raise ConfigError(f"--budget {name} must be a number or none, got {text!r}") from error
    if not 0 < value < float("inf"):
        raise ConfigError(f"--budget {name} must be above zero, got {text}")
    return value
