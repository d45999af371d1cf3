"""What has to be checked under a toolchain before anyone relies on it, cheapest first. A pure fold: no plan is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..events.views.knowledge import KnowledgeView
from .expectation import Expectation
from .rules import takes_run

ItemKind = Literal["rule", "claim", "probe"]
_FIRST_GUESS_SECONDS = {"builds": 0.2, "refused": 0.2, "yields": 1.0, "costs": 2.0}


@dataclass(frozen=True)
class Due:
    """An item to check: why, about how long it takes (seconds, from its last check), and how often it was checked."""

    item: str
    kind: ItemKind
    why: Literal["stale", "unchecked"]
    seconds: float
    turn: int
    rank: int


def due_items(known: KnowledgeView, toolchain: str, *, device: bool = True) -> list[Due]:
    """Rules and claims to check under ``toolchain``: witnesses first, then claims, each kind cheapest first.

    What was checked there before, or under a toolchain that is alike in what the item rests on, is not due. Without a
    ``device``, what takes a run is left out.
    """
    found: list[Due] = []
    for rule in known.rules.values():
        standing = rule.standing(toolchain, known.toolchains)
        if standing.status == "stale" and (device or not takes_run(rule.derived)):
            seconds = max((f.seconds for f in rule.findings), default=0.0) or 0.5
            rank = 2 if takes_run(rule.derived) else 0
            found.append(Due(rule.id, "rule", "stale", seconds, len(rule.findings), rank))
    for claim in known.claims.values():
        if claim.made.snippet is None or not claim.current:
            continue
        standing = claim.standing(toolchain, known.toolchains)
        unknown = standing.status == "unchecked" and standing.finding is None
        kind = Expectation.from_dict(claim.made.expect).kind
        if (standing.status != "stale" and not unknown) or (not device and kind in ("yields", "costs")):
            continue
        seconds = max((f.seconds for f in claim.findings), default=0.0) or _FIRST_GUESS_SECONDS[kind]
        why: Literal["stale", "unchecked"] = "unchecked" if unknown else "stale"
        found.append(Due(claim.id, "claim", why, seconds, len(claim.findings), 1 if kind != "costs" else 3))
    return sorted(found, key=lambda due: (due.rank, due.seconds, due.item))


def stale_probes(known: KnowledgeView, toolchain: str) -> list[str]:
    """Names of the probes whose readings do not hold under ``toolchain``."""
    return sorted(
        name
        for name, item in known.probes_by_name.items()
        if item.standing(toolchain, known.toolchains).status == "stale"
    )


def unstudied(known: KnowledgeView) -> list[str]:
    """Documents that have not been studied as they are now."""
    return sorted(name for name, seen in known.documents.items() if known.studied.get(name) != seen.digest)
