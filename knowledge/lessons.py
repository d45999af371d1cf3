"""Lessons from decided comparisons, of either sign, and families that several of them close."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..acceptance.estimate import hodges_lehmann
from ..acceptance.policy import Policy
from ..events.base import canonical
from ..events.experience import Effect
from ..events.views.knowledge import KnowledgeView
from ..events.views.tree import DECIDING, DesignView, TreeView

NEAR_FLOOR = 1.25
"""A kernel within this factor of its floor is limited by memory; farther away something else is the bottleneck."""


@dataclass(frozen=True)
class Lesson:
    """What a change of levers did to the time of a kernel; a ratio is seconds before over seconds after."""

    lesson: str
    before: dict[str, str | int]
    after: dict[str, str | int]
    effect: Effect
    ratio: float
    ratio_low: float
    ratio_high: float
    pairs: int
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """A value of a lever that several lessons speak against and none for."""

    family: str
    lever: str
    value: str | int
    reason: str
    lessons: tuple[str, ...]


def bottleneck(tree: TreeView) -> str:
    """What limits the best of a kernel: ``memory`` near its floor, ``compute`` far from it, ``unknown`` without readings."""
    ratio = tree.floor_ratio
    if ratio is None:
        return "unknown"
    return "memory" if ratio <= NEAR_FLOOR else "compute"


def whole_of(tree: TreeView, design: str | None) -> str:
    """The whole-kernel design (or baseline) that a design descends from by small changes; empty for none."""
    while design is not None and design in tree.designs:
        proposed = tree.designs[design].proposed
        if proposed.kind != "small":
            return design
        design = proposed.parent
    return ""


def changed_levers(
    before: Mapping[str, str | int], after: Mapping[str, str | int]
) -> tuple[dict[str, str | int], dict[str, str | int]]:
    """The levers that differ, with their values before and after."""
    names = sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
    return {name: before[name] for name in names}, {name: after[name] for name in names}


def draw(policy: Policy, run: str, tree: TreeView, design: DesignView) -> Lesson | None:
    """The lesson of a design whose comparison is decided; None for any other, or when no lever tells the two apart.

    An accepted design's gain is that of its fresh pairs. A rejected one's is estimated from the pairs that decided: its
    whole interval below 1 means that it hurt, otherwise that it did not help.
    """
    verdict = design.verdict
    if verdict is None or verdict.verdict not in ("accepted", "rejected") or design.failed is not None:
        return None
    base = tree.designs.get(verdict.against)
    if base is None:
        return None
    before, after = changed_levers(base.proposed.levers, design.proposed.levers)
    if not after:
        return None
    accepted = design.accepted
    if verdict.verdict == "accepted":
        if accepted is None:
            return None
        ratio, low, high = accepted.gain, accepted.gain_low, accepted.gain_high
        evidence, pairs = accepted.evidence, policy.confirm_pairs
        effect: Effect = "helped"
    else:
        differences = design.differences(DECIDING, verdict.against)
        if len(differences) < 2:
            return None
        found = hodges_lehmann(differences, policy.confidence)
        ratio, low, high, evidence, pairs = found.ratio, found.low, found.high, verdict.evidence, len(differences)
        effect = "hurt" if high < 1 else "no-gain"
    text = canonical([run, tree.kernel, design.id, verdict.against, verdict.ref])
    name = "l-" + hashlib.sha256(text.encode()).hexdigest()[:12]
    return Lesson(name, before, after, effect, ratio, low, high, pairs, tuple(evidence))


def family_id(kernel: str, lever: str, value: str | int, whole: str, limit: str, toolchain: str) -> str:
    """The name of a family: what it closes, and under which assumptions."""
    text = canonical([kernel, lever, value, whole, limit, toolchain])
    return "f-" + hashlib.sha256(text.encode()).hexdigest()[:12]


def closing(
    policy: Policy, known: KnowledgeView, toolchain: str, kernel: str, whole: str, limit: str, latest: Lesson
) -> list[Family]:
    """Families that the latest lesson closes: moving one lever to one value has lost often enough, and never helped.

    Only lessons with one changed lever count, on this kernel, in this whole-kernel design, with this bottleneck, and
    valid under the toolchain.
    """
    if latest.effect == "helped" or len(latest.after) != 1:
        return []
    ((lever, value),) = latest.after.items()
    against = [latest.lesson]
    for item in known.moves.get((kernel, whole, limit, lever, value), ()):
        drawn = item.drawn
        if item.standing(toolchain, known.toolchains).status != "valid":
            continue
        if drawn.effect == "helped":
            return []
        if drawn.lesson != latest.lesson:
            against.append(drawn.lesson)
    name = family_id(kernel, lever, value, whole, limit, toolchain)
    if len(against) < policy.family_losses or name in known.families:
        return []
    reason = f"{lever} = {value} did not help in {len(against)} decided comparisons, and never did"
    return [Family(name, lever, value, reason, tuple(sorted(against)))]


def closed_moves(
    known: KnowledgeView, toolchain: str, kernel: str, whole: str, limit: str
) -> frozenset[tuple[str, str | int]]:
    """Moves (lever, value) that are closed now; a family whose assumptions have changed is open again."""
    return frozenset(
        (item.closed.lever, item.closed.value)
        for item in known.families.values()
        if item.closed.kernel == kernel and item.closed_for(toolchain, known.toolchains, whole, limit)
    )


def in_words(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    """A change for a person."""
    return ", ".join(f"{name} {before.get(name, '?')} -> {value}" for name, value in after.items())


def classes(levers: Sequence[str], kind: str) -> str:
    """The class of a change, for trust in estimates: the levers that differ, or ``whole`` for another structure."""
    if kind == "whole" or not levers:
        return "whole" if kind == "whole" else "other"
    return "+".join(sorted(levers))
