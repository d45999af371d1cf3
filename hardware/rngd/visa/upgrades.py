"""Upgrades of the visa toolchain that changed what was known: the cases that the recheck has to get right.

Each is what the public notes say of a release; none was tried here. They are data, so that a test can put a log through
them, and so that a person who upgrades can be told what to expect (:func:`expected`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...concerns import CONCERNS, Concern
from .commands import PROFILE, PROFILE_BEFORE_8, Version, version_of
from .parts import PARTS

SOURCE = "release notes and public notes of participants of the 2026 RNGD kernel contest; not tried here"


@dataclass(frozen=True)
class Upgrade:
    """A release that changed something. ``changed`` are the parts of the toolchain that it changes, with their new values.

    ``stale`` are the kinds of facts that no longer hold without a new check, ``because`` what changed.
    """

    release: str
    changed: tuple[tuple[str, str], ...]
    because: tuple[str, ...]
    stale: tuple[Concern, ...]
    source: str = SOURCE


UPGRADES: tuple[Upgrade, ...] = (
    Upgrade(
        "0.5",
        (("furiosa_opt", "0.5.0"), ("library", "0.5.0")),
        ("a fetch offset counts elements; it counted bytes: designs with an offset compile and read other data",),
        ("compile", "value", "code"),
    ),
    Upgrade(
        "0.6",
        (("furiosa_opt", "0.6.0"), ("library", "0.6.0"), ("nightly", "nightly-2026-05-01")),
        (
            "the element type f16 is gone: rules and designs that name it fail to compile",
            "the host's model of bf16 changed: values of the CPU run shift, what passed may fail and the other way round",
            "switch configurations that were refused are legal: rules that forbade them retire, their designs reopen",
        ),
        ("compile", "value", "code"),
    ),
    Upgrade(
        "0.7",
        (("furiosa_opt", "0.7.0"),),
        ("with the library of 0.6 every device function fails on a missing FURIOSA_OPT_OUT_DIR: raise both together",),
        ("compile", "code"),
    ),
    Upgrade(
        "0.8",
        (
            ("furiosa_opt", "0.8.1"),
            ("library", "0.8.1"),
            ("profile_variable", PROFILE),
            ("runtime", "0.8"),
        ),
        (
            "the runtime changed: cycles from before and after are of two measures, and are not compared",
            f"the profiling variable is {PROFILE}; with {PROFILE_BEFORE_8} a launch reports no cycles at all",
        ),
        ("compile", "value", "chip", "runtime", "code"),
    ),
)


def expected(before: str, after: str) -> tuple[Upgrade, ...]:
    """The known upgrades on the way from one version of the compiler to another, in order; none for a way back."""
    first, last = version_of(before), version_of(after)
    if first is None or last is None:
        return ()
    return tuple(each for each in UPGRADES if first < _release(each) and not last < _release(each))


def announced(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """What the notes say of a change from one toolchain to another, given their parts; nothing where it is another's."""
    if not (before.get("dsl") == after.get("dsl") == "visa"):
        return ()
    found = expected(before.get("furiosa_opt", ""), after.get("furiosa_opt", ""))
    return tuple(f"{each.release}: {line}" for each in found for line in each.because)


def touched(changed: tuple[str, ...]) -> tuple[Concern, ...]:
    """The kinds of facts that rest on one of these parts."""
    return tuple(concern for concern in CONCERNS if set(PARTS[concern]).intersection(changed))


def _release(upgrade: Upgrade) -> Version:
    found = version_of(upgrade.release)
    assert found is not None, "releases are numbers"
    return found
