"""The sequential test: paired log ratios in, a verdict out.

Accepted when the e-process of :mod:`.bets` reaches ``accept_e``; rejected when the mirrored one, the same construction
on ``log(1 + futile_gain) - d``, reaches ``futile_e`` against "the gain is at least ``futile_gain``"; undecided when
the cap is reached. E may be looked at after every pair (after every process's group of pairs, where pairs are
grouped).

E is never reset: evidence of one candidate against one best, artifacts and toolchain equal, is a single sequence,
however many sessions it took. The scale may change between pairs (a new calibration) as long as it was fixed before
the pair was read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from .bets import EProcess, components
from .policy import Policy

Verdict = Literal["accepted", "rejected", "undecided", "continue"]
"""``continue``: more pairs may be read. ``undecided``: the cap was reached, and the evidence is carried forward."""


def log_ratio(best_seconds: float, candidate_seconds: float) -> float:
    """Difference of one pair, ``log(best / candidate)``: positive when the candidate is faster.

    Raises ValueError when a reading is not a positive finite number of seconds.
    """
    for name, seconds in (("best", best_seconds), ("candidate", candidate_seconds)):
        if not (math.isfinite(seconds) and seconds > 0):
            raise ValueError(f"{name} reading: expected a positive finite number of seconds, got {seconds!r}")
    return math.log(best_seconds) - math.log(candidate_seconds)


@dataclass(frozen=True)
class Decision:
    """What a policy makes of a sequence of pairs.

    ``pairs`` is how many were used; later ones, if any were given, played no part. The paths hold E after each of them
    (the pairs of one process's group all show E as it stood once the group was complete).
    """

    verdict: Verdict
    pairs: int
    e_accept: tuple[float, ...]
    e_futile: tuple[float, ...]
    reason: str


class Sequential:
    """A comparison in progress. Feeding pairs as they come gives, bit for bit, what :func:`decide` gives for the list.

    ``scale``: calibrated scale of one pair (log ratio, above 0). ``cap``: pairs after which the comparison pauses, the
    policy's unless given; a comparison that is taken up again has all its pairs fed in order under a higher cap.
    Raises ValueError when scale or cap is not positive.
    """

    def __init__(self, policy: Policy, scale: float, cap: int | None = None) -> None:
        """Start without pairs, at E = 1."""
        self.policy = policy
        self.cap = policy.pair_cap if cap is None else cap
        if self.cap < 1:
            raise ValueError(f"cap: expected at least 1 pair, got {self.cap}")
        self._scale = _checked_scale(scale)
        parts = components(policy)
        self._accept = EProcess(parts, policy.idle_weight)
        # Betting less costs a rejection pairs and buys nothing there: the stake against a candidate is all in play.
        self._futile = EProcess(parts, 0.0)
        self._e_accept: list[float] = []
        self._e_futile: list[float] = []
        self._verdict: Verdict = "continue"

    @property
    def pairs(self) -> int:
        """How many pairs have been added."""
        return len(self._e_accept)

    @property
    def verdict(self) -> Verdict:
        """The verdict so far; ``continue`` while pairs may be added."""
        return self._verdict

    def add(self, difference: float, scale: float | None = None) -> Verdict:
        """Take in one pair that stands for itself, as :meth:`add_group` does."""
        return self.add_group((difference,), scale)

    def add_group(self, differences: Sequence[float], scale: float | None = None) -> Verdict:
        """Take in all the pairs (log ratios) that one pair of processes gave.

        ``scale`` replaces the calibrated one from here on. How many pairs a group gets must be settled before it is
        read. Raises ValueError when there is no pair, one is not finite, or a verdict was reached before.
        """
        if self._verdict != "continue":
            raise ValueError(f"the comparison has ended ({self._verdict} after {self.pairs} pairs)")
        if not differences or not all(math.isfinite(difference) for difference in differences):
            raise ValueError(f"differences: expected one or more finite log ratios, got {list(differences)!r}")
        if scale is not None:
            self._scale = _checked_scale(scale)
        target = math.log1p(self.policy.futile_gain)
        e_accept = self._accept.add(differences, self._scale)
        e_futile = self._futile.add([target - difference for difference in differences], self._scale)
        self._e_accept += [e_accept] * len(differences)
        self._e_futile += [e_futile] * len(differences)
        self._verdict = self._judged()
        return self._verdict

    def _judged(self) -> Verdict:
        if self.pairs >= self.policy.min_pairs:
            if self._e_accept[-1] >= self.policy.accept_e:
                return "accepted"
            if self._e_futile[-1] >= self.policy.futile_e:
                return "rejected"
        return "undecided" if self.pairs >= self.cap else "continue"

    def copy(self) -> Sequential:
        """Another comparison that has come as far; what is added to one does not touch the other."""
        other = copy(self)
        other._accept, other._futile = copy(self._accept), copy(self._futile)
        other._e_accept, other._e_futile = list(self._e_accept), list(self._e_futile)
        return other

    def decision(self) -> Decision:
        """The decision as it stands."""
        return Decision(self._verdict, self.pairs, tuple(self._e_accept), tuple(self._e_futile), self._reason())

    def _reason(self) -> str:
        policy = self.policy
        if not self._e_accept:
            return "no pairs yet"
        e_accept, e_futile = self._e_accept[-1], self._e_futile[-1]
        if self._verdict == "accepted":
            return f"E = {e_accept:.4g} for faster reached {policy.accept_e:g} after {self.pairs} pairs"
        against = f"against a gain of {policy.futile_gain:.3g} or more"
        if self._verdict == "rejected":
            return f"E = {e_futile:.4g} {against} reached {policy.futile_e:g} after {self.pairs} pairs"
        state = f"E = {e_accept:.4g} of {policy.accept_e:g} for faster, {e_futile:.4g} of {policy.futile_e:g} {against}"
        if self._verdict == "undecided":
            return f"cap of {self.cap} pairs reached: {state}"
        return f"{self.pairs} pairs so far: {state}"


def decide(
    policy: Policy,
    scale: float | Sequence[float],
    differences: Sequence[float],
    *,
    cap: int | None = None,
    processes: Sequence[int] | None = None,
) -> Decision:
    """The verdict of ``policy`` on paired log ratios in the order in which they were read; a pure function.

    ``scale``: calibrated scale (log ratio) of the pairs, or one for each pair when calibrations changed in between.
    ``cap``: see :class:`Sequential`. ``processes``: which pair of processes each pair came from (any numbers, those of
    one process consecutive); without it each pair stands for itself. Pairs after the verdict are ignored.
    Raises ValueError for a non-finite difference, a scale that is not positive, scales or labels that do not match the
    pairs, a process that comes back, or a scale that changes within one process.
    """
    scales = each_scale(scale, len(differences))
    state = Sequential(policy, scales[0] if scales else 1.0, cap)
    for group in groups(len(differences), processes):
        if len({scales[index] for index in group}) > 1:
            raise ValueError("scale: expected one and the same within a process")
        if state.add_group([differences[index] for index in group], scales[group[0]]) != "continue":
            break
    return state.decision()


def groups(pairs: int, processes: Sequence[int] | None) -> list[list[int]]:
    """Indices of the pairs of each process, in order; see :func:`decide` for ``processes`` and the errors raised."""
    if not processes:
        return [[index] for index in range(pairs)]
    if len(processes) != pairs:
        raise ValueError(f"processes: expected one label for each of {pairs} pairs, got {len(processes)}")
    runs = [(label, list(indices)) for label, indices in groupby(range(pairs), key=lambda index: processes[index])]
    if len({label for label, _ in runs}) < len(runs):
        raise ValueError("processes: the pairs of one process must be consecutive")
    return [indices for _, indices in runs]


def each_scale(scale: float | Sequence[float], pairs: int) -> list[float]:
    """One scale for each pair. Raises ValueError when a list of scales does not match the pairs."""
    if isinstance(scale, (int, float)):
        return [float(scale)] * pairs
    if len(scale) != pairs:
        raise ValueError(f"scale: expected one for each of {pairs} pairs, got {len(scale)}")
    return [float(one) for one in scale]


def _checked_scale(scale: float) -> float:
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale: expected a positive finite log ratio, got {scale!r}")
    return float(scale)
