"""The configuration for a command; a bad one ends it with one line. Loaded only by commands that need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import target_settings
from .output import fail

if TYPE_CHECKING:
    from ..acceptance.policy import Policy
    from ..config import Config


def load_settings(path: Path | None, overrides: Mapping[str, Any], *, as_json: bool) -> Config:
    """The configuration from a file (``kernelwright.toml`` here by default) with overrides; see ``config.load_config``."""
    from ..config import ConfigError, load_config

    try:
        return load_config(path, overrides)
    except ConfigError as error:
        fail(str(error), as_json=as_json)


def target_options(toolchain: str | None, options: Sequence[str] | None, *, as_json: bool) -> dict[str, Any]:
    """What was given of a target's settings, as keyword arguments; see ``options.target_settings``."""
    from ..config import ConfigError

    try:
        return target_settings(toolchain, options)
    except ConfigError as error:
        fail(str(error), as_json=as_json)


def settings_and_policy(
    path: Path | None, overrides: Mapping[str, Any], policy: Sequence[str] | None, *, as_json: bool
) -> tuple[Config, Policy]:
    """The configuration, and the acceptance policy in it with ``key=value`` overrides."""
    from ..config import ConfigError

    settings = load_settings(path, overrides, as_json=as_json)
    try:
        return settings, settings.acceptance(policy or ())
    except ConfigError as error:
        fail(str(error), as_json=as_json)
