"""Librarian and prober: what models read out of documents is checked like the playbook's, and what they choose comes first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelwright.events.answers import RoleAnswered
from kernelwright.events.knowledge import ClaimMade
from kernelwright.hardware.study import Document
from kernelwright.hardware.target import Probe
from support.model_server import Reply, Request, serving
from support.models import Stage, answer, model, roles
from support.simulated import SimulatedTarget, source

GUIDE = "# Guide\n\nSmall things are described here.\n\n## Limits\n\nA source must hold a line of seconds.\n"


class Learned(SimulatedTarget):
    """A target with documentation and a second probe."""

    def documentation(self) -> Sequence[Document]:
        return [Document("guide.md", GUIDE)]

    def probes(self) -> Sequence[Probe]:
        return [*super().probes(), Probe("gather", "how dear is a gather?", 9.0, "ns", 0.1, 3, {"threads": "1"})]


def script(request: Request) -> Reply:
    system = request.messages[0]["content"]
    if system.startswith("# Librarian"):
        claim = {"sentence": "Every line is key and value.", "section": "Limits", "expects": "unchecked"}
        return Reply(
            f"```json\n{json.dumps({'claims': [claim] if '## Limits' in request.user or 'Limits' in request.user else []})}\n```"
        )
    if system.startswith("# Prober"):
        return Reply('```json\n{"probes": [{"name": "gather", "why": "whether tables are worth it"}]}\n```')
    return Reply(answer(source(21e-3), "an idea"))


def test_claims_of_a_model_are_recorded_as_its_own_and_chosen_probes_come_first(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=1)
    with serving(script) as server:
        team = stage.team({"toy": model(server.openai)}, roles(librarian={}, prober={}))
        with stage.played(team, target=Learned()) as played:
            made = {(event.by, event.sentence) for event in played.of(ClaimMade)}
            assert ("toy/librarian", "Every line is key and value.") in made
            assert any(by == "playbook/librarian" for by, _ in made)
            answered = [taken.role for taken in played.of(RoleAnswered)]
            assert answered.count("prober") == 1
            assert "librarian" in answered
            told: Any = [r.user for r in server.requests if r.messages[0]["content"].startswith("# Architect")][0]
            assert 0 < told.index("[probe.gather]") < told.index("[probe.stream]")
            asked = [r.user for r in server.requests if r.messages[0]["content"].startswith("# Librarian")]
            assert any("A source must hold a line of seconds." in text for text in asked)
