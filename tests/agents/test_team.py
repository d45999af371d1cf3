"""Teams on the simulated target, over a real HTTP server: rounds, repairs, samples, tools, reviewer and analyst."""

from __future__ import annotations

import json
from pathlib import Path

from kernelwright.agents.roles import AnalystAnswer
from kernelwright.events.answers import ModelAnswered, ModelAsked, RoleAnswered, RoundOpened, ToolCalled
from kernelwright.events.run import SpecialistAnswered
from kernelwright.events.views.explain import explain
from support.model_server import Reply, Request, in_order, serving
from support.models import Stage, answer, model, roles
from support.simulated import Script, source

BAD = (
    ("invalid JSON", Reply(fault="invalid-json"), "bad-response"),
    ("wrong schema", Reply(fault="wrong-schema"), "bad-response"),
    ("truncated", Reply(answer(source(1e-3)), fault="truncated"), "dropped"),
    ("429", Reply(status=429), "rate-limited"),
    ("429 later", Reply(status=429, headers={"Retry-After": "1"}), "rate-limited"),
    ("500", Reply(status=500), "server-error"),
    ("hang", Reply(fault="hang"), "timeout"),
    ("5 MB", Reply("x" * 5_000_000), "unusable"),
    ("refusal", Reply(refusal="no"), "unusable"),
    ("empty", Reply(""), "unusable"),
    ("no JSON in the answer", Reply("```json\n{\n```\n```source\nx\n```"), "unusable"),
    ("another schema in the answer", Reply('```json\n{"verdict": "accepted"}\n```'), "unusable"),
    ("code in the wrong fence", Reply(answer(None) + "```python\nx\n```"), "unusable"),
    ("unknown tool", Reply(calls=[("run_shell", '{"command": "id"}')]), "unusable"),
    ("tool with wrong arguments", Reply(calls=[("show_design", '{"number": 7}')]), "unusable"),
    ("tool with no JSON", Reply(calls=[("show_design", "{")]), "unusable"),
)


def test_every_misbehaviour_leaves_a_typed_event_and_the_run_goes_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=len(BAD) + 1)

    def script(request: Request) -> Reply:
        question = int(request.user.split("(question ")[1].split(",")[0])
        return BAD[question][1] if question < len(BAD) else Reply(answer(source(15e-3), "a good idea at last"))

    playbook = Script([source(20e-3 + n * 1e-3) for n in range(40)])
    own = {"repairs": 0, "fallback": "playbook"}
    chosen = roles(engineer=own, architect=own)
    with serving(script) as server:
        toy = model(server.openai, attempts=1, timeout_seconds=1.5)
        with stage.played(stage.team({"toy": toy}, chosen, playbook=playbook)) as played:
            outcomes = [taken.outcome for taken in played.of(RoleAnswered)]
            assert outcomes == [outcome for _, _, outcome in BAD] + ["ok"]
            assert all(taken.reason for taken in played.of(RoleAnswered)[:-1])
            by = [d.proposed.by for d in played.designs.values()]
            assert [name for name in by if name.startswith("script")] == ["script/engineer"] * len(BAD)
            last = list(played.designs.values())[-1]
            assert last.proposed.title == "a good idea at last"
            assert last.accepted is not None
            tools = {(tool.tool, tool.outcome) for tool in played.of(ToolCalled)}
            assert tools == {("run_shell", "error"), ("show_design", "error")}
            said = played.of(SpecialistAnswered)
            assert [e.outcome for e in said if e.specialist == "models"] == outcomes
            assert [e.outcome for e in said if e.specialist == "script"] == ["ok"] * len(BAD)
            story = explain(played.log, played.view, played.view.trees["double"], played.designs["d0001"])
            assert story["origin"]["specialist"] == "script", "it was asked after the model, in the same step"


def test_an_unusable_answer_is_sent_back_with_the_reason(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=1)
    replies = in_order(Reply("no json"), Reply(answer(None, edits=[])), Reply(answer(source(16e-3))))
    with serving(replies) as server, stage.played(stage.team({"toy": model(server.openai)}, roles())) as played:
        taken = played.of(RoleAnswered)
        assert [(t.repair, t.outcome) for t in taken] == [(0, "unusable"), (1, "unusable"), (2, "ok")]
        second, third = server.requests[1].user, server.requests[2].user
        assert "exactly one ```json block" in second
        assert "no json" in second
        assert "complete source or edits" in third
        assert "exactly one ```json block" not in third, "each repair starts from the task, with a fresh agent"
        assert len(played.designs) == 2


def test_repairs_end_and_useless_rounds_end_the_search(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=10)
    with serving(in_order(Reply("nonsense"))) as server:
        with stage.played(stage.team({"toy": model(server.openai)}, roles(architect={"repairs": 1}))) as played:
            assert [t.repair for t in played.of(RoleAnswered)] == [0, 1] * 3
            assert len({t.ask for t in played.of(RoleAnswered)}) == 3
            assert played.view.trees["double"].exhausted
            assert played.view.stopped is not None
            assert played.view.stopped.reason == "finished"


def test_several_samples_of_two_models_and_no_near_duplicates(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=1)

    def script(request: Request) -> Reply:
        sample = int(request.user.split("sample ")[1].split(")")[0])
        if "near-duplicate" in request.user:
            return Reply(answer(source(17e-3), "something else"))
        text = source(20e-3, note="baseline again") if sample == 0 else source(16e-3)
        if sample == 0:
            text = "  " + source(20e-3) + "  // the baseline"
        return Reply(answer(text, f"idea of sample {min(sample, 1)}"))

    two = {"models": ("toy", "other"), "samples": 3, "temperatures": (0.1, 0.9), "menu_dropout": 0.5}
    with serving(script) as server:
        models = {"toy": model(server.openai), "other": model(server.openai, model="other")}
        with stage.played(stage.team(models, roles(architect=two))) as played:
            assert len(played.designs) == 3, "one of two equal samples, and the one that was sent back"
            assert [t.outcome for t in played.of(RoleAnswered)].count("duplicate") == 1
            asked = played.of(ModelAsked)
            assert {(a.sample, a.model) for a in asked} == {(0, "toy"), (1, "other"), (2, "toy")}
            first = {json.dumps(r.body["messages"][-1]): r for r in server.requests if "near-dup" not in r.user}
            assert sorted(r.body["temperature"] for r in first.values()) == [0.1, 0.1, 0.9]
            menus = {r.user.split("## Menu")[1].split("##")[0] for r in first.values()}
            assert len(menus) > 1, "samples have menus of their own"


def test_a_failed_build_is_repaired_under_the_same_parent(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=3)
    replies = in_order(
        Reply(answer(source(17e-3, fails="build"), "broken")),
        Reply(answer(None, "mended", "broken", edits=[{"search": "\nfails: build", "replace": ""}])),
        Reply(answer(source(15e-3), "next")),
    )
    with serving(replies) as server, stage.played(stage.team({"toy": model(server.openai)}, roles())) as played:
        d1, d2 = played.designs["d0001"], played.designs["d0002"]
        assert d1.outcome == "build-failed"
        assert d2.proposed.parent == d1.proposed.parent
        assert d2.accepted is not None
        assert played.answers.attributed["double", "d0002"].repairs == "d0001"
        assert "x.c:1: error: asked for" in server.requests[1].user, "the compiler's own words"
        assert played.designs["d0003"].proposed.parent == "d0002"


def test_tools_are_read_only_views_and_tries_at_a_build(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=1)
    calls = [
        ("look_up_knowledge", '{"words": "fast"}'),
        ("show_design", '{"design": "d0000"}'),
        ("try_build", json.dumps({"source": source(1e-3, fails="build")})),
    ]
    replies = in_order(Reply(calls=calls), Reply(calls=calls[2:]), Reply(calls=calls[2:]), Reply(answer(source(16e-3))))
    with serving(replies) as server:
        with stage.played(stage.team({"toy": model(server.openai)}, roles(architect={"builds": 2}))) as played:
            tools = played.of(ToolCalled)
            results = [played.log.blobs.text(tool.result) for tool in tools]
            assert [tool.outcome for tool in tools] == ["ok"] * 5
            assert "probe.stream" in results[0]
            assert "seconds: 0.02" in results[1]
            assert "build-failed; 1 tries left" in results[2]
            assert "0 tries left" in results[3]
            assert "no tries are left" in results[4]
            offered = [tool["function"]["name"] for tool in server.requests[0].body["tools"]]
            assert sorted(offered) == ["look_up_knowledge", "show_design", "try_build"]
            assert played.designs["d0001"].accepted is not None


def test_the_reviewer_vetoes_and_the_analyst_is_heard(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=4)

    def script(request: Request) -> Reply:
        system = request.messages[0]["content"]
        question = int(request.user.split("(question ")[1].split(",")[0])
        if system.startswith("# Reviewer"):
            return Reply(json.dumps({"veto": question == 2, "reason": "reads past the end in line 1"}))
        if system.startswith("# Analyst"):
            told = {"bottleneck": "latency", "explanation": "chains of additions", "lessons": ["halving helps (d0001)"]}
            return Reply(f"```json\n{json.dumps(told)}\n```")
        return Reply(answer(source(19e-3 - question * 1.2e-3), f"idea {question}"))

    chosen = roles(reviewer={}, analyst={"every": 2})
    with serving(script) as server, stage.played(stage.team({"toy": model(server.openai)}, chosen)) as played:
        assert played.designs["d0002"].outcome == "vetoed"
        assert "reads past the end" in played.designs["d0002"].checks[0].reason
        assert played.designs["d0001"].accepted is not None
        (analysis,) = [t for t in played.of(RoleAnswered) if t.role == "analyst"]
        assert analysis.answer is not None
        assert AnalystAnswer.model_validate_json(played.log.blobs.get(analysis.answer)).bottleneck == "latency"
        later = [r.user for r in server.requests if r.messages[0]["content"].startswith("# Engineer")][-1]
        assert "latency" in later.split("as the analyst named it")[1]
        assert "halving helps (d0001)" in later
        assert {e.role for e in played.of(ModelAsked)} == {"architect", "engineer", "reviewer", "analyst"}


def test_a_killed_step_reuses_what_was_paid_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=2)
    team_calls = in_order(Reply(answer(source(18e-3), "one")), Reply(answer(source(16e-3), "two")))

    class Killed(BaseException):
        """Stands in for kill -9: nothing handles it."""

    with serving(team_calls) as server:
        team = stage.team({"toy": model(server.openai)}, roles())
        collect = team._collect

        def dies(*arguments: object) -> object:
            collect(*arguments)  # type: ignore[arg-type]
            raise Killed

        team._collect = dies  # type: ignore[method-assign, assignment]
        try:
            with stage.played(team):
                raise AssertionError("the step was to be killed")
        except Killed:
            pass
        assert len(server.requests) == 1
        with stage.played(stage.team({"toy": model(server.openai)}, roles()), again=True) as played:
            assert len(server.requests) == 2, "the answer to the first question was there"
            assert [d.proposed.title for d in played.designs.values()][1:] == ["one", "two"]
            assert len(played.answers.reused) == 1
            assert [e.ask for e in played.of(RoundOpened)] == [0, 0, 1]


def test_a_recorded_run_is_replayed_without_a_network(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=4)
    texts = [answer(source(18.5e-3 - n * 1.3e-3), f"idea {n}") for n in range(4)]
    texts.insert(2, "no json at all")
    with serving(in_order(*map(Reply, texts))) as server:
        toy = {"toy": model(server.openai)}
        with stage.played(stage.team(toy, roles())) as played:
            first = {
                name: (d.proposed.title, d.proposed.source, d.proposed.parent) for name, d in played.designs.items()
            }
            asked = len(played.of(ModelAnswered))
    assert len(first) == 5
    with stage.played(stage.team(toy, roles(), replay="r"), run="again") as played:
        again = {name: (d.proposed.title, d.proposed.source, d.proposed.parent) for name, d in played.designs.items()}
        assert {k: v[:2] for k, v in again.items()} == {k: v[:2] for k, v in first.items()}
        assert len(played.of(ModelAnswered)) == asked, "nothing was sent"
        assert {reused.source for reused in played.answers.reused} == {"r"}
        assert all(d.readings for name, d in played.designs.items() if name != "d0000"), "readings are taken anew"


def test_a_replay_ends_where_the_recording_does(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=1)
    with serving(in_order(Reply(answer(source(18e-3), "one")))) as server:
        toy = {"toy": model(server.openai)}
        with stage.played(stage.team(toy, roles())):
            pass
    stage.rounds = 3
    with stage.played(stage.team(toy, roles(), replay="r"), run="again") as played:
        assert len(played.designs) == 2
        assert played.view.trees["double"].exhausted


def test_a_changed_question_is_not_answered_from_the_recording(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=1)
    with serving(in_order(Reply(answer(source(18e-3), "one")))) as server:
        toy = {"toy": model(server.openai)}
        with stage.played(stage.team(toy, roles())):
            pass
    hotter = {"toy": model(server.openai, temperature=0.3)}
    with stage.played(stage.team(hotter, roles(), replay="r"), run="again") as played:
        assert [t.outcome for t in played.answers.taken] == ["not-recorded"]
        assert len(played.designs) == 1
