"""Fragments of source: files with ``$name`` placeholders, kept as package data beside the emitters that use them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def _text(package: str, file: str) -> str:
    return (files(package) / "fragments" / file).read_text(encoding="utf-8")


def filled(package: str, file: str, values: dict[str, str | int]) -> str:
    """The fragment in ``file`` of ``package`` with its placeholders filled in. Raises KeyError when one has no value."""
    return Template(_text(package, file)).substitute({key: str(value) for key, value in values.items()})
