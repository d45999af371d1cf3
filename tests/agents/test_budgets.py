"""Budgets: tokens, money, waiting and device time, for the run and for roles, calls in flight included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kernelwright.agents.failures import CallFailedError
from kernelwright.agents.settings import Limits, Price, RoleLimits
from kernelwright.events.answers import BudgetSet, BudgetWarned, ModelAnswered, ModelAsked
from kernelwright.events.base import Context
from kernelwright.events.views.answers import load_answers
from kernelwright.events.views.spend import spend_summary
from support.model_server import Reply, Request, serving
from support.models import Stage, answer, model, roles
from support.simulated import source


def ideas(request: Request) -> Reply:
    question = int(request.user.split("(question ")[1].split(",")[0])
    return Reply(answer(source(21e-3 + question * 1e-3), f"idea {question} of mine"), usage=(3000, 1000))


def test_tokens_end_the_run_cleanly_and_a_larger_budget_takes_it_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=6)
    with serving(ideas) as server:
        toy = {"toy": model(server.openai)}
        with stage.played(stage.team(toy, roles(), limits=Limits(tokens=16_000))) as played:
            assert played.view.stopped is not None
            assert played.view.stopped.reason == "budget"
            assert "tokens" in played.view.stopped.detail
            first = len(played.of(ModelAsked))
            assert 2 <= first <= 4
            (warned,) = played.of(BudgetWarned)
            assert (warned.scope, warned.resource) == ("run", "tokens")
            assert warned.used / warned.limit >= 0.8
            assert len(stage.notices) == 1
            limits = spend_summary(played.answers, played.view)["limits"]
            assert limits == [{"scope": "run", "resource": "tokens", "used": 4000.0 * first, "limit": 16000.0}]
        larger = stage.team(toy, roles(), limits=Limits(tokens=200_000))
        with stage.played(larger, again=True) as played:
            assert played.view.stopped is None or played.view.stopped.reason == "finished"
            assert len(played.of(ModelAsked)) == 6
            assert len(played.of(BudgetSet)) == 2


def test_money_of_one_role(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=6)
    price = Price(input=10.0, output=10.0, currency="EUR", dated="2026-01-31")  # 0.04 for an answer
    limits = RoleLimits(engineer=Limits(money=0.15))
    with serving(ideas) as server:
        team = stage.team({"toy": model(server.openai, price=price)}, roles(), role_limits=limits)
        with stage.played(team) as played:
            assert played.view.stopped is not None
            assert played.view.stopped.reason == "budget"
            assert "the engineer" in played.view.stopped.detail
            roles_asked = [e.role for e in played.of(ModelAsked)]
            assert roles_asked[0] == "architect"
            assert roles_asked.count("engineer") == 4, "three cost 0.12, and a fourth was not to cost more than 0.03"


def test_device_time_ends_a_run_without_any_model(tmp_path: Path) -> None:
    from support.simulated import GOOD_SCRIPT, Script

    stage = Stage(tmp_path / "log.sqlite", rounds=50)
    nobody = roles(engineer={"models": (), "fallback": "playbook"}, architect={"models": (), "fallback": "playbook"})
    team = stage.team({}, nobody, playbook=Script(GOOD_SCRIPT), limits=Limits(device_seconds=0.5))
    with stage.played(team) as played:
        assert played.view.stopped is not None
        assert played.view.stopped.reason == "budget"
        assert "device_seconds" in played.view.stopped.detail
        assert not played.of(ModelAnswered)


def test_calls_in_flight_count(desktop: Any) -> None:
    ledger = desktop.ledger()
    ledger.set_budget(Context(), Limits(tokens=1000), RoleLimits())
    ask = {
        "role": "engineer",
        "kernel": "k",
        "ask": 0,
        "model": "m",
        "provider": "p",
        "prompt": "",
        "as_of": 0,
        "tokens_reserved": 400,
        "cost_reserved": None,
    }
    for sample in range(2):
        ledger.ask(Context(), request=desktop.log.blobs.put(f"{sample}"), sample=sample, **ask)
    with pytest.raises(CallFailedError, match="budget: the run has used 800 of 1000 tokens, calls in flight included"):
        ledger.ask(Context(), request=desktop.log.blobs.put("2"), sample=2, **ask)
    lost = desktop.ledger()
    with pytest.raises(CallFailedError, match="budget"):  # those of a process that died may have been paid for
        lost.ask(Context(), request=desktop.log.blobs.put("2"), sample=2, **ask)


def test_most_of_a_limit_is_said_once_whoever_asks(desktop: Any) -> None:
    """Once for each limit, in whichever process; again only when the limit is another one."""
    from support.model_server import in_order

    def spent(limit: int) -> list[float]:
        ledger = desktop.ledger()
        ledger.set_budget(Context(), Limits(tokens=limit), RoleLimits())
        ledger.warn(Context())
        return [limit for _, _, limit in sorted(ledger.view.warned, reverse=True)]

    with serving(in_order(Reply("fine", usage=(700, 110)))) as server:
        desktop.ask(model(server.openai))
    assert spent(1000) == [1000.0], "810 of 1000"
    assert spent(1000) == [1000.0], "a new process, as on resume"
    assert spent(2000) == [1000.0], "810 of 2000 is not most of it"
    assert spent(900) == [1000.0, 900.0]
    assert [notice.split(" (")[1] for notice in desktop.notices] == ["81%)", "90%)"]


def test_unknown_tokens_count_as_what_was_set_aside(desktop: Any) -> None:
    from support.model_server import in_order

    with serving(in_order(Reply("fine", usage=None))) as server:
        desktop.ask(model(server.openai, max_tokens=700))
    from kernelwright.events.views.load import load_run
    from kernelwright.events.views.spend import spend

    row = spend(load_answers(desktop.log, "r"), load_run(desktop.log, "r"))["engineer", "m"]
    assert row.unknown == 1
    assert row.tokens_in == 0
    assert row.charged_tokens > 700
    summary = spend_summary(load_answers(desktop.log, "r"), load_run(desktop.log, "r"))
    assert summary["rows"][0]["tokens_in"] is None
    assert summary["rows"][0]["cost"] is None
