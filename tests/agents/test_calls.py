"""Single calls over a real HTTP server: each way to go wrong leaves its typed event, and retries are ours and visible."""

from __future__ import annotations

import time
from typing import Any

import pytest
from kernelwright.agents.failures import CallFailedError, backoff, retry_after
from kernelwright.agents.settings import ModelSettings, Price
from kernelwright.events.answers import AnswerReused, ModelAsked
from kernelwright.events.views.answers import load_answers
from support.model_server import ModelServer, Reply, in_order, serving

PROTOCOLS = ("openai-compatible", "anthropic", "ollama")


def settings(server: ModelServer, provider: str = "openai-compatible", **more: Any) -> ModelSettings:
    own: dict[str, Any] = {
        "provider": provider,
        "model": "toy",
        "base_url": server.openai if provider == "openai-compatible" else server.url,
        "attempts": 2,
        "timeout_seconds": 20.0,
        "max_tokens": 50,
        "backoff_seconds": 1.0,
    }
    return ModelSettings(**{**own, **more})


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("provider", PROTOCOLS)
def test_each_protocol_answers_and_reports_its_tokens(desktop: Any, provider: str, stream: bool) -> None:
    with serving(in_order(Reply("the answer is long enough to come in pieces", usage=(123, 45)))) as server:
        price = Price(input=1.0, output=10.0, currency="EUR", dated="2026-01-31")
        result = desktop.ask(settings(server, provider, stream=stream, price=price))
    assert result.content == "the answer is long enough to come in pieces"
    (attempt,) = desktop.attempts
    assert (attempt.outcome, attempt.tokens_in, attempt.tokens_out) == ("ok", 123, 45)
    assert attempt.cost == pytest.approx((123 + 450) / 1e6)
    assert (attempt.currency, attempt.price_dated) == ("EUR", "2026-01-31")
    assert attempt.seconds > 0
    assert server.requests[0].body.get("stream", False) is stream


@pytest.mark.parametrize("provider", ["openai", "azure"])
def test_openai_itself_and_azure_take_their_own_address_key_and_limit(desktop: Any, provider: str) -> None:
    with serving(in_order(Reply("fine"))) as server:
        own = {"base_url": server.openai}
        if provider == "azure":
            own = {"base_url": server.url, "api_version": "2024-10-21", "deployment": "mine"}
        keys = {"OPENAI_API_KEY": "sk-of-openai", "AZURE_OPENAI_API_KEY": "key-of-azure"}
        assert desktop.ask(settings(server, provider, **own), environment=keys).content == "fine"
    (sent,) = server.requests
    assert sent.body["max_completion_tokens"] == 50
    if provider == "azure":
        assert sent.path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
        assert sent.headers["api-key"] == "key-of-azure"
    else:
        assert sent.path == "/v1/chat/completions"
        assert sent.headers["authorization"] == "Bearer sk-of-openai"
    assert [a.outcome for a in desktop.attempts] == ["ok"]


@pytest.mark.parametrize(
    ("reply", "outcomes"),
    [
        (Reply(fault="invalid-json"), ["bad-response", "ok"]),
        (Reply(fault="wrong-schema"), ["bad-response", "ok"]),
        (Reply("cut in the middle", fault="truncated"), ["dropped", "ok"]),
        (Reply("cut in the middle", fault="dropped"), ["dropped", "ok"]),
        (Reply("half", fault="stream-error"), ["server-error", "ok"]),
        (Reply(status=500), ["server-error", "ok"]),
        (Reply(status=503), ["server-error", "ok"]),
        (Reply(status=429), ["rate-limited", "ok"]),
        (Reply(status=429, headers={"Retry-After": "7"}), ["rate-limited", "ok"]),
        (Reply(status=401), ["bad-key"]),
        (Reply(status=400), ["bad-request"]),
        (Reply(""), ["empty"]),
        (Reply("a" * 60, finish="length"), ["cut-off"]),
        (Reply("no", finish="content_filter"), ["refused"]),
        (Reply(refusal="I will not"), ["refused"]),
        (Reply("x" * 5_000_000), ["too-large"]),
    ],
    ids=lambda value: f"{value.fault}-{value.status}-{value.finish}" if isinstance(value, Reply) else None,
)
def test_each_misbehaviour_is_a_typed_event(desktop: Any, reply: Reply, outcomes: list[str]) -> None:
    with serving(in_order(reply, Reply("fine"))) as server:
        if outcomes[-1] == "ok":
            assert desktop.ask(settings(server)).content == "fine"
        else:
            with pytest.raises(CallFailedError):
                desktop.ask(settings(server))
    assert [a.outcome for a in desktop.attempts] == outcomes
    assert len(server.requests) == len(outcomes), "the client's own retries are off"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply("cut in the middle", fault="truncated"), "dropped"),
        (Reply("no", finish="refusal"), "refused"),
        (Reply("half", finish="max_tokens"), "cut-off"),
        (Reply(""), "empty"),
        (Reply(status=529), "server-error"),
    ],
)
def test_anthropic_misbehaviour_is_told_apart(desktop: Any, reply: Reply, outcome: str) -> None:
    with serving(in_order(reply)) as server, pytest.raises(CallFailedError):
        desktop.ask(settings(server, "anthropic", attempts=1))
    assert [a.outcome for a in desktop.attempts] == [outcome]


@pytest.mark.parametrize("fault", ["invalid-json", "wrong-schema", "truncated", "dropped"])
def test_the_same_without_a_stream(desktop: Any, fault: Any) -> None:
    with serving(in_order(Reply("cut in the middle", fault=fault), Reply("fine"))) as server:
        assert desktop.ask(settings(server, stream=False)).content == "fine"
    assert [a.outcome in ("bad-response", "dropped") for a in desktop.attempts] == [True, False]


def test_a_hang_ends_at_the_time_limit(desktop: Any) -> None:
    with serving(in_order(Reply(fault="hang"))) as server:
        begun = time.perf_counter()
        with pytest.raises(CallFailedError):
            desktop.ask(settings(server, timeout_seconds=0.5, attempts=1))
        assert time.perf_counter() - begun < 25
    assert [a.outcome for a in desktop.attempts] == ["timeout"]


def test_nobody_there(desktop: Any) -> None:
    with serving(in_order(Reply("x"))) as server:
        gone = settings(server)
    with pytest.raises(CallFailedError):
        desktop.ask(gone)
    assert [a.outcome for a in desktop.attempts] == ["unreachable", "unreachable"]


def test_waits_double_and_retry_after_is_kept_to(desktop: Any) -> None:
    replies = in_order(
        Reply(status=500), Reply(status=500), Reply(status=429, headers={"Retry-After": "7"}), Reply("fine")
    )
    with serving(replies) as server:
        desktop.ask(settings(server, attempts=4))
    first, second, third = desktop.waits
    assert 1.0 <= first <= 1.25
    assert second == pytest.approx(2 * first)
    assert third == 7.0
    assert [a.wait_seconds for a in desktop.attempts] == [first, second, 7.0, None]
    assert desktop.attempts[2].retry_after_seconds == 7.0
    assert [a.status for a in desktop.attempts] == [500, 500, 429, None]


def test_a_wait_beyond_the_longest_is_not_waited_for(desktop: Any) -> None:
    with (
        serving(in_order(Reply(status=429, headers={"Retry-After": "9000"}))) as server,
        pytest.raises(CallFailedError),
    ):
        desktop.ask(settings(server, attempts=5))
    assert len(desktop.attempts) == 1
    assert desktop.waits == []


def test_retry_after_takes_seconds_and_dates() -> None:
    assert retry_after("3.5") == 3.5
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert retry_after("soon") is None
    assert retry_after(None) is None
    assert backoff(1, 1.0, "ffff", 500.0, 120.0) is None
    assert backoff(30, 1.0, "0000", None, 120.0) == 120.0


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("reply", [Reply("fine", usage=None), Reply("fine", fault="null-usage")])
def test_tokens_that_are_not_reported_are_unknown_and_never_zero(desktop: Any, reply: Reply, stream: bool) -> None:
    price = Price(input=1.0, output=1.0, dated="2026-01-31")
    with serving(in_order(reply)) as server:
        desktop.ask(settings(server, stream=stream, price=price))
    (attempt,) = desktop.attempts
    assert (attempt.tokens_in, attempt.tokens_out, attempt.cost) == (None, None, None)


def test_an_answer_is_paid_for_once(desktop: Any) -> None:
    with serving(in_order(Reply("first"), Reply("second"))) as server:
        chosen = settings(server)
        assert desktop.ask(chosen, "one").content == "first"
        assert desktop.ask(chosen, "one").content == "first", "a new ledger, as after a restart"
        assert desktop.ask(chosen, "another").content == "second", "a changed request is a new one"
        assert desktop.ask(chosen.model_copy(update={"temperature": 0.5}), "one").content == "second"
        assert len(server.requests) == 3
    reused = [r.event for r in desktop.log.stream() if isinstance(r.event, AnswerReused)]
    assert [event.source for event in reused] == ["r"]


def test_a_useless_answer_is_not_bought_again_either(desktop: Any) -> None:
    with serving(in_order(Reply(""))) as server:
        for _ in range(2):
            with pytest.raises(CallFailedError, match="empty"):
                desktop.ask(settings(server))
        assert len(server.requests) == 1


def test_the_key_and_the_address_are_no_part_of_a_request(desktop: Any) -> None:
    with serving(in_order(Reply("a"))) as one, serving(in_order(Reply("b"))) as other:
        assert desktop.ask(settings(one)).content == "a"
        assert desktop.ask(settings(other, api_key_env="OPENAI_API_KEY")).content == "a"
    assert len({e.request for e in _asked(desktop)}) == 1


def test_a_call_that_was_in_flight_when_the_process_died_is_asked_again_and_counted(desktop: Any) -> None:
    with serving(in_order(Reply("fine"))) as server:
        chosen = settings(server)
        desktop.ask(chosen, "x")
        (first,) = _asked(desktop)
        desktop.ledger().ask(_context(), **_content(first, desktop.log.blobs.put("{}")))
        desktop.ask(chosen, "y")
    view = load_answers(desktop.log, "r")
    assert [call.open for call in view.calls.values()] == [False, True, False]


def _asked(desktop: Any) -> list[ModelAsked]:
    return [r.event for r in desktop.log.stream() if isinstance(r.event, ModelAsked)]


def _content(event: ModelAsked, request: str) -> dict[str, Any]:
    return {k: v for k, v in event.content().items() if k not in ("run", "call")} | {"request": request}


def _context() -> Any:
    from kernelwright.events.base import Context

    return Context()
