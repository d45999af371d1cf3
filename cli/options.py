"""Options that several commands take: which toolchain of a target, and the target's own settings."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Annotated, Any

import typer

ToolchainName = Annotated[
    str | None,
    typer.Option("--toolchain", help="A toolchain of the target, as `kernelwright toolchain list` names it."),
]
TargetOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="A setting of the target (chip=v6e); may be given again."),
]


def target_settings(toolchain: str | None, options: Sequence[str] | None) -> dict[str, Any]:
    """What was given of a target's settings, as keyword arguments. Raises ConfigError for what is not key=value."""
    from ..config import ConfigError

    found: dict[str, Any] = {} if toolchain is None else {"toolchain": toolchain}
    for each in options or ():
        key, sign, text = each.partition("=")
        if not sign or not key.isidentifier() or not text:
            raise ConfigError(f"--option {each!r}: expected key=value")
        found[key] = _value(text)
    return found


def _value(text: str) -> str | int | float | bool:
    """A number or a truth value where the text is one in TOML, otherwise the text."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool) else text
