"""How far estimates are to be trusted: per class of change, from recorded pairs of estimate and reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p

from ..acceptance.policy import Policy
from ..events.experience import EstimatePaired
from ..events.views.knowledge import KnowledgeView
from .veto import COIN_BITS


@dataclass(frozen=True)
class Trust:
    """Of the pairs in which the device could tell a sign: how many there are, and in how many the estimate agreed.

    ``sampled`` counts candidates that an estimate would have dropped and that were read anyway, ``wrong`` those of them
    that were accepted.
    """

    pairs: int
    agreed: int
    sampled: int
    wrong: int

    @property
    def share(self) -> float | None:
        """The share of right signs, None without pairs."""
        return self.agreed / self.pairs if self.pairs else None

    @property
    def wrongly_dropped(self) -> float | None:
        """The share of would-be drops that were accepted, None when none was sampled."""
        return self.wrong / self.sampled if self.sampled else None

    def enough(self, policy: Policy) -> bool:
        """Whether the sign has been right often enough to drop a candidate by it."""
        return self.pairs >= policy.estimate_min_pairs and (self.share or 0.0) >= policy.estimate_sign_share


def trust_in(pairs: Sequence[EstimatePaired]) -> Trust:
    """The record of some pairs."""
    told = [pair for pair in pairs if abs(pair.measured) > pair.resolution and pair.estimated != 0]
    sampled = [pair for pair in pairs if pair.sampled]
    return Trust(
        len(told),
        sum((pair.estimated > 0) == (pair.measured > 0) for pair in told),
        len(sampled),
        sum(pair.accepted for pair in sampled),
    )


def trust_of(known: KnowledgeView, toolchain: str, change: str) -> Trust:
    """The record of a class of change under a toolchain."""
    item = known.trust.get(change)
    return trust_in(item.under(toolchain, known.toolchains) if item is not None else [])


@dataclass(frozen=True)
class Screening:
    """What an estimate does to a candidate: ``drop`` it, or let it pass; ``sampled`` when it passes only by the sample."""

    drop: bool
    sampled: bool
    reason: str


def screen(policy: Policy, trust: Trust, estimated: float, coin: int) -> Screening:
    """Decide about a candidate whose estimated log(best / candidate) seconds is ``estimated``.

    ``coin`` (63 bits, from the run's secret) lets a fixed share of what would be dropped through, to measure what
    dropping costs.
    """
    if estimated >= -log1p(policy.estimate_slower):
        return Screening(False, False, "not estimated to be plainly slower")
    if not trust.enough(policy):
        share = "no" if trust.share is None else f"{trust.share:.0%} of {trust.pairs}"
        return Screening(False, False, f"estimated to be slower, but the estimate has {share} right signs so far")
    said = f"its sign was right in {trust.agreed} of {trust.pairs}"
    if coin < policy.estimate_audit_share * 2**COIN_BITS:
        return Screening(False, True, f"estimated to be slower ({said}); read anyway, as a sample")
    return Screening(True, False, f"estimated to be slower ({said})")
