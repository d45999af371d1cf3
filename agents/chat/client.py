"""A client for AutoGen's agents in which every attempt is an event, every retry is ours, and no answer is bought twice."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from autogen_core import CancellationToken
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelCapabilities,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from ...events.base import Context, canonical
from ..failures import ANSWERED, RETRIED, CallFailedError, CallOutcome, Failure, backoff, classify
from ..ledger import Ledger
from ..settings import ModelSettings, Role
from .judged import decode, encode, judge
from .observed import AnswerTooLargeError, Reported
from .providers import Connection

Sleep = Callable[[float], Awaitable[None]]
BYTES_PER_TOKEN = 3
"""A request is taken to have a token for each so many bytes, which is more than any common tokenizer gives. Nothing is
downloaded to count them."""


@dataclass(frozen=True)
class Asking:
    """On whose behalf a client asks, for its events."""

    role: Role
    kernel: str
    ask: int
    sample: int
    name: str
    """The model's name in the configuration."""
    prompt: str
    as_of: int
    schema: Mapping[str, Any] | None = None


class RecordedClient(ChatCompletionClient):
    """Sends a request at most as often as the settings say, and never one whose answer is known.

    ``connection`` is None when nothing may be sent: then only recorded answers are given.
    """

    def __init__(
        self,
        settings: ModelSettings,
        connection: Connection | None,
        asking: Asking,
        ledger: Ledger,
        context: Context,
        info: ModelInfo,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._settings, self._connection, self._asking = settings, connection, asking
        self._ledger, self._context, self._info, self._sleep = ledger, context, info, sleep
        self.requests: list[str] = []
        """Digests of the requests so far, reused ones included."""

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """The answer to ``messages``: recorded, or given now; raises CallFailedError."""
        body = canonical(self._request(messages, tools, tool_choice))
        request = self._ledger.put(body)
        self.requests.append(request)
        kept = self._ledger.lookup(request)
        if kept is not None:
            who = self._asking
            self._ledger.reuse(self._context, kept, request=request, role=who.role, kernel=who.kernel, model=who.name)
            if kept.outcome != CallOutcome.OK:
                raise CallFailedError(Failure(CallOutcome(kept.outcome), kept.reason))
            return decode(self._ledger.text(kept.answer))
        if self._connection is None:
            raise CallFailedError(Failure(CallOutcome.NOT_RECORDED, f"no answer to request {request[:12]} is recorded"))
        return await self._send(self._connection, request, len(body.encode()), messages, tools, tool_choice)

    def _request(
        self, messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema], tool_choice: object
    ) -> dict[str, Any]:
        """All that decides an answer, and nothing that does not: no time, no key, no address."""
        settings = self._settings
        return {
            "provider": settings.provider,
            "model": settings.model,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "schema": self._asking.schema,
            "tool_choice": tool_choice if isinstance(tool_choice, str) else "one",
            "tools": [tool.schema if isinstance(tool, Tool) else tool for tool in tools],
            "messages": [message.model_dump(mode="json") for message in messages],
        }

    async def _send(
        self,
        connection: Connection,
        request: str,
        size: int,
        messages: Sequence[LLMMessage],
        tools: Sequence[Tool | ToolSchema],
        tool_choice: Tool | Literal["auto", "required", "none"],
    ) -> CreateResult:
        settings, who = self._settings, self._asking
        tokens_in, tokens_out = -(-size // BYTES_PER_TOKEN), settings.max_tokens
        asked = self._ledger.ask(
            self._context,
            request=request,
            role=who.role,
            kernel=who.kernel,
            ask=who.ask,
            sample=who.sample,
            model=who.name,
            provider=settings.provider,
            prompt=who.prompt,
            as_of=who.as_of,
            tokens_reserved=tokens_in + tokens_out,
            cost_reserved=settings.price.cost(tokens_in, tokens_out) if settings.price else None,
        )
        for number in range(1, settings.attempts + 1):
            begun = time.perf_counter()
            result, failure = await self._attempt(connection, messages, tools, tool_choice)
            wait = None
            if failure is not None and failure.outcome in RETRIED and number < settings.attempts:
                wait = backoff(
                    number,
                    settings.backoff_seconds,
                    request,
                    failure.retry_after_seconds,
                    settings.longest_wait_seconds,
                )
            self._record(asked.call, request, number, result, failure, time.perf_counter() - begun, wait)
            if failure is None and result is not None:
                return decode(self._ledger.redacted(encode(result)))
            if wait is None:
                break
            await self._sleep(wait)
        assert failure is not None
        raise CallFailedError(Failure(failure.outcome, self._ledger.redacted(failure.reason), failure.status)) from None

    async def _attempt(
        self,
        connection: Connection,
        messages: Sequence[LLMMessage],
        tools: Sequence[Tool | ToolSchema],
        tool_choice: Tool | Literal["auto", "required", "none"],
    ) -> tuple[CreateResult | None, Failure | None]:
        connection.reported.clear()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what the library warns of is judged below, and recorded
                async with asyncio.timeout(self._settings.timeout_seconds):
                    result = await self._call(connection, messages, tools, tool_choice)
        except AnswerTooLargeError as error:
            return None, Failure(CallOutcome.TOO_LARGE, str(error))
        except connection.raised as error:
            return None, classify(error)
        return result, judge(result, connection.reported, streamed=self._settings.stream)

    async def _call(
        self,
        connection: Connection,
        messages: Sequence[LLMMessage],
        tools: Sequence[Tool | ToolSchema],
        tool_choice: Tool | Literal["auto", "required", "none"],
    ) -> CreateResult:
        arguments: dict[str, Any] = {"tools": tools, "tool_choice": tool_choice}
        if self._asking.schema is not None:
            schema = {"name": self._asking.role, "schema": self._asking.schema, "strict": False}
            arguments["extra_create_args"] = {"response_format": {"type": "json_schema", "json_schema": schema}}
        if not self._settings.stream:
            return await connection.client.create(messages, **arguments)
        last: CreateResult | str | None = None
        async for piece in connection.client.create_stream(messages, **arguments, **connection.stream_arguments):
            last = piece
        if not isinstance(last, CreateResult):
            raise ValueError("the stream ended without a result")
        return last

    def _record(
        self,
        call: str,
        request: str,
        number: int,
        result: CreateResult | None,
        failure: Failure | None,
        seconds: float,
        wait_seconds: float | None,
    ) -> None:
        assert self._connection is not None
        reported: Reported = self._connection.reported
        outcome = CallOutcome.OK if failure is None else failure.outcome
        price = self._settings.price
        known = reported.tokens_in is not None and reported.tokens_out is not None
        answer = None
        if outcome in ANSWERED:
            answer = self._ledger.put(encode(result) if result is not None else "{}")
        self._ledger.answered(
            self._context,
            call=call,
            request=request,
            number=number,
            outcome=outcome,
            reason=failure.reason if failure else "",
            answer=answer,
            finish_reason=reported.finish_reason,
            tokens_in=reported.tokens_in,
            tokens_out=reported.tokens_out,
            cost=price.cost(reported.tokens_in or 0, reported.tokens_out or 0) if price and known else None,
            currency=price.currency if price else None,
            price_dated=price.dated if price else None,
            seconds=seconds,
            status=failure.status if failure else None,
            retry_after_seconds=failure.retry_after_seconds if failure else None,
            wait_seconds=wait_seconds,
        )

    async def create_stream(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = [],
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> AsyncGenerator[str | CreateResult, None]:
        """The answer as a whole: whether it is streamed to us is a setting of the model, not of the agent."""
        yield await self.create(messages, tools=tools, tool_choice=tool_choice)

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.client.close()

    def actual_usage(self) -> RequestUsage:
        """Not kept here: the ledger counts, and knows what is unknown."""
        return RequestUsage(0, 0)

    def total_usage(self) -> RequestUsage:
        """Not kept here: the ledger counts, and knows what is unknown."""
        return RequestUsage(0, 0)

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """An upper bound from the size in bytes; the libraries would download a tokenizer here."""
        return -(-len(canonical(self._request(messages, tools, "auto")).encode()) // BYTES_PER_TOKEN)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = []) -> int:
        """Tokens that an answer may have; windows of models are not known here."""
        return self._settings.max_tokens

    @property
    def capabilities(self) -> ModelCapabilities:
        """The older name of :attr:`model_info` in the library's protocol."""
        return self._info

    @property
    def model_info(self) -> ModelInfo:
        """What the model can do."""
        return self._info
