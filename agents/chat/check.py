"""Whether each configured model answers: one tiny call, outside any run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Any

from autogen_core.models import CreateResult, UserMessage

from ..failures import CallOutcome, Failure, classify
from ..ledger import keys
from ..settings import ModelSettings
from .judged import judge
from .observed import AnswerTooLargeError
from .providers import Connection, ModelUnavailableError, connect

TINY = 16
"""Tokens that the answer of a check may have."""


def check_models(
    models: Mapping[str, ModelSettings], environment: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """For each model: ``{name, provider, model, outcome, reason, seconds, tokens_in, tokens_out}``, keys blacked out."""
    chosen = os.environ if environment is None else environment
    secrets = keys(models, chosen)

    async def all_of_them() -> list[dict[str, Any]]:
        return [await _check(name, settings, chosen, secrets) for name, settings in models.items()]

    return asyncio.run(all_of_them())


async def _check(
    name: str, settings: ModelSettings, environment: Mapping[str, str], secrets: tuple[str, ...]
) -> dict[str, Any]:
    tiny = settings.model_copy(update={"max_tokens": TINY, "tools": False})
    begun = time.perf_counter()
    tokens: tuple[int | None, int | None] = (None, None)
    try:
        connection = connect(tiny, environment)
    except ModelUnavailableError as error:
        failure: Failure | None = Failure(CallOutcome.UNAVAILABLE, str(error))
    else:
        try:
            failure = await _call(tiny, connection)
        finally:
            await connection.client.close()
        tokens = connection.reported.tokens_in, connection.reported.tokens_out
    reason = failure.reason if failure else ""
    for secret in secrets:
        reason = reason.replace(secret, "[key]")
    return {
        "name": name,
        "provider": settings.provider,
        "model": settings.model,
        "outcome": str(failure.outcome) if failure else "ok",
        "reason": reason,
        "seconds": time.perf_counter() - begun,
        "tokens_in": tokens[0],
        "tokens_out": tokens[1],
    }


async def _call(settings: ModelSettings, connection: Connection) -> Failure | None:
    messages = [UserMessage(content="Answer with the word ready.", source="user")]
    try:
        async with asyncio.timeout(settings.timeout_seconds):
            if not settings.stream:
                result: CreateResult | str = await connection.client.create(messages)
            else:
                result = ""
                async for piece in connection.client.create_stream(messages, **connection.stream_arguments):
                    result = piece
    except AnswerTooLargeError as error:
        return Failure(CallOutcome.TOO_LARGE, str(error))
    except connection.raised as error:
        return classify(error)
    if not isinstance(result, CreateResult):
        return Failure(CallOutcome.DROPPED, "the stream ended without a result")
    failure = judge(result, connection.reported, streamed=settings.stream)
    # A tiny answer may well be cut off, or hold nothing yet but thoughts: the model is there.
    return None if failure is not None and failure.outcome in (CallOutcome.CUT_OFF, CallOutcome.EMPTY) else failure
