"""Rounds of proposals from models over a real HTTP server, as events."""

from __future__ import annotations

from pathlib import Path

from kernelwright.events.answers import ModelAnswered, ModelAsked, RoleAnswered
from support.model_server import Reply, Request, serving
from support.models import Stage, answer, model, roles
from support.simulated import source


def faster_each_time(request: Request) -> Reply:
    question = int(request.user.split("(question ")[1].split(",")[0])
    return Reply(answer(source(18.5e-3 - 1.5e-3 * question), f"trim {question}"))


def test_proposals_of_a_model_are_registered_and_judged(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite")
    with (
        serving(faster_each_time) as server,
        stage.played(stage.team({"toy": model(server.openai)}, roles())) as played,
    ):
        designs = played.designs
        assert [designs[name].proposed.by for name in ("d0001", "d0002", "d0003")] == [
            "toy/architect",
            "toy/engineer",
            "toy/engineer",
        ]
        assert designs["d0001"].accepted is not None
        assert designs["d0002"].proposed.parent == "d0001"
        asked, answered = played.of(ModelAsked), played.of(ModelAnswered)
        assert [a.outcome for a in answered] == ["ok"] * 3
        assert all((a.tokens_in, a.tokens_out) == (100, 20) for a in answered)
        assert len({a.request for a in asked}) == 3
        assert [t.outcome for t in played.of(RoleAnswered)] == ["ok"] * 3
        assert set(played.answers.attributed) == {("double", name) for name in ("d0001", "d0002", "d0003")}
