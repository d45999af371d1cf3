"""What an answer that came without an error is worth as an answer, and its form in the log."""

from __future__ import annotations

import json

from autogen_core import FunctionCall
from autogen_core.models import CreateResult, RequestUsage

from ...events.base import canonical
from ..failures import CallOutcome, Failure
from .observed import Reported

CUT = frozenset({"length", "max_tokens"})
"""Reasons to stop, in the providers' words: the answer reached its limit."""
DECLINED = frozenset({"content_filter", "refusal"})


def judge(result: CreateResult, reported: Reported, *, streamed: bool) -> Failure | None:
    """What is wrong with an answer that came without an error, if anything is."""
    reason = reported.finish_reason
    if reported.refusal or reason in DECLINED:
        return Failure(CallOutcome.REFUSED, reported.refusal or f"the provider stopped it ({reason})")
    if streamed and reason is None:
        return Failure(CallOutcome.DROPPED, "the stream ended before the answer did")
    if reason in CUT:
        return Failure(CallOutcome.CUT_OFF, f"the answer reached its limit of tokens ({reason})")
    if not result.content or (isinstance(result.content, str) and not result.content.strip()):
        return Failure(CallOutcome.EMPTY, "the answer holds no text and no tool call")
    return None


def encode(result: CreateResult) -> str:
    """An answer as canonical JSON, for its blob."""
    content: object = result.content
    if not isinstance(result.content, str):
        content = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in result.content]
    return canonical({"content": content, "thought": result.thought, "finish_reason": result.finish_reason})


def decode(text: str) -> CreateResult:
    """The answer in a blob."""
    value = json.loads(text)
    content: str | list[FunctionCall]
    content = value["content"] if isinstance(value["content"], str) else [FunctionCall(**c) for c in value["content"]]
    return CreateResult(
        finish_reason=value["finish_reason"],
        content=content,
        usage=RequestUsage(0, 0),
        cached=True,
        thought=value["thought"],
    )
