"""The status of an item of knowledge under a toolchain: a pure fold over what was checked, never a stored word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["valid", "stale", "refuted", "retired", "unchecked"]
Parts = Mapping[str, str]
"""The named parts of a toolchain."""


@dataclass(frozen=True)
class Finding:
    """One check of an item: what it found, under which toolchain, resting on which parts (none named: on all)."""

    outcome: Literal["held", "failed", "unable"]
    toolchain: str
    depends: tuple[str, ...]
    ref: str
    position: int
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Standing:
    """An item's status, with the finding that decides it (None when nothing was ever checked)."""

    status: Status
    finding: Finding | None = None


def fingerprints_alike(then: str, now: str, depends: Sequence[str], toolchains: Mapping[str, Parts]) -> bool:
    """Whether the parts in ``depends`` (all of them when it is empty) are the same in two toolchains.

    A toolchain whose parts are not known is like no other.
    """
    if then == now:
        return True
    before, after = toolchains.get(then), toolchains.get(now)
    if before is None or after is None:
        return False
    names = depends or tuple(before.keys() | after.keys())
    return all(before.get(name) == after.get(name) for name in names)


def stand(
    findings: Iterable[Finding],
    toolchain: str,
    toolchains: Mapping[str, Parts],
    *,
    failed: Status = "refuted",
) -> Standing:
    """The status under ``toolchain``: that of the latest finding made under one that is alike in what it rests on.

    Findings that found out nothing count only where there is no other. An item that was checked, but never under a
    toolchain like this one, is stale. ``failed`` is the word for an item that did not hold.
    """
    latest: Finding | None = None
    clueless: Finding | None = None
    any_finding: Finding | None = None
    for finding in findings:
        any_finding = finding
        if fingerprints_alike(finding.toolchain, toolchain, finding.depends, toolchains):
            if finding.outcome == "unable":
                clueless = finding
            else:
                latest = finding
    if latest is not None:
        return Standing("valid" if latest.outcome == "held" else failed, latest)
    if clueless is not None:
        return Standing("unchecked", clueless)
    return Standing("unchecked" if any_finding is None else "stale", any_finding)
