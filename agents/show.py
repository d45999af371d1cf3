"""What a specialist would be told now, word for word, without asking anyone."""

from __future__ import annotations

from typing import Any

from ..events.views.answers import load_answers
from ..hardware.study import Document
from ..knowledge.documents import Section, sections
from .brief import analyst_task, architect_task, engineer_task, librarian_task, prober_task, reviewer_task
from .desk import Desk
from .prompts import load_prompt
from .render import render
from .roles import AnyTask
from .settings import Role, Roles


class ShowError(Exception):
    """There is nothing to show; the message says why."""


def task_for(desk: Desk, role: str, kernel: str, design: str | None, roles: Roles, section: str = "") -> AnyTask:
    """The task that ``role`` would be given now; raises ShowError."""
    answers = load_answers(desk.log, desk.view.name)
    if role == "librarian":
        return librarian_task(desk, find_section(desk, section))
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
            raise ShowError(f"there is no role {role!r}")


def find_section(desk: Desk, wanted: str) -> Section:
    """The first section of the target's documents, as they were last read, with ``wanted`` in its heading.

    Raises ShowError.
    """
    found = [
        section
        for name, seen in desk.known.documents.items()
        for section in sections(Document(name, desk.blobs.text(seen.text)))
    ]
    match = next((s for s in found if wanted.lower() in f"{s.document}: {s.heading}".lower()), None)
    if match is None:
        headings = (
            "; ".join(s.heading for s in found[:20]) or "no document was read yet; `kernelwright learn` reads them"
        )
        raise ShowError(f"no section is called {wanted!r}; there are: {headings}" if found else headings)
    return match


def shown(
    desk: Desk, role: Role | str, kernel: str, design: str | None, roles: Roles, section: str = ""
) -> dict[str, Any]:
    """The prompt's digest and version, the system message and the user message; raises ShowError."""
    task = task_for(desk, role, kernel, design, roles, section)
    prompt = load_prompt(role)  # task_for has refused what is no role
    return {
        "role": role,
        "kernel": kernel,
        "prompt": prompt.digest,
        "version": prompt.version,
        "system": prompt.text,
        "user": render(task),
    }
