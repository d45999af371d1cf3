"""What a provider reported of a call, read from its own objects on their way through the agent library.

The library's results hold zero where a provider reported nothing, and ``unknown`` for reasons to stop that it has no word
for. These stand-ins for the providers' clients pass everything on and note what was really said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from typing import Any


class AnswerTooLargeError(Exception):
    """More text came than an answer may have; the rest was not read."""


@dataclass
class Reported:
    """What was said of the latest call. Counts are None where they were not given."""

    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    refusal: str | None = None
    model: str | None = None
    size: int = 0
    """Characters of text and of tool arguments so far."""

    def clear(self) -> None:
        """Forget the call before."""
        for each in fields(self):
            setattr(self, each.name, each.default)

    def grow(self, text: object, limit: int) -> None:
        """Count text that came; raises AnswerTooLargeError beyond ``limit`` characters."""
        if isinstance(text, str):
            self.size += len(text)
            if self.size > limit:
                raise AnswerTooLargeError(f"more than {limit} characters")

    def count(self, tokens_in: object, tokens_out: object) -> None:
        """Note token counts; what is no positive whole number was not reported (a request is never empty)."""
        if isinstance(tokens_in, int) and tokens_in > 0:
            self.tokens_in = tokens_in
        if isinstance(tokens_out, int) and tokens_out >= 0 and self.tokens_in is not None:
            self.tokens_out = tokens_out


class Passing:
    """Passes every attribute of ``inner`` on but those that a subclass has."""

    def __init__(self, inner: Any, reported: Reported, limit: int) -> None:
        self._inner, self._reported, self._limit = inner, reported, limit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class OpenAICompletions(Passing):
    """``client.chat.completions``."""

    async def create(self, **arguments: Any) -> Any:
        """Ask; note what comes back."""
        answer = await self._inner.create(**arguments)
        if arguments.get("stream"):
            return self._follow(answer)
        if isinstance(answer, str):
            raise TypeError("the answer is no JSON object")
        self._note(answer)
        for choice in answer.choices:
            self._reported.finish_reason = choice.finish_reason
            self._reported.refusal = getattr(choice.message, "refusal", None)
            self._reported.grow(choice.message.content, self._limit)
        return answer

    async def _follow(self, stream: Any) -> AsyncIterator[Any]:
        async for chunk in stream:
            self._note(chunk)
            for choice in chunk.choices:
                self._reported.finish_reason = choice.finish_reason or self._reported.finish_reason
                self._reported.refusal = getattr(choice.delta, "refusal", None) or self._reported.refusal
                self._reported.grow(choice.delta.content, self._limit)
                for call in choice.delta.tool_calls or ():
                    self._reported.grow(getattr(call.function, "arguments", None), self._limit)
            yield chunk

    def _note(self, answer: Any) -> None:
        self._reported.model = answer.model
        usage = answer.usage
        if usage is not None:
            self._reported.count(getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None))
            if not isinstance(usage.prompt_tokens, int) or not isinstance(usage.completion_tokens, int):
                answer.usage = None  # the library adds the counts up, and would fail on null


class OpenAIChat(Passing):
    """``client.chat``."""

    @property
    def completions(self) -> OpenAICompletions:
        """The completions, observed."""
        return OpenAICompletions(self._inner.completions, self._reported, self._limit)


class OpenAI(Passing):
    """A client of the OpenAI protocol."""

    @property
    def chat(self) -> OpenAIChat:
        """The chat, observed."""
        return OpenAIChat(self._inner.chat, self._reported, self._limit)


class AnthropicMessages(Passing):
    """``client.messages``."""

    async def create(self, **arguments: Any) -> Any:
        """Ask; note what comes back."""
        answer = await self._inner.create(**arguments)
        if arguments.get("stream"):
            return self._follow(answer)
        if isinstance(answer, str):
            raise TypeError("the answer is no JSON object")
        self._reported.finish_reason, self._reported.model = answer.stop_reason, answer.model
        self._reported.count(getattr(answer.usage, "input_tokens", None), getattr(answer.usage, "output_tokens", None))
        for block in answer.content:
            self._reported.grow(getattr(block, "text", None), self._limit)
        return answer

    async def _follow(self, stream: Any) -> AsyncIterator[Any]:
        async for event in stream:
            match event.type:
                case "message_start":
                    self._reported.model = event.message.model
                    self._reported.count(event.message.usage.input_tokens, None)
                case "content_block_delta":
                    self._reported.grow(getattr(event.delta, "text", None), self._limit)
                    self._reported.grow(getattr(event.delta, "partial_json", None), self._limit)
                case "message_delta":
                    self._reported.finish_reason = event.delta.stop_reason or self._reported.finish_reason
                    self._reported.count(None, getattr(event.usage, "output_tokens", None))
                case _:
                    pass
            yield event


class Anthropic(Passing):
    """A client of the Anthropic protocol."""

    @property
    def messages(self) -> AnthropicMessages:
        """The messages, observed."""
        return AnthropicMessages(self._inner.messages, self._reported, self._limit)


class Ollama(Passing):
    """A client of Ollama."""

    async def chat(self, **arguments: Any) -> Any:
        """Ask; note what comes back."""
        answer = await self._inner.chat(**arguments)
        if arguments.get("stream"):
            return self._follow(answer)
        self._note(answer)
        return answer

    async def _follow(self, stream: Any) -> AsyncIterator[Any]:
        async for chunk in stream:
            self._note(chunk)
            yield chunk

    def _note(self, answer: Any) -> None:
        self._reported.model = answer.model
        self._reported.grow(answer.message.content, self._limit)
        if answer.done:
            self._reported.finish_reason = answer.done_reason or "stop"
            self._reported.count(answer.prompt_eval_count, answer.eval_count)

    async def close(self) -> None:
        """Nothing: the library has no way to close this client; its connections end with the loop."""
