"""A run's ledger without the loop: what a single call records."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from autogen_core.models import CreateResult, SystemMessage, UserMessage
from kernelwright.acceptance.policy import Policy
from kernelwright.agents.chat.client import Asking, RecordedClient
from kernelwright.agents.chat.providers import connect, model_info
from kernelwright.agents.ledger import Ledger, keys
from kernelwright.agents.settings import ModelSettings
from kernelwright.events.answers import ModelAnswered
from kernelwright.events.base import Context
from kernelwright.events.log import EventLog
from kernelwright.events.views.load import load_run
from kernelwright.graph.runner import Plan, start_run

CANARY = "sk-canary-0123456789abcdef"


@dataclass
class Desktop:
    """One store with one run in it, and calls made on its behalf."""

    path: Path
    log: EventLog
    waits: list[float] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def ledger(self, secrets: Sequence[str] = ()) -> Ledger:
        """A ledger as a new process would open it."""
        return Ledger(self.log, load_run(self.log, "r"), tuple(secrets), notify=self.notices.append)

    def ask(
        self,
        settings: ModelSettings,
        text: str = "a question",
        ledger: Ledger | None = None,
        environment: dict[str, str] | None = None,
        **asking: Any,
    ) -> CreateResult:
        """One question to a model; raises CallFailedError."""
        environment = {"OPENAI_API_KEY": CANARY, "ANTHROPIC_API_KEY": CANARY} if environment is None else environment
        ledger = ledger or self.ledger(keys({"m": settings}, environment))
        who = Asking(
            **{
                "role": "engineer",
                "kernel": "k",
                "ask": 0,
                "sample": 0,
                "name": "m",
                "prompt": "p" * 64,
                "as_of": 1,
                **asking,
            }
        )

        async def sleep(seconds: float) -> None:
            self.waits.append(seconds)

        async def call() -> CreateResult:
            client = RecordedClient(
                settings, connect(settings, environment), who, ledger, Context(), model_info(settings), sleep
            )
            try:
                return await client.create(
                    [SystemMessage(content="be brief"), UserMessage(content=text, source="user")]
                )
            finally:
                await client.close()

        return asyncio.run(call())

    @property
    def attempts(self) -> list[ModelAnswered]:
        """Every attempt in the store."""
        return [r.event for r in self.log.stream() if isinstance(r.event, ModelAnswered)]


@contextmanager
def opened(path: Path) -> Iterator[Desktop]:
    log = EventLog.open(str(path), create=True)
    try:
        start_run(log, Plan("r", "simulated", ("k",), Policy(), 0, 60.0, {}, "0"))
        yield Desktop(path, log)
    finally:
        log.close()


@pytest.fixture
def desktop(tmp_path: Path) -> Iterator[Desktop]:
    with opened(tmp_path / "log.sqlite") as desk:
        yield desk
