"""From the text of an answer to a typed value, or a reason why it cannot be used.

An answer is one fenced ``json`` block; a design adds one fenced ``source`` block with the complete file, or one fenced
``edits`` block. An answer that is nothing but a JSON object is taken as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from .port import Frozen
from .quote import one_line
from .roles import ANSWERS, DesignAnswer
from .settings import Role

LANGUAGES: Mapping[str, str] = {"cpu": "c", "tpu": "python", "rngd": "rust", "rngd-visa": "rust"}
"""The fence that names a target's own language, taken like ``source``."""
_FENCE = re.compile(r"^[ \t]*```[ \t]*([\w+-]*)[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
_EDIT = re.compile(r"^<{5,9} SEARCH[ \t]*\n(.*?)^={5,9}[ \t]*\n(.*?)^>{5,9} REPLACE[ \t]*$", re.MULTILINE | re.DOTALL)


class UnusableError(Exception):
    """The answer cannot be used. The message is for the one who gave it: what is wrong, and what is expected."""


@dataclass(frozen=True)
class Block:
    """A fenced block of an answer."""

    label: str
    text: str


def read_answer(role: Role, target: str, text: str) -> Frozen:
    """The typed answer of ``role`` in ``text``; raises UnusableError."""
    plain = text.replace("\r\n", "\n").strip()
    if not plain:
        raise UnusableError("the answer is empty")
    value = _whole_object(plain) or _from_blocks(role, target, plain)
    problems = []
    for form in ANSWERS[role]:
        try:
            return form.model_validate(value)
        except ValidationError as error:
            problems.append((form, error))
    form, misfit = _nearest(problems, value)
    raise UnusableError(f"the JSON does not fit {form.__name__}: {_explain(misfit)}")


def _whole_object(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    return _object(text)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnusableError(f"the JSON cannot be read: {one_line(str(error))}") from error
    if not isinstance(value, dict):
        raise UnusableError("the JSON must be one object")
    return value


def _from_blocks(role: Role, target: str, text: str) -> dict[str, Any]:
    blocks = [Block(match.group(1).lower(), match.group(2)) for match in _FENCE.finditer(text)]
    if len(re.findall(r"^[ \t]*```", text, re.MULTILINE)) % 2:
        raise UnusableError("a fenced block is not closed: the answer was cut off, or a ``` line is missing")
    heads = [block for block in blocks if block.label == "json"]
    if len(heads) != 1:
        raise UnusableError(f"there must be exactly one ```json block, and there are {len(heads)}")
    value = _object(heads[0].text)
    rest = [block for block in blocks if block.label != "json"]
    if DesignAnswer not in ANSWERS[role]:
        return value
    code = {"source", LANGUAGES.get(target, "source")}
    wrong = [block.label for block in rest if block.label not in {*code, "edits"}]
    if wrong:
        raise UnusableError(
            f"a block is fenced as ```{wrong[0]}; a complete file goes into ```source, edits into ```edits"
        )
    if len(rest) > 1:
        raise UnusableError(f"there must be one ```source or one ```edits block, and there are {len(rest)}")
    for block in rest:
        name = "edits" if block.label == "edits" else "source"
        if name in value:
            raise UnusableError(f"{name} is given twice, in the JSON and in a block")
        value[name] = _edits(block.text) if name == "edits" else block.text
    return value


def _edits(text: str) -> list[dict[str, str]]:
    left = _EDIT.sub("", text).strip()
    found = [{"search": m.group(1).rstrip("\n"), "replace": m.group(2).rstrip("\n")} for m in _EDIT.finditer(text)]
    if left or not found:
        raise UnusableError(
            "the ```edits block must hold only passages of the form <<<<<<< SEARCH / ======= / >>>>>>> REPLACE"
        )
    return found


def _nearest(problems: list[tuple[type[Frozen], ValidationError]], value: dict[str, Any]) -> tuple[type[Frozen], Any]:
    """The form that the value shares most fields with."""
    return max(problems, key=lambda pair: len(pair[0].model_fields.keys() & value.keys()))


def _explain(error: ValidationError) -> str:
    lines = []
    for item in error.errors(include_url=False, include_input=False)[:5]:
        where = ".".join(str(part) for part in item["loc"])
        lines.append(f"{where}: {item['msg'].lower()}" if where else item["msg"])
    return one_line("; ".join(lines), 600)


def schema_of(role: Role) -> dict[str, Any]:
    """The JSON schema of a role's answer, for providers that take one."""
    forms: tuple[type[BaseModel], ...] = ANSWERS[role]
    if len(forms) == 1:
        return forms[0].model_json_schema()
    parts = [form.model_json_schema(ref_template=f"#/$defs/{form.__name__}_{{model}}") for form in forms]
    definitions: dict[str, Any] = {}
    for form, part in zip(forms, parts, strict=True):
        for name, inner in part.pop("$defs", {}).items():
            definitions[f"{form.__name__}_{name}"] = inner
    return {"anyOf": parts, "$defs": definitions}
