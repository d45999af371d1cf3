"""Asking a role: the prompt, an answer, and the answer sent back with the reason while it cannot be used."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...events.answers import RoleAnswered, ToolCalled
from ..answer import UnusableError, read_answer, schema_of
from ..desk import Desk
from ..draft import DuplicateError, Given
from ..failures import ANSWERED, CallFailedError, CallOutcome
from ..ledger import Ledger
from ..port import Frozen
from ..prompts import load_prompt
from ..quote import quoted
from ..render import render
from ..roles import AnyTask, NothingToPropose
from ..settings import ModelSettings, Role, RoleSettings
from .agent import answer_once
from .client import Asking, RecordedClient, Sleep
from .providers import ModelUnavailableError, connect, model_info
from .tools import tools_of

Accept = Callable[[Frozen], None]
"""Looks at a typed answer; raises UnusableError with what is wrong with it, for the one who gave it."""
SENT_BACK_BYTES = 4 << 10
"""Of an unusable answer that is sent back with the reason, no more than this is quoted."""


@dataclass(frozen=True)
class Asker:
    """How models are asked in a run. ``online`` is False where only recorded answers are given."""

    models: Mapping[str, ModelSettings]
    ledger: Ledger
    online: bool
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    sleep: Sleep = asyncio.sleep


async def ask_role(
    asker: Asker,
    desk: Desk,
    role: Role,
    task: AnyTask,
    model: str,
    settings: RoleSettings,
    temperature: float | None = None,
    accept: Accept = lambda _answer: None,
) -> Given:
    """Ask ``model`` in ``role``; every attempt, tool call and judgement of an answer is recorded as it happens."""
    kernel: str = getattr(task, "kernel", "")
    chosen = asker.models[model]
    if temperature is not None:
        chosen = chosen.model_copy(update={"temperature": temperature})
    prompt = load_prompt(role)
    try:
        connection = connect(chosen, asker.environment) if asker.online else None
    except ModelUnavailableError as error:
        return _unavailable(asker, desk, role, task, model, str(error))
    asking = Asking(
        role,
        kernel,
        task.ask,
        task.sample,
        model,
        prompt.digest,
        task.as_of,
        schema_of(role) if chosen.structured else None,
    )
    client = RecordedClient(chosen, connection, asking, asker.ledger, desk.context, model_info(chosen), asker.sleep)
    try:
        return await _until_usable(asker, desk, task, client, asking, settings, tools=chosen.tools, accept=accept)
    finally:
        await client.close()


async def _until_usable(
    asker: Asker,
    desk: Desk,
    task: AnyTask,
    client: RecordedClient,
    asking: Asking,
    settings: RoleSettings,
    *,
    tools: bool,
    accept: Accept,
) -> Given:
    ledger, role = asker.ledger, asking.role
    told = render(task)
    message = told
    instructions = load_prompt(role).text
    begun = time.perf_counter()
    given = Given(None, "unusable", "", asking.name, (), 0.0)
    asked: list[str] = []

    def seen(name: str, arguments: str, result: str, failed: bool, seconds: float) -> None:
        ledger.note(
            desk.context,
            ToolCalled,
            role=role,
            kernel=asking.kernel,
            model=asking.name,
            tool=ledger.redacted(name)[:200],
            arguments=ledger.put(arguments),
            result=ledger.put(result),
            outcome="error" if failed else "ok",
            seconds=seconds,
        )

    for repair in range(settings.repairs + 1):
        client.requests.clear()
        answer, text, outcome, reason = None, "", "ok", ""
        try:
            offered = tools_of(role, desk, asking.kernel, settings.builds) if tools else []
            text = await answer_once(role, client, instructions, message, offered, settings.tool_rounds, seen)
            answer = read_answer(role, desk.target.name, text)
            if not isinstance(answer, NothingToPropose):
                accept(answer)
        except UnusableError as error:
            answer, reason = None, str(error)
            outcome = "duplicate" if isinstance(error, DuplicateError) else "unusable"
        except CallFailedError as error:
            answer, reason = None, f"{error.failure.outcome}: {error.failure.reason}"
            outcome = "unusable" if error.failure.outcome in ANSWERED else error.failure.outcome
        seconds = time.perf_counter() - begun
        asked.extend(client.requests)
        _record(asker, desk, asking, repair, answer, outcome, reason, tuple(client.requests), seconds)
        given = Given(answer, outcome, reason, asking.name, tuple(asked), seconds)
        if outcome not in ("unusable", "duplicate"):
            break
        message = f"{told}\n{_sent_back(reason, text)}"
    return given


def _sent_back(reason: str, text: str) -> str:
    """What is added to the question when an answer could not be used. A huge answer is not paid for again as a question."""
    parts = ["## Your answer before could not be used", quoted("reason", reason)]
    if text:
        parts.append(quoted("the answer", text, SENT_BACK_BYTES))
    parts.append("Answer the task again, in the form that is asked for.")
    return "\n\n".join(parts)


def _record(
    asker: Asker,
    desk: Desk,
    asking: Asking,
    repair: int,
    answer: Frozen | None,
    outcome: str,
    reason: str,
    requests: tuple[str, ...],
    seconds: float,
) -> None:
    asker.ledger.note(
        desk.context,
        RoleAnswered,
        role=asking.role,
        kernel=asking.kernel,
        ask=asking.ask,
        sample=asking.sample,
        repair=repair,
        model=asking.name,
        outcome="nothing" if isinstance(answer, NothingToPropose) else outcome,
        reason=reason[:2000],
        answer=None if answer is None else asker.ledger.put(answer.model_dump_json()),
        requests=requests,
        prompt=asking.prompt,
        seconds=seconds,
    )


def _unavailable(asker: Asker, desk: Desk, role: Role, task: AnyTask, model: str, reason: str) -> Given:
    asking = Asking(
        role, getattr(task, "kernel", ""), task.ask, task.sample, model, load_prompt(role).digest, task.as_of
    )
    outcome = CallOutcome.UNAVAILABLE
    _record(asker, desk, asking, 0, None, outcome, reason, (), 0.0)
    return Given(None, outcome, reason, model, (), 0.0)
