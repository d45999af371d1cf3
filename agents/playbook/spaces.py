"""Find the space of a kernel on a target: by entry point, and the built-in ones without being installed.

A target brings a space with the entry point group ``kernelwright.spaces``: the entry's name is the target's, its value a
function that takes a :class:`.space.Place` and returns a :class:`.space.Space`, or None for a kernel that it has none for.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable

from .space import Place, Space

GROUP = "kernelwright.spaces"
"""The entry point group that spaces are registered in, by the name of the target."""

SpaceMaker = Callable[[Place], Space | None]


class SpaceError(Exception):
    """The space of an installed package cannot be used. The message names the entry point and what is wrong."""


def _built_in_cpu() -> SpaceMaker:
    from .cpu.space import space

    return space


def _built_in_rngd() -> SpaceMaker:
    from .rngd.space import space

    return space


def _built_in_tpu() -> SpaceMaker:
    from .tpu.space import space

    return space


_BUILT_IN: dict[str, Callable[[], SpaceMaker]] = {
    "cpu": _built_in_cpu,
    "rngd": _built_in_rngd,
    "tpu": _built_in_tpu,
}


def find_space(place: Place) -> Space | None:
    """The space of ``place.kernel`` on ``place.target``; None where nobody brings one.

    Raises SpaceError for an entry point that cannot be loaded, or that gives something else than a space.
    """
    for point in importlib.metadata.entry_points(group=GROUP, name=place.target):
        try:
            maker: SpaceMaker = point.load()
        except (ImportError, AttributeError) as error:
            raise SpaceError(f"the space of target {place.target} ({point.value}) cannot be loaded: {error}") from error
        made = maker(place)
        if made is not None and not isinstance(made, Space):
            raise SpaceError(
                f"the space of target {place.target} ({point.value}) is a {type(made).__name__}, which lacks a part of "
                "the protocol kernelwright.agents.playbook.space.Space"
            )
        return made
    if place.target in _BUILT_IN:
        return _BUILT_IN[place.target]()(place)
    return None
