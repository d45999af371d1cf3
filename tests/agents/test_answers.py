"""From the text of an answer to a typed value: what is taken, and why the rest is not."""

from __future__ import annotations

import json

import pytest
from kernelwright.agents.answer import UnusableError, read_answer, schema_of
from kernelwright.agents.edits import EditError, apply_edits
from kernelwright.agents.roles import AnalystAnswer, DesignAnswer, Edit, NothingToPropose, ReviewerAnswer
from support.models import answer

HEAD = {"title": "t", "rationale": "r", "mechanism": "m"}


def fenced(label: str, text: str) -> str:
    return f"```{label}\n{text}\n```\n"


def test_a_complete_file_and_edits() -> None:
    whole = read_answer("engineer", "cpu", answer("int x;\n"))
    assert isinstance(whole, DesignAnswer)
    assert whole.source == "int x;\n\n"
    text = fenced("json", json.dumps(HEAD)) + fenced(
        "edits", "<<<<<<< SEARCH\na\nb\n=======\nc\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nd\n=======\n\n>>>>>>> REPLACE"
    )
    edited = read_answer("engineer", "cpu", text)
    assert isinstance(edited, DesignAnswer)
    assert edited.edits == (Edit(search="a\nb", replace="c"), Edit(search="d", replace=""))


def test_the_targets_own_fence_a_bare_object_and_nothing() -> None:
    head = fenced("json", json.dumps(HEAD))
    assert isinstance(read_answer("architect", "cpu", head + fenced("c", "int x;")), DesignAnswer)
    assert isinstance(read_answer("architect", "tpu", head + fenced("python", "x = 1")), DesignAnswer)
    assert isinstance(read_answer("engineer", "cpu", json.dumps({**HEAD, "source": "int x;"})), DesignAnswer)
    assert isinstance(read_answer("engineer", "cpu", '{"nothing": "all was tried"}'), NothingToPropose)
    assert read_answer("reviewer", "cpu", '{"veto": true, "reason": "line 3"}') == ReviewerAnswer(
        veto=True, reason="line 3"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("I would rather not.", "exactly one ```json block, and there are 0"),
        (fenced("json", "{") + fenced("c", "x"), "cannot be read"),
        (fenced("json", "[1]") + fenced("c", "x"), "one object"),
        (fenced("json", json.dumps(HEAD)), "complete source or edits"),
        (fenced("json", json.dumps(HEAD)) + fenced("python", "x"), "fenced as ```python"),
        (fenced("json", json.dumps(HEAD)) + fenced("json", json.dumps(HEAD)), "there are 2"),
        (fenced("json", json.dumps(HEAD)) + fenced("c", "x") + fenced("c", "y"), "there are 2"),
        (fenced("json", json.dumps(HEAD)) + fenced("edits", "- a\n+ b"), "SEARCH"),
        (fenced("json", json.dumps(HEAD)) + "```source\nint x;", "not closed"),
        (fenced("json", json.dumps({**HEAD, "source": "x"})) + fenced("c", "x"), "given twice"),
        (fenced("json", json.dumps({**HEAD, "verdict": "accepted"})) + fenced("c", "x"), "verdict: extra inputs"),
        (fenced("json", json.dumps({**HEAD, "title": 3})) + fenced("c", "x"), "title: input should be a valid string"),
        (fenced("json", json.dumps({**HEAD, "levers": {"rows": [1]}})) + fenced("c", "x"), "levers.rows"),
        ("{" * 100_000, "cannot be read"),
    ],
)
def test_what_cannot_be_used_says_why(text: str, why: str) -> None:
    with pytest.raises(UnusableError, match=why.replace("(", r"\(")):
        read_answer("engineer", "cpu", text)


def test_a_bottleneck_is_one_of_the_named_ones() -> None:
    good = {"bottleneck": "memory", "explanation": "e", "designs": ["d0001"], "lessons": ["l"]}
    assert isinstance(read_answer("analyst", "cpu", json.dumps(good)), AnalystAnswer)
    with pytest.raises(UnusableError, match="bottleneck"):
        read_answer("analyst", "cpu", json.dumps({**good, "bottleneck": "accept everything"}))


def test_edits_must_match_exactly_once() -> None:
    assert apply_edits("a b c", [Edit(search="b", replace="x"), Edit(search="x c", replace="y")]) == "a y"
    for edits, why in (
        ([Edit(search="z", replace="x")], "edit 1: the passage to replace is not there"),
        (
            [Edit(search="a", replace="b"), Edit(search="b", replace="x")],
            "edit 2: the passage to replace stands there 2",
        ),
        ([Edit(search="a", replace="a")], "change nothing"),
    ):
        with pytest.raises(EditError, match=why):
            apply_edits("a b c", edits)


@pytest.mark.parametrize("role", ["engineer", "reviewer", "analyst", "librarian", "prober"])
def test_every_role_has_a_schema_whose_references_resolve(role: str) -> None:
    schema = schema_of(role)  # type: ignore[arg-type]
    text = json.dumps(schema)
    for name in schema.get("$defs", {}):
        assert f"#/$defs/{name}" in text
    for part in text.split('"$ref": "#/$defs/')[1:]:
        assert part.split('"')[0] in schema["$defs"]
