"""What ``prompt`` shows is what a specialist is told: word for word, for every role."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kernelwright.agents.desk import desk_of
from kernelwright.agents.settings import ROLES
from kernelwright.agents.show import ShowError, shown
from support.model_server import Reply, Request, serving
from support.models import KERNEL, Stage, answer, model, roles
from support.simulated import SimulatedTarget, source, toy_spec

from .test_learned import Learned


def script(request: Request) -> Reply:
    heads = {
        "# Librarian": '```json\n{"claims": []}\n```',
        "# Prober": '```json\n{"probes": [{"name": "gather", "why": "tables"}]}\n```',
        "# Reviewer": '{"veto": false, "reason": "nothing to point at"}',
        "# Analyst": '```json\n{"bottleneck": "memory", "explanation": "it streams"}\n```',
    }
    for head, text in heads.items():
        if request.messages[0]["content"].startswith(head):
            return Reply(text)
    question = int(request.user.split("(question ")[1].split(",")[0])
    return Reply(answer(source(19e-3 - question * 1.5e-3), f"idea {question}"))


def told(stage: Stage, asked: list[Request], role: str, design: str | None = None) -> tuple[str, str]:
    """System and user message of the latest question to a role."""
    found = [r for r in asked if r.messages[0]["content"].startswith(f"# {role.capitalize()}")]
    assert found, role
    return found[-1].messages[0]["content"], found[-1].user


def test_the_next_question_is_shown_before_it_is_asked(tmp_path: Path) -> None:
    """Shown after round 2 and asked in round 3, with nothing in between; other roles as of where they were asked."""
    stage = Stage(tmp_path / "log.sqlite", rounds=2)
    chosen = roles(librarian={}, prober={}, reviewer={}, analyst={"every": 2}, engineer={"menu_dropout": 0.4})
    target: SimulatedTarget = Learned()
    with serving(script) as server:
        toy = {"toy": model(server.openai, tools=False)}
        with stage.played(stage.team(toy, chosen), target=target) as played:
            specs = {KERNEL: toy_spec(KERNEL)}
            now = desk_of(played.log, "r", target, specs)
            engineer = shown(now, "engineer", KERNEL, None, chosen)
            analyst = shown(now, "analyst", KERNEL, None, chosen)
            librarian = shown(now, "librarian", KERNEL, None, chosen, "limits")
            prober = shown(now, "prober", KERNEL, None, chosen)
            systems = {shown(now, role, KERNEL, None, chosen)["system"] for role in ROLES}
            with pytest.raises(ShowError, match=r"no section is called 'nowhere'; there are: .*Limits"):
                shown(now, "librarian", KERNEL, None, chosen, "nowhere")
        first = list(server.requests)
        stage.rounds = 3
        with stage.played(stage.team(toy, chosen), again=True, target=target) as played:
            asked = server.requests[len(first) :]
            reviewer = shown(desk_of(played.log, "r", target, specs), "reviewer", KERNEL, "d0003", chosen)
    assert told(stage, asked, "analyst") == (analyst["system"], analyst["user"])
    # The analyst was heard in between: all else of the engineer's prompt stands as it was shown.
    system, user = told(stage, asked, "engineer")
    assert system == engineer["system"]
    heard = user.index("## Bottleneck, as the analyst named it")
    rest = user.index("## Valid knowledge", heard)
    assert user[:heard] + user[rest:] == engineer["user"]
    assert "source of design d0003" in reviewer["user"]
    assert {r.messages[0]["content"] for r in first + asked} == systems
    assert [librarian["user"]] == [
        r.user for r in first if r.messages[0]["content"].startswith("# Librarian") and "Limits" in r.user
    ]
    assert told(stage, first, "prober")[1].split("## ")[0] == prober["user"].split("## ")[0]


def test_a_shown_prompt_asks_nobody_and_writes_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=1)
    with serving(script) as server:
        with stage.played(stage.team({"toy": model(server.openai)}, roles())) as played:
            before, asked = len(played.events), len(server.requests)
            desk = desk_of(played.log, "r", SimulatedTarget(), {KERNEL: toy_spec(KERNEL)})
            json.dumps(shown(desk, "architect", KERNEL, None, roles()))
            assert (len(played.events), len(server.requests)) == (before, asked)
