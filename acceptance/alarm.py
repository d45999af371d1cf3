"""The alarm: is the product of the claimed gains really there, when the champion meets its anchors again?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from .estimate import Gain, product
from .policy import Policy


@dataclass(frozen=True)
class AnchorCheck:
    """The claims of a stretch of the lineage beside one direct measurement of it.

    ``claimed``: product of the claims. ``outside``: it lies outside the measured interval. ``alarm``: it also lies
    outside ``[low, high]``, the measured interval widened by the claims' own uncertainty. Ten honest claims fall
    outside the bare interval in about half of all checks (see ``benchmarks/acceptance``); an alarm as common as that
    would be ignored.
    """

    claimed: Gain
    measured: Gain
    low: float
    high: float
    outside: bool
    alarm: bool
    reason: str


def check_anchor(claims: Sequence[Gain], measured: Gain) -> AnchorCheck:
    """Compare the gains claimed since an anchor, in any order, with champion against anchor measured on fresh pairs."""
    claimed = product(claims)
    # The claims' half widths, brought to the confidence of the measurement as if their errors were normal.
    stretch = _quantile(measured.confidence) / _quantile(claimed.confidence)
    above_claim = math.log(claimed.high / claimed.ratio) * stretch
    below_claim = math.log(claimed.ratio / claimed.low) * stretch
    # A product that came out too low by its own error leaves the measurement above it, and the other way round.
    low = measured.ratio * math.exp(-math.hypot(math.log(measured.ratio / measured.low), below_claim))
    high = measured.ratio * math.exp(math.hypot(math.log(measured.high / measured.ratio), above_claim))
    outside = not measured.low <= claimed.ratio <= measured.high
    alarm = not low <= claimed.ratio <= high
    where = "inside"
    if outside:
        where = "more than" if claimed.ratio > measured.high else "less than"
    reason = f"{len(claims)} claims multiply to {claimed.ratio:.4g}, {where} the measured {_interval(measured)}"
    if outside and not alarm:
        reason += f", within the claims' own uncertainty [{low:.4g}, {high:.4g}]"
    return AnchorCheck(claimed, measured, low, high, outside, alarm, reason)


def anchors_due(policy: Policy, acceptances: int, *, ended: bool = False) -> tuple[int, ...]:
    """Which earlier bests the champion must meet now, each as how many acceptances had been made by then.

    0 is the original baseline. Empty when nothing is due: due are the baseline and the champion of ``anchor_every``
    acceptances ago, after each ``anchor_every`` acceptances and at the end of a run with any acceptance.
    """
    if acceptances == 0 or (acceptances % policy.anchor_every and not ended):
        return ()
    return tuple(sorted({0, max(0, acceptances - policy.anchor_every)}))


def _interval(gain: Gain) -> str:
    return f"{gain.ratio:.4g} [{gain.low:.4g}, {gain.high:.4g}]"


def _quantile(confidence: float) -> float:
    """Half width of a normal interval, in standard deviations; confidences beyond reason are taken as 50 % or 99.99 %."""
    return NormalDist().inv_cdf(0.5 + min(max(confidence, 0.5), 0.9999) / 2)
