"""Runs on the simulated target with a team of language models behind the local server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.acceptance.policy import Policy
from kernelwright.agents.panel import Panel
from kernelwright.agents.port import Specialist
from kernelwright.agents.settings import Limits, ModelSettings, RoleLimits, Roles, TeamSettings
from kernelwright.agents.team import Team
from kernelwright.events.base import Event
from kernelwright.events.log import EventLog
from kernelwright.events.views.answers import AnswersView, load_answers
from kernelwright.events.views.run import RunView
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench

from .simulated import Script, SimulatedTarget, toy_spec

KERNEL = "double"


def answer(source: str | None, title: str = "a change", mechanism: str = "", **more: Any) -> str:
    """The text of a proper answer of the engineer or the architect."""
    head = {"title": title, "rationale": "it may help", "mechanism": mechanism or title, **more}
    text = f"Here it is.\n\n```json\n{json.dumps(head)}\n```\n"
    return text if source is None else f"{text}\n```source\n{source}\n```\n"


def model(url: str, **more: Any) -> ModelSettings:
    """A model behind the local server, quick to give up."""
    settings: dict[str, Any] = {
        "provider": "openai-compatible",
        "model": "toy",
        "base_url": url,
        "max_tokens": 500,
        "timeout_seconds": 10.0,
        "attempts": 3,
        "backoff_seconds": 0.0,
    }
    return ModelSettings(**{**settings, **more})


def roles(**by_role: Mapping[str, Any]) -> Roles:
    """Roles with one model called ``toy`` for architect and engineer, no fallback, unless told otherwise."""
    own: dict[str, Any] = {"models": ("toy",), "fallback": "none", "menu_dropout": 0.0}
    return Roles.model_validate({"engineer": own, "architect": own, **{k: {**own, **v} for k, v in by_role.items()}})


@dataclass
class Played:
    """What came of a run."""

    view: RunView
    answers: AnswersView
    log: EventLog
    target: SimulatedTarget

    @property
    def events(self) -> list[Event]:
        """All events of the store."""
        return [recorded.event for recorded in self.log.stream()]

    def of(self, kind: type[Event]) -> list[Any]:
        """Events of one class."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def designs(self) -> dict[str, Any]:
        """The designs of the kernel."""
        return dict(self.view.trees[KERNEL].designs)


@dataclass
class Stage:
    """A store, and runs in it."""

    path: Path
    rounds: int = 3
    """How many rounds of proposals a run gets."""
    waits: list[float] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        """Stands in for waiting."""
        self.waits.append(seconds)
        await asyncio.sleep(0)

    def team(
        self,
        models: Mapping[str, ModelSettings],
        chosen: Roles,
        environment: Mapping[str, str] | None = None,
        playbook: Specialist | None = None,
        limits: Limits | None = None,
        role_limits: RoleLimits | None = None,
        replay: str | None = None,
    ) -> Team:
        """A team whose waits and notices are kept here."""
        settings = TeamSettings(models, chosen, limits or Limits(), role_limits or RoleLimits(), replay)
        return Team(settings, playbook or Script(()), environment or {}, self.notices.append, self.sleep)

    @contextmanager
    def played(
        self, team: Specialist | Panel, run: str = "r", *, again: bool = False, target: SimulatedTarget | None = None
    ) -> Iterator[Played]:
        """A run driven until it stops or has had its rounds; ``again`` takes it up where it stopped."""
        target = target or SimulatedTarget()
        log = EventLog.open(str(self.path), create=True)
        try:
            if not again:
                start_run(log, Plan(run, "simulated", (KERNEL,), Policy(), 0, 60.0, {}, "0"))
            with workbench(log, run, target, {KERNEL: toy_spec(KERNEL)}, team) as wb:
                if again:
                    resume(wb, 60.0, "search")
                drive(
                    wb,
                    lambda *_: None,
                    until=lambda view: (
                        view.finished("propose", KERNEL) >= self.rounds and not view.trees[KERNEL].unsettled
                    ),
                )
                yield Played(wb.view, load_answers(log, run), log, target)
        finally:
            log.close()
