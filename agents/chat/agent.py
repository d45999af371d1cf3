"""One answer from one fresh agent: AutoGen's AssistantAgent, its tools, and the text that it ends with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import TextMessage, ToolCallExecutionEvent, ToolCallRequestEvent
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import FunctionTool

from ..answer import UnusableError
from ..settings import Role

ToolSeen = Callable[[str, str, str, bool, float], None]
"""Told of each call of a tool: its name, arguments, result, whether it failed, seconds."""


async def answer_once(
    role: Role,
    client: ChatCompletionClient,
    instructions: str,
    message: str,
    tools: Sequence[FunctionTool],
    tool_rounds: int,
    seen: ToolSeen,
) -> str:
    """The text that a new agent answers ``message`` with, after at most ``tool_rounds`` rounds of tool calls.

    The agent is made here and dropped here: agents keep what they were told. Raises CallFailedError, and UnusableError
    when it ends without a text.
    """
    agent = AssistantAgent(
        name=role,
        model_client=client,
        system_message=instructions,
        tools=list(tools) or None,
        # After the last round it is asked once more, without tools, so that it can answer.
        reflect_on_tool_use=bool(tools),
        max_tool_iterations=tool_rounds if tools else 1,
        model_client_stream=False,
    )
    arguments: dict[str, str] = {}
    begun = time.perf_counter()
    result: TaskResult | None = None
    try:
        async for item in agent.run_stream(task=message):
            if isinstance(item, ToolCallRequestEvent):
                arguments.update({call.id: call.arguments for call in item.content})
                begun = time.perf_counter()
            elif isinstance(item, ToolCallExecutionEvent):
                seconds = time.perf_counter() - begun
                for each in item.content:
                    seen(each.name, arguments.get(each.call_id, ""), each.content, bool(each.is_error), seconds)
            elif isinstance(item, TaskResult):
                result = item
    except RuntimeError as error:  # the library's word for "tools were called where a text was due"
        raise UnusableError(f"no text came after the calls of tools: {error}") from error
    last = result.messages[-1] if result is not None else None
    if not isinstance(last, TextMessage):
        raise UnusableError("the answer calls tools that are not there instead of answering")
    return last.content
