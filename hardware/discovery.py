"""Find targets: by entry point, and the built-in one also where the package is used without being installed."""

from __future__ import annotations

import difflib
import importlib.metadata
from collections.abc import Callable, Mapping

from .target import Target, TargetError

GROUP = "kernelwright.targets"
"""The entry point group that targets are registered in; a value is a class or a function that makes a target."""


def _built_in_cpu() -> Callable[..., Target]:
    from .cpu import CpuTarget

    return CpuTarget


def _built_in_tpu() -> Callable[..., Target]:
    from .tpu import TpuTarget

    return TpuTarget


def _built_in_rngd() -> Callable[..., Target]:
    from .rngd.target import RngdTarget

    return RngdTarget


def _built_in_rngd_visa() -> Callable[..., Target]:
    from .rngd.visa.target import VisaTarget

    return VisaTarget


_BUILT_IN: dict[str, Callable[[], Callable[..., Target]]] = {
    "cpu": _built_in_cpu,
    "rngd": _built_in_rngd,
    "rngd-visa": _built_in_rngd_visa,
    "tpu": _built_in_tpu,
}


def target_names() -> tuple[str, ...]:
    """Names of all targets that can be asked for, sorted."""
    return tuple(sorted({point.name for point in importlib.metadata.entry_points(group=GROUP)} | _BUILT_IN.keys()))


class UnknownTargetError(TargetError):
    """There is no target of that name. The message has the nearest names."""


def find_target(name: str, options: Mapping[str, object] | None = None) -> Target:
    """Make the target called ``name`` with ``options`` as its keyword arguments; None values are left out.

    Raises UnknownTargetError for an unknown name, TargetError for a target that cannot be imported or made.
    """
    given = {key: value for key, value in (options or {}).items() if value is not None}
    for point in importlib.metadata.entry_points(group=GROUP, name=name):
        try:
            factory: Callable[..., Target] = point.load()
        except (ImportError, AttributeError) as error:
            raise TargetError(f"target {name} ({point.value}) cannot be imported: {error}") from error
        return _make(name, factory, given)
    if name in _BUILT_IN:
        return _make(name, _BUILT_IN[name](), given)
    known = target_names()
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4) or list(known)
    raise UnknownTargetError(f"unknown target {name!r}; did you mean {', '.join(near)}?")


def _make(name: str, factory: Callable[..., Target], options: Mapping[str, object]) -> Target:
    try:
        made = factory(**options)
    except TypeError as error:
        raise TargetError(f"target {name} does not take these options: {error}") from error
    if not isinstance(made, Target):
        raise TargetError(f"target {name} is not a target: it lacks a part of the protocol")
    return made
