"""The same search with and without a model that knows more: both specialists stand in one lineage, and the gain shows."""

from __future__ import annotations

from pathlib import Path

from kernelwright.agents.port import NothingLeft, Proposal, ProposeTask
from kernelwright.events.views.summary import kernel_summary
from kernelwright.events.views.tree import TreeView
from support.model_server import Reply, Request, serving
from support.models import Stage, answer, model, roles
from support.simulated import fields, source

SPACE = {"rows in flight": 0.9, "prefetch": 0.95, "unroll": 0.99}
"""What each lever of the searched space makes of the time, and of the two that are not in it."""
NEW = {"one parallel region": 0.93, "integer products": 0.92}


class SmallSpace:
    """A playbook with a lever a turn, each tried once on the best of the time."""

    name = "playbook"

    def propose(self, task: ProposeTask) -> Proposal | NothingLeft:
        told = {design.title for design in task.tried}
        title = next((lever for lever in SPACE if lever not in told), None)
        if title is None:
            return NothingLeft(reason="every lever was tried")
        seconds = float(fields(task.best_source)["seconds"]) * SPACE[title]
        return Proposal(
            kind="small",
            parent=task.best,
            role="engineer",
            title=title,
            rationale="next in the space",
            levers={},
            source=source(round(seconds, 6)),
        )


def engineer(request: Request) -> Reply:
    best = float(request.user.split("seconds: ")[1].split("\n")[0])
    for title, factor in NEW.items():
        if title not in request.user.split("## Menu")[0]:
            return Reply(answer(source(round(best * factor, 6)), title))
    return Reply('{"nothing": "the rest is for the playbook"}')


def test_two_levers_that_the_space_does_not_hold(tmp_path: Path) -> None:
    alone_stage, both_stage = Stage(tmp_path / "alone.sqlite", rounds=8), Stage(tmp_path / "both.sqlite", rounds=8)
    with alone_stage.played(SmallSpace()) as played:
        alone = played.view.trees["double"]
    with serving(engineer) as server:
        good = {"models": ("good",), "fallback": "playbook"}
        chosen = roles(engineer=good, architect={"models": (), "fallback": "playbook"})
        team = both_stage.team({"good": model(server.openai)}, chosen, playbook=SmallSpace())
        with both_stage.played(team) as played:
            both = played.view.trees["double"]
            lineage = [played.designs[accepted.design].proposed for accepted in both.lineage]
    titles = [proposed.title for proposed in lineage]
    assert [title for title in titles if title in NEW] == list(NEW)
    by = {proposed.by.split("/")[0] for proposed in lineage}
    assert by == {"good", "playbook"}
    best = {accepted.design for accepted in both.lineage}
    assert all(proposed.parent in {*best, "d0000"} for proposed in lineage), "one lineage"
    assert gain(both) > gain(alone)


def gain(tree: TreeView) -> float:
    found = kernel_summary(tree)["speedup"]
    assert found is not None
    return float(found)
