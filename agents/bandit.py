"""Which of several models answers next in a role: most accepted gain for its tokens, with room to be surprised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt

EXPLORATION = 0.5
"""Weight of the bonus for models that were asked seldom, on a scale where the best yield so far is 1."""


@dataclass(frozen=True)
class Arm:
    """A model's record in a role: how often it was asked, the log gain accepted from it, the tokens it used."""

    model: str
    asks: int
    log_gain: float
    tokens: int

    @property
    def rate(self) -> float:
        """Accepted log gain per token."""
        return self.log_gain / self.tokens if self.tokens else 0.0


def choose(arms: Sequence[Arm]) -> str:
    """The model to ask next, among at least one.

    An upper confidence bound (UCB1: Auer, Cesa-Bianchi and Fischer 2002) on the gain per token, where yields are put on a
    scale by the best one and a bonus of sqrt(2 ln(all asks) / own asks) is weighted by :data:`EXPLORATION`. Each model is
    asked once before any is asked twice. Equal arms are taken in the order given.
    """
    if not arms:
        raise ValueError("there is no model to choose from")
    best = max(arm.rate for arm in arms)
    total = sum(arm.asks for arm in arms)

    def value(arm: Arm) -> float:
        if arm.asks == 0:
            return inf
        worth = arm.rate / best if best > 0 else 0.0
        return worth + EXPLORATION * sqrt(2 * log(max(total, 2)) / arm.asks)

    return max(arms, key=value).model
