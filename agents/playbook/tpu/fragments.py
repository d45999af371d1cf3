"""Pallas fragments: see :mod:`..fragments`."""

from __future__ import annotations

from ..fragments import filled

assert __package__ is not None, "a module of a package"
_HERE: str = __package__


def fragment(name: str, **values: str | int) -> str:
    """The fragment called ``name`` with its placeholders filled in.

    Raises KeyError when a placeholder has no value.
    """
    return filled(_HERE, f"{name}.pallas", values)
