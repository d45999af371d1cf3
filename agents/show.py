"""What a specialist would be told now, word for word, without asking anyone."""

from __future__ import annotations

from typing import Any

from ..events.views.answers import load_answers
from .brief import analyst_task, architect_task, engineer_task, prober_task, reviewer_task
from .desk import Desk
from .prompts import load_prompt
from .render import render
from .roles import AnyTask
from .settings import Role, Roles


class ShowError(Exception):
    """There is nothing to show; the message says why."""


def task_for(desk: Desk, role: str, kernel: str, design: str | None, roles: Roles) -> AnyTask:
    """The task that ``role`` would be given now; raises ShowError."""
    answers = load_answers(desk.log, desk.view.name)
    if role != "prober" and not desk.tree(kernel).designs:
        raise ShowError(f"{kernel} has no designs yet, so there is nothing to tell")
    match role:
        case "architect":
            return architect_task(desk, answers, kernel, roles.architect)
        case "engineer":
            return engineer_task(desk, answers, kernel, roles.engineer, repair=design)
        case "reviewer":
            return reviewer_task(desk, answers, kernel, design or list(desk.tree(kernel).designs)[-1])
        case "analyst":
            return analyst_task(desk, answers, kernel)
        case "prober":
            return prober_task(desk)
        case _:
            raise ShowError("the librarian is told of documents, which belong to no run")


def shown(desk: Desk, role: Role | str, kernel: str, design: str | None, roles: Roles) -> dict[str, Any]:
    """The prompt's digest and version, the system message and the user message; raises ShowError."""
    task = task_for(desk, role, kernel, design, roles)
    prompt = load_prompt(role)  # task_for has refused what is no role
    return {
        "role": role,
        "kernel": kernel,
        "prompt": prompt.digest,
        "version": prompt.version,
        "system": prompt.text,
        "user": render(task),
    }
