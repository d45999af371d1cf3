"""What a run is asked to do: embedded defaults, a TOML file over them, flags over both."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from .acceptance.policy import Policy, PolicyError
from .agents.settings import (
    Amount,
    Limits,
    ModelSettings,
    Positive,
    Price,
    RoleLimits,
    Roles,
    RoleSettings,
    TeamSettings,
    inconsistencies,
)
from .defaults import DEFAULT_STORE

DEFAULT_KERNELS = ("sliding_project_qkv", "sliding_attention_output", "decoder_feedforward")
DEFAULT_FILE = Path("kernelwright.toml")


class ConfigError(Exception):
    """A setting is unknown or has a bad value. The message names the key and what was expected."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class CpuSettings(_Section):
    """The CPU target: which compiler, which sandbox (``reduced`` allows less isolation, by name)."""

    compiler: str | None = None
    sandbox: Literal["auto", "full", "reduced"] = "auto"


class Targets(BaseModel):
    """Settings of the targets, by name. Those of the CPU are known here; any other target checks its own."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)
    __pydantic_extra__: dict[str, dict[str, str | int | float | bool]] = Field(init=False)

    cpu: CpuSettings = Field(default_factory=CpuSettings)

    def of(self, name: str) -> dict[str, Any]:
        """The settings of one target, as the keyword arguments that make it."""
        found: dict[str, Any] = self.model_dump().get(name) or {}
        return found


class Budgets(_Section):
    """What a run may use; ``minutes`` is activity in all, None no limit. ``roles`` limits single roles."""

    minutes: Annotated[float, Field(gt=0, le=60 * 24 * 30)] = 8.0
    tokens: Positive | None = None
    money: Amount | None = None
    device_seconds: Amount | None = None
    roles: RoleLimits = Field(default_factory=RoleLimits)

    @property
    def limits(self) -> Limits:
        """What language models and the device may use; the minutes of activity are the router's business."""
        return Limits(tokens=self.tokens, money=self.money, device_seconds=self.device_seconds)


class Config(_Section):
    """Everything that can be set. ``kernel_files`` are Python files that define a kernel each."""

    target: str = "cpu"
    kernels: tuple[str, ...] = DEFAULT_KERNELS
    kernel_files: tuple[str, ...] = ()
    store: str = DEFAULT_STORE
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    budgets: Budgets = Field(default_factory=Budgets)
    targets: Targets = Field(default_factory=Targets)
    models: dict[str, ModelSettings] = Field(default_factory=dict)
    roles: Roles = Field(default_factory=Roles)
    policy: dict[str, Any] = {}
    replay_answers: str | None = None
    """A recorded run of the same store whose models' answers are used, with no network."""

    @property
    def team(self) -> TeamSettings:
        """Who works at a run, and what that may use."""
        return TeamSettings(self.models, self.roles, self.budgets.limits, self.budgets.roles, self.replay_answers)

    @model_validator(mode="after")
    def _consistent(self) -> Config:
        problems = inconsistencies(self.models, self.roles, self.budgets.limits, self.budgets.roles)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def acceptance(self, overrides: Sequence[str] = ()) -> Policy:
        """The acceptance policy with ``key=value`` overrides; raises ConfigError."""
        try:
            return Policy.from_mapping(self.policy).with_overrides(overrides)
        except PolicyError as error:
            raise ConfigError(str(error)) from error


def load_config(path: Path | None, overrides: Mapping[str, Any]) -> Config:
    """The configuration from a file (``kernelwright.toml`` here when ``path`` is None and it exists) with overrides.

    Overrides are nested mappings; None values are ignored. Raises ConfigError.
    """
    values: dict[str, Any] = {}
    file = path or (DEFAULT_FILE if DEFAULT_FILE.is_file() else None)
    if file is not None:
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the configuration {file} cannot be read: {error}") from error
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"the configuration {file} is not TOML: {error}") from error
    _merge(values, overrides)
    try:
        # TOML has arrays where the model has tuples; strictness is for the scalars.
        return Config.model_validate(_tuples(values))
    except ValidationError as error:
        raise ConfigError(_explain(error, f"in {file}" if file else "on the command line")) from error


def _merge(values: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    for key, value in overrides.items():
        if isinstance(value, Mapping):
            inner = values.setdefault(key, {})
            if isinstance(inner, dict):
                _merge(inner, value)
        elif value is not None:
            values[key] = value


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    listed: dict[str, Any] = {
        key: tuple(value)
        for key, value in values.items()
        if key in ("kernels", "kernel_files") and isinstance(value, list)
    }
    numbers = values.get("budgets")
    if (
        isinstance(numbers, dict)
        and isinstance(numbers.get("minutes"), int)
        and not isinstance(numbers["minutes"], bool)
    ):
        listed["budgets"] = {**numbers, "minutes": float(numbers["minutes"])}
    return {**values, **listed}


def _explain(error: ValidationError, where: str) -> str:
    lines = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            near = difflib.get_close_matches(key.split(".")[-1], _known_keys(), n=1)
            lines.append(f"unknown key {key!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        elif item["type"] == "value_error":
            lines.append(f"{key}: {item['ctx']['error']}" if key else str(item["ctx"]["error"]))
        else:
            lines.append(f"{key}: {item['msg'].lower()}, got {item['input']!r}")
    return f"{where}: " + "; ".join(lines)


def _known_keys() -> list[str]:
    keys: list[str] = []
    for model in (Config, Budgets, Targets, CpuSettings, ModelSettings, Price, Roles, RoleSettings):
        keys.extend(model.model_fields)
    return keys
