"""Pallas fragments: files of Python with ``$name`` placeholders, kept beside this module as package data."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def _text(name: str) -> str:
    return (files(__package__) / "fragments" / f"{name}.pallas").read_text(encoding="utf-8")


def fragment(name: str, **values: str | int) -> str:
    """The fragment called ``name`` with its placeholders filled in.

    Raises KeyError when a placeholder has no value.
    """
    return Template(_text(name)).substitute({key: str(value) for key, value in values.items()})
