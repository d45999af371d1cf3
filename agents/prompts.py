"""The prompts: one Markdown file for each role, with a version in its head; its digest stands in every request event."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from .settings import Role

_HEAD = re.compile(r"\A---\nrole: (\w+)\nversion: (\d+)\n---\n(.*)\Z", re.DOTALL)


class PromptError(Exception):
    """A prompt file is missing or has no proper head. The message names it."""


@dataclass(frozen=True)
class Prompt:
    """A role's standing instructions. ``digest`` is sha256 (hex) of the whole file, head included."""

    role: Role
    version: int
    text: str
    digest: str


@cache
def load_prompt(role: Role) -> Prompt:
    """The prompt of a role, from the package; raises PromptError."""
    file = files(__package__).joinpath("prompts", f"{role}.md")
    try:
        content = file.read_text(encoding="utf-8")
    except OSError as error:
        raise PromptError(f"the prompt of the {role} is missing: {error}") from error
    head = _HEAD.match(content)
    if head is None or head.group(1) != role:
        raise PromptError(f"prompts/{role}.md must begin with ---, role: {role}, version: N, ---")
    shared = files(__package__).joinpath("prompts", "shared.md").read_text(encoding="utf-8")
    text = f"{head.group(3).strip()}\n\n{shared.strip()}"
    digest = hashlib.sha256(f"{content}\0{shared}".encode()).hexdigest()
    return Prompt(role, int(head.group(2)), text, digest)
