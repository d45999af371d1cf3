"""The sequential test: paired log ratios in, a verdict out, and E may be looked at after every pair.

Per pair, ``d = log(seconds of the best / seconds of the candidate)``. Which of the two runs first is a fresh coin flip.
If the candidate is no different, the coin alone says which of the two readings carries which label, so given the past
and ``|d|`` both signs of ``d`` are equally likely, whatever the drift, the tails or the scale of the noise.

A *component* k is a density f_k (normal core plus Cauchy tail, centred at a shift). Its factor for a pair is
``2 f_k(d) / (f_k(d) + f_k(-d))``. The factors of d and -d sum to 2, so a factor has mean 1 given the past and ``|d|``,
and the running product E_k is a non-negative martingale that starts at 1. So is the weighted mean
``E = idle + sum_k weight_k E_k``, the weights and idle summing to 1. One more component bets on the sign of d alone:
the others' densities say little about a gain far beyond all their shifts. By Ville's inequality (1939)
``P(E ever >= 100) <= 1/100``: the bound holds under continuous peeking, optional stopping, and when a paused comparison
is taken up again.

A mean of products, not a product of means: averaging the densities inside each pair's factor is as valid, yet it never
learns which shift and scale fit, and it was measured to need more pairs and to miss some 2 % gains (see
``benchmarks/acceptance``).

A candidate that is slower is covered too when the noise of d is symmetric and unimodal: the factor minus 1 is an odd
function g of d, non-negative for d > 0, and with p the density of the noise and a > 0 the slowdown,
``E[g(d)] = integral over y > 0 of g(y) (p(y + a) - p(y - a)) <= 0``. The mirrored test against "gain >= futile_gain" is
the same construction on ``log(1 + futile_gain) - d``, with the same reasoning for gains above it.

E is never reset: evidence of one candidate against one best, artifacts and toolchain equal, is a single sequence,
however many sessions it took. The scale may change between pairs (a new calibration) as long as it was fixed before
the pair was read.

Sources: Ville 1939 (maximal inequality); Ramdas, Gruenwald, Vovk and Shafer 2023, "Game-theoretic statistics and safe
anytime-valid inference" (betting; tests of symmetry).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

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
class Component:
    """One density that the test bets on: ``shift`` is a log ratio, ``scale`` a multiple of the calibrated scale."""

    shift: float
    scale: float
    tail_weight: float
    tail_scale: float

    def density(self, difference: float, scale: float) -> float:
        """Density at ``difference`` (log ratio), up to a constant factor, for a calibrated ``scale`` (same unit)."""
        core = self.scale * scale
        tail = self.tail_scale * core
        offset = difference - self.shift
        normal = math.exp(-0.5 * (offset / core) ** 2) / (core * math.sqrt(2 * math.pi))
        cauchy = tail / (math.pi * (offset * offset + tail * tail))
        return (1 - self.tail_weight) * normal + self.tail_weight * cauchy

    def factor(self, difference: float, scale: float) -> float:
        """E-factor of one pair, between 0 and 2."""
        toward, away = self.density(difference, scale), self.density(-difference, scale)
        return 2 * toward / (toward + away)


@dataclass(frozen=True)
class BroadComponent:
    """The density of a gain of any size: flat on either side of 0, half of ``tail_weight`` on the negative one."""

    tail_weight: float

    def factor(self, difference: float, scale: float) -> float:  # noqa: ARG002  # the signature of Component.factor
        """E-factor of one pair: by the sign alone, 1 for no difference."""
        if difference == 0:
            return 1.0
        return 2 - self.tail_weight if difference > 0 else self.tail_weight


Bet = Component | BroadComponent


def components(policy: Policy) -> tuple[tuple[float, Bet], ...]:
    """Every component of a policy with its weight; the weights sum to 1. Shifts outermost, the broad one last."""
    sized = [
        Component(math.log1p(shift), scale, policy.tail_weight, policy.tail_scale)
        for shift in policy.shifts
        for scale in policy.scales
    ]
    weight = (1 - policy.broad_weight) / len(sized)
    return (*((weight, part) for part in sized), (policy.broad_weight, BroadComponent(policy.tail_weight)))


@dataclass(frozen=True)
class Decision:
    """What a policy makes of a sequence of pairs.

    ``pairs`` is how many were used; later ones, if any were given, played no part. The paths hold E after each of
    them.
    """

    verdict: Verdict
    pairs: int
    e_accept: tuple[float, ...]
    e_futile: tuple[float, ...]
    reason: str


class EProcess:
    """One e-process: the running log product of each component, and their weighted mean beside an idle stake."""

    def __init__(self, parts: tuple[tuple[float, Bet], ...], idle_weight: float) -> None:
        """Start at E = 1."""
        self._weights = tuple(weight for weight, _ in parts)
        self._parts = tuple(part for _, part in parts)
        self._idle = idle_weight
        self._logs = [0.0] * len(parts)

    def add(self, difference: float, scale: float) -> float:
        """Take in one pair (log ratio, and the calibrated scale before it was read); E after it."""
        # Products are kept as logs: a long losing sequence would otherwise reach zero and never recover.
        self._logs = [
            log + math.log(part.factor(difference, scale)) for log, part in zip(self._logs, self._parts, strict=True)
        ]
        top = max(self._logs)
        terms = (weight * math.exp(log - top) for weight, log in zip(self._weights, self._logs, strict=True))
        return self._idle + (1 - self._idle) * math.exp(min(top, 600.0)) * math.fsum(terms)


class Sequential:
    """A comparison in progress. Feeding pairs one by one gives, bit for bit, what :func:`decide` gives for the list.

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
        """Take in one pair's log ratio; ``scale`` replaces the calibrated one from this pair on.

        Raises ValueError when ``difference`` is not finite or a verdict was reached before.
        """
        if self._verdict != "continue":
            raise ValueError(f"the comparison has ended ({self._verdict} after {self.pairs} pairs)")
        if not math.isfinite(difference):
            raise ValueError(f"difference: expected a finite log ratio, got {difference!r}")
        if scale is not None:
            self._scale = _checked_scale(scale)
        self._e_accept.append(self._accept.add(difference, self._scale))
        self._e_futile.append(self._futile.add(math.log1p(self.policy.futile_gain) - difference, self._scale))
        self._verdict = self._judged()
        return self._verdict

    def _judged(self) -> Verdict:
        if self.pairs >= self.policy.min_pairs:
            if self._e_accept[-1] >= self.policy.accept_e:
                return "accepted"
            if self._e_futile[-1] >= self.policy.futile_e:
                return "rejected"
        return "undecided" if self.pairs >= self.cap else "continue"

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
    policy: Policy, scale: float | Sequence[float], differences: Sequence[float], *, cap: int | None = None
) -> Decision:
    """The verdict of ``policy`` on paired log ratios in the order in which they were read; a pure function.

    ``scale``: calibrated scale (log ratio) of the pairs, or one for each pair when calibrations changed in between.
    ``cap``: see :class:`Sequential`. Pairs after the verdict are ignored.
    Raises ValueError for a non-finite difference, a scale that is not positive, or scales that do not match the pairs.
    """
    if not isinstance(scale, (int, float)) and len(scale) != len(differences):
        raise ValueError(f"scale: expected one for each of {len(differences)} pairs, got {len(scale)}")
    scales = [float(scale)] * len(differences) if isinstance(scale, (int, float)) else list(scale)
    if not scales:
        return Sequential(policy, scale if isinstance(scale, (int, float)) else 1.0, cap).decision()
    state = Sequential(policy, scales[0], cap)
    for difference, of_pair in zip(differences, scales, strict=True):
        if state.add(difference, of_pair) != "continue":
            break
    return state.decision()


def _checked_scale(scale: float) -> float:
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"scale: expected a positive finite log ratio, got {scale!r}")
    return float(scale)
