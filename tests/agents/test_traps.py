"""Traps of the agent library: each is shown to be there, and that this package does not step into it."""

from __future__ import annotations

import asyncio
import json
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import AssistantMessage, ModelFamily, ModelInfo, UserMessage
from autogen_core.tools import FunctionTool
from autogen_ext.models.anthropic import AnthropicChatCompletionClient
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.models.replay import ReplayChatCompletionClient
from kernelwright.agents.settings import ModelSettings
from pydantic import BaseModel, ValidationError
from support.model_server import Reply, in_order, serving
from support.models import Stage, answer, model, roles
from support.simulated import source

TOP = Path(__file__).resolve().parents[2]
INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family=ModelFamily.UNKNOWN, structured_output=True
)
SECRET = "sk-trap-0123456789"


class Colour(BaseModel):
    name: str


def own_code() -> str:
    """All source text of the specialists."""
    return "\n".join(path.read_text() for path in (TOP / "agents").rglob("*.py"))


def test_a_dumped_client_holds_a_mask_and_a_loaded_one_sends_it() -> None:
    dumped = OpenAIChatCompletionClient(model="gpt-4o", api_key=SECRET, model_info=INFO).dump_component()
    stored = dumped.model_dump_json()
    assert SECRET not in stored
    loaded = OpenAIChatCompletionClient.load_component(json.loads(stored))
    assert loaded._client.api_key == "**********"  # it would fail with a puzzling 401
    assert "dump_component" not in own_code()


def test_a_loaded_function_tool_is_executed(tmp_path: Path) -> None:
    witness = tmp_path / "witness"

    def harmless(words: str) -> str:
        return words

    dumped = FunctionTool(harmless, description="d", name="harmless").dump_component()
    dumped.config["source_code"] = (
        f"open({str(witness)!r}, 'w').close()\n" + "def harmless(words: str) -> str:\n    return words\n"
    )
    with pytest.warns(UserWarning, match="."):
        FunctionTool.load_component(dumped)
    assert witness.exists()
    assert "load_component" not in own_code()


def test_the_anthropic_client_is_held_below_the_version_that_fails() -> None:
    extra = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["optional-dependencies"]["models"]
    assert any(requirement.startswith("anthropic") and "<1" in requirement for requirement in extra)
    assert int(version("anthropic").split(".")[0]) < 1


def test_structured_output_is_refused_for_anthropic_before_any_call() -> None:
    client = AnthropicChatCompletionClient(model="claude-x", api_key=SECRET, model_info=INFO)
    with pytest.raises(ValueError, match="Structured output is currently not supported"):
        asyncio.run(client.create([UserMessage(content="x", source="user")], json_output=Colour))
    with pytest.raises(ValidationError, match="structured answers do not work with anthropic"):
        ModelSettings(provider="anthropic", model="claude-x", structured=True)


def test_a_schema_is_sent_where_the_provider_takes_one(desktop: Any) -> None:
    with serving(in_order(Reply('{"nothing": "x"}'))) as server:
        desktop.ask(model(server.openai, structured=True), schema={"type": "object"})
        sent = server.requests[0].body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"] == {"type": "object"}


def test_tokens_of_unknown_models_are_counted_without_a_download(desktop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken
    from kernelwright.agents.chat.client import Asking, RecordedClient
    from kernelwright.events.base import Context

    wanted = []

    def download(name: str) -> None:
        wanted.append(name)
        raise OSError("no network")

    monkeypatch.setattr(tiktoken, "get_encoding", download)
    messages = [UserMessage(content="x" * 300, source="user")]
    theirs = OpenAIChatCompletionClient(model="nobody-knows", api_key=SECRET, model_info=INFO)
    with pytest.raises(OSError, match="no network"):
        theirs.count_tokens(messages)
    assert wanted
    who = Asking("engineer", "k", 0, 0, "m", "", 0)
    ours = RecordedClient(model("http://127.0.0.1:1"), None, who, desktop.ledger(), Context(), INFO)
    assert ours.count_tokens(messages) >= 100
    assert len(wanted) == 1


def test_agents_keep_what_they_were_told_and_ours_are_new_each_time(tmp_path: Path) -> None:
    client = ReplayChatCompletionClient(["one", "two"], model_info=INFO)
    agent = AssistantAgent("a", client)

    async def twice() -> list[Any]:
        await agent.run(task="first question")
        await agent.run(task="second question")
        return await agent.model_context.get_messages()

    assert [m.content for m in asyncio.run(twice())] == ["first question", "one", "second question", "two"]
    stage = Stage(tmp_path / "log.sqlite", rounds=2)
    replies = in_order(Reply(answer(source(21e-3), "one idea")), Reply(answer(source(22e-3), "two ideas")))
    with serving(replies) as server, stage.played(stage.team({"toy": model(server.openai)}, roles())):
        assert [len(request.messages) for request in server.requests] == [2, 2]
        assert "(question 0," not in server.requests[1].user


def test_a_failed_structured_answer_stays_in_the_agents_context() -> None:
    client = ReplayChatCompletionClient(["not json", '{"name": "red"}'], model_info=INFO)
    agent = AssistantAgent("a", client, output_content_type=Colour)

    async def fail() -> list[Any]:
        with pytest.raises(ValidationError):
            await agent.run(task="a colour")
        return await agent.model_context.get_messages()

    left = asyncio.run(fail())
    assert any(isinstance(m, AssistantMessage) and m.content == "not json" for m in left)
    assert "output_content_type" not in own_code()


def test_the_librarys_replay_goes_by_position_and_ours_by_request(desktop: Any) -> None:
    client = ReplayChatCompletionClient(["answer to one", "answer to two"], model_info=INFO)
    theirs = asyncio.run(client.create([UserMessage(content="two", source="user")]))
    assert theirs.content == "answer to one"
    with serving(in_order(Reply("answer to one"), Reply("answer to two"))) as server:
        toy = model(server.openai)
        desktop.ask(toy, "one")
        desktop.ask(toy, "two")
        assert desktop.ask(toy, "two").content == "answer to two"
        assert desktop.ask(toy, "one").content == "answer to one"
        assert len(server.requests) == 2


def test_the_agent_library_is_not_imported_until_a_model_is_asked() -> None:
    import subprocess
    import sys

    code = "import sys, kernelwright.cli.main, kernelwright.agents.staff; sys.exit(any('autogen' in m for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
