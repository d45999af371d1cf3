"""Settings of language models, roles and their budgets, as they stand in a configuration file.

Keys never stand here: a model names the environment variable that holds its key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

Role = Literal["librarian", "prober", "architect", "engineer", "reviewer", "analyst"]
ROLES: tuple[Role, ...] = get_args(Role)
Provider = Literal["openai", "openai-compatible", "azure", "anthropic", "ollama"]
STRUCTURED: frozenset[str] = frozenset({"openai", "openai-compatible", "azure"})
"""Providers whose client takes a JSON schema for the answer."""
KEYED: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}
"""The environment variable that holds the key of each provider that needs one, unless a model names another."""

Positive = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Names = Annotated[tuple[str, ...], Field(strict=False)]


class Section(BaseModel):
    """Base of the sections: unknown keys and wrong types are refused."""

    # Validators are built when a section is first used: commands that need no models start faster.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Price(Section):
    """What a million tokens cost, and when that was looked up."""

    input: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    dated: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]

    @model_validator(mode="after")
    def _real_date(self) -> Price:
        date.fromisoformat(self.dated)
        return self

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Money for that many tokens, in :attr:`currency`."""
        return (self.input * tokens_in + self.output * tokens_out) / 1e6


class ModelSettings(Section):
    """A model that can be asked: where it is, how it is spoken to, what it costs."""

    provider: Provider
    model: Annotated[str, Field(min_length=1)]
    base_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    api_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    api_version: str | None = None
    deployment: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Positive = 8192
    """Tokens of one answer at most; what a call in flight is counted with."""
    stream: bool = True
    tools: bool = True
    structured: bool = False
    """Whether the answer is asked for by JSON schema instead of a fenced block."""
    timeout_seconds: Amount = 300.0
    attempts: Annotated[int, Field(ge=1, le=20)] = 4
    """How often one request is sent at most, the first time included."""
    backoff_seconds: Annotated[float, Field(ge=0)] = 1.0
    """Wait before the second attempt; it doubles from there."""
    longest_wait_seconds: Amount = 120.0
    answer_bytes: Annotated[int, Field(ge=1000)] = 1 << 20
    """An answer longer than this is cut off and not used."""
    price: Price | None = None

    @model_validator(mode="after")
    def _complete(self) -> ModelSettings:
        if self.provider == "openai-compatible" and self.base_url is None:
            raise ValueError("an openai-compatible model needs base_url")
        if self.provider == "azure" and None in (self.base_url, self.api_version, self.deployment):
            raise ValueError("an azure model needs base_url, api_version and deployment")
        if self.structured and self.provider not in STRUCTURED:
            raise ValueError(f"structured answers do not work with {self.provider}; leave structured out")
        if self.base_url is not None and re.search(r"//[^/]*@", self.base_url):
            raise ValueError("base_url holds credentials; put the key into an environment variable and name it")
        return self

    @property
    def key_variable(self) -> str | None:
        """The environment variable that holds the key, if this model needs one."""
        return self.api_key_env or KEYED.get(self.provider)


class RoleSettings(Section):
    """Who answers in a role, and its limits."""

    models: Names = ()
    """Names of models; among several the one is chosen that has gained most for its tokens."""
    samples: Annotated[int, Field(ge=1, le=16)] = 1
    """Proposals asked for in one round."""
    temperatures: Annotated[tuple[float, ...], Field(strict=False)] = ()
    """Temperature of each sample of a round, repeated when there are fewer; empty: the model's own."""
    repairs: Annotated[int, Field(ge=0, le=10)] = 2
    """How often an unusable answer is sent back with the reason."""
    tool_rounds: Annotated[int, Field(ge=1, le=20)] = 4
    builds: Annotated[int, Field(ge=0, le=20)] = 2
    """Builds that an answer may try before it is given."""
    menu_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.3
    """Share of the menu that is left out of each prompt, at random."""
    fallback: Literal["playbook", "none"] = "playbook"
    every: Positive = 4
    """Settled designs between two looks of the analyst; other roles do not use it."""


class Roles(Section):
    """The six roles; one without models is left to the playbook, or unfilled."""

    librarian: RoleSettings = Field(default_factory=RoleSettings)
    prober: RoleSettings = Field(default_factory=RoleSettings)
    architect: RoleSettings = Field(default_factory=RoleSettings)
    engineer: RoleSettings = Field(default_factory=RoleSettings)
    reviewer: RoleSettings = Field(default_factory=RoleSettings)
    analyst: RoleSettings = Field(default_factory=RoleSettings)

    def of(self, role: Role) -> RoleSettings:
        """The settings of a role."""
        found: RoleSettings = getattr(self, role)
        return found


class Limits(Section):
    """What may be used; None is no limit. ``minutes`` is time spent waiting for answers."""

    tokens: Positive | None = None
    money: Amount | None = None
    minutes: Amount | None = None
    device_seconds: Amount | None = None


class RoleLimits(Section):
    """Limits of single roles."""

    librarian: Limits = Field(default_factory=Limits)
    prober: Limits = Field(default_factory=Limits)
    architect: Limits = Field(default_factory=Limits)
    engineer: Limits = Field(default_factory=Limits)
    reviewer: Limits = Field(default_factory=Limits)
    analyst: Limits = Field(default_factory=Limits)

    def of(self, role: Role) -> Limits:
        """The limits of a role."""
        found: Limits = getattr(self, role)
        return found


def inconsistencies(models: Mapping[str, ModelSettings], roles: Roles, run: Limits, limits: RoleLimits) -> list[str]:
    """What does not fit together in these settings, as lines that name the keys; empty when all is well."""
    problems = []
    for role in ROLES:
        for name in roles.of(role).models:
            if name not in models:
                known = ", ".join(models) or "none"
                problems.append(f"roles.{role}.models names {name!r}, which is no model (models: {known})")
    currencies = {model.price.currency for model in models.values() if model.price is not None}
    if len(currencies) > 1:
        problems.append(f"models.*.price.currency: one currency for all, got {', '.join(sorted(currencies))}")
    if any(each.money is not None for each in (run, *(limits.of(role) for role in ROLES))):
        used = {name for role in ROLES for name in roles.of(role).models}
        for name in sorted(used & models.keys()):
            if models[name].price is None:
                problems.append(f"a budget of money needs models.{name}.price (zeros for a model of your own)")
    return problems


@dataclass(frozen=True)
class TeamSettings:
    """Who is on the team of a run, and what it may use."""

    models: Mapping[str, ModelSettings]
    roles: Roles
    limits: Limits = field(default_factory=Limits)
    role_limits: RoleLimits = field(default_factory=RoleLimits)
    replay: str | None = None
    """A recorded run of the same store whose answers are used, with no network."""

    @property
    def staffed(self) -> bool:
        """Whether there is anything that the playbook alone does not do: a model in a role, or a budget."""
        limits = (
            *self.limits.model_dump().values(),
            *(v for r in self.role_limits.model_dump().values() for v in r.values()),
        )
        return any(self.roles.of(role).models for role in ROLES) or any(value is not None for value in limits)
