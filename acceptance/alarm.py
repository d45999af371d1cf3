"""The alarm: is the product of the claimed gains really there, when the champion meets its anchors again?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .estimate import Gain, product
from .policy import Policy


@dataclass(frozen=True)
class AnchorCheck:
    """The claims of a stretch of the lineage beside one direct measurement of it.

    ``alarm``: the product of claims lies outside the measured interval. ``disjoint``: its own interval does not even
    touch the measured one, so that the claims' uncertainty does not explain it.
    """

    claimed: Gain
    measured: Gain
    alarm: bool
    disjoint: bool
    reason: str


def check_anchor(claims: Sequence[Gain], measured: Gain) -> AnchorCheck:
    """Compare the gains claimed since an anchor, in any order, with champion against anchor measured on fresh pairs."""
    claimed = product(claims)
    outside = not measured.low <= claimed.ratio <= measured.high
    disjoint = claimed.high < measured.low or claimed.low > measured.high
    interval = f"[{measured.low:.4g}, {measured.high:.4g}]"
    if not outside:
        reason = f"{len(claims)} claims multiply to {claimed.ratio:.4g}, inside the measured {interval}"
    else:
        side = "more" if claimed.ratio > measured.high else "less"
        reason = f"{len(claims)} claims multiply to {claimed.ratio:.4g}, {side} than the measured {interval}"
    return AnchorCheck(claimed, measured, outside, disjoint, reason)


def anchors_due(policy: Policy, acceptances: int, *, ended: bool = False) -> tuple[int, ...]:
    """Which earlier bests the champion must meet now, each as how many acceptances had been made by then.

    0 is the original baseline. Empty when nothing is due: due are the baseline and the champion of ``anchor_every``
    acceptances ago after each such number of acceptances, and at the end of a run with any acceptance.
    """
    if acceptances == 0 or (acceptances % policy.anchor_every and not ended):
        return ()
    return tuple(sorted({0, max(0, acceptances - policy.anchor_every)}))
