"""The menu: directions that a proposal may take; a seeded share of it is left out, so that prompts differ."""

from __future__ import annotations

import hashlib
import random
import tomllib
from functools import cache
from importlib.resources import files

from .roles import MenuEntry


@cache
def entries(target: str) -> tuple[MenuEntry, ...]:
    """The directions known for a target, those that hold anywhere first."""
    table = tomllib.loads(files(__package__).joinpath("prompts", "menu.toml").read_text(encoding="utf-8"))
    return tuple(
        MenuEntry(mechanism=mechanism, says=says)
        for section in ("any", target)
        for mechanism, says in table.get(section, {}).items()
    )


def served(target: str, dropout: float, *names: object) -> tuple[MenuEntry, ...]:
    """The menu of one prompt: each entry is left out with probability ``dropout``, by a coin that follows from ``names``.

    At least one entry is kept.
    """
    whole = entries(target)
    text = "/".join(["menu", *map(str, names)])
    # Not a secret: the coin only has to be the same for the same prompt.
    coin = random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))  # noqa: S311
    kept = tuple(entry for entry in whole if coin.random() >= dropout)
    return kept or whole[:1]
