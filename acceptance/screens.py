"""Two cheap judgements on raw readings: plainly slower (drop it), and too good to be true (look into it)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .policy import Policy


def plainly_slower(policy: Policy, differences: Sequence[float]) -> bool:
    """Whether the short probe drops a candidate: slower by ``policy.probe_slower`` or more in every pair.

    ``differences``: log(best / candidate) of the probe's pairs. Without pairs nothing is known, so False. The pairs of
    a probe that passes may open the comparison when they were read like its own: dropping a candidate is only one more
    way of stopping, and E allows for any.
    """
    return bool(differences) and max(differences) <= -math.log1p(policy.probe_slower)


def suspicion(
    policy: Policy, best_seconds: float, candidate_seconds: float, floor_seconds: float | None = None
) -> str | None:
    """Why a candidate's reading is too good to be believed, or None.

    ``floor_seconds``: time that moving the kernel's bytes takes, None where it is not known. All in seconds per call.
    """
    if floor_seconds is not None and candidate_seconds < floor_seconds * (1 - policy.suspect_floor_margin):
        share = candidate_seconds / floor_seconds
        return f"{candidate_seconds:.4g} s is {share:.3g} of the floor, {floor_seconds:.4g} s"
    if best_seconds > candidate_seconds * policy.suspect_jump:
        return f"{best_seconds / candidate_seconds:.4g} times faster in one step, more than {policy.suspect_jump:g}"
    return None
