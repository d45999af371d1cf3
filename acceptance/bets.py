"""The e-process: bets on the sign of each paired difference, and why their product bounds false acceptance.

Per pair, ``d = log(seconds of the best / seconds of the candidate)``. Which of the two runs first is a fresh coin flip.
If the candidate is no different, the coin alone says which of the two readings carries which label, so given the past
and ``|d|`` both signs of ``d`` are equally likely, whatever the drift, the tails or the scale of the noise.

A *component* k is a density f_k (normal core plus Cauchy tail, centred at a shift). Its factor for a pair is
``2 f_k(d) / (f_k(d) + f_k(-d))``. The factors of d and -d sum to 2, so a factor has mean 1 given the past and ``|d|``,
and the running product E_k is a non-negative martingale that starts at 1. So is the weighted mean
``E = idle + sum_k weight_k E_k``, the weights and idle summing to 1. By Ville's inequality (1939)
``P(E ever >= 100) <= 1/100``: the bound holds under continuous peeking, optional stopping, and when a paused comparison
is taken up again. One more component bets on the sign of d alone: the others' densities say little about a gain far
beyond all their shifts, and without it a candidate twice as fast would take longer to accept than one 5 % faster.

A mean of products, not a product of means: averaging the densities inside each pair's factor is as valid, yet it never
learns which shift and scale fit, and it was measured to need more pairs and to miss some 2 % gains (see
``benchmarks/acceptance``).

Pairs read from one pair of processes share what placement did to them, so their signs are not separate coins; the
signs of the whole group together are one. Its factor is ``2 P / (P + Q)`` with P the product of f_k(d) over the group
and Q that of f_k(-d): again mean 1, at most 2 for the whole group, and E may be looked at only when the group is
complete.

A candidate that is slower is covered too when pairs are single and the noise of d is symmetric and unimodal: the
factor minus 1 is an odd function g of d, non-negative for d > 0, and with p the density of the noise and a > 0 the
slowdown, ``E[g(d)] = integral over y > 0 of g(y) (p(y + a) - p(y - a)) <= 0``.

Sources: Ville 1939 (maximal inequality); Ramdas, Gruenwald, Vovk and Shafer 2023, "Game-theoretic statistics and safe
anytime-valid inference" (betting; tests of symmetry).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .policy import Policy


@dataclass(frozen=True)
class Component:
    """One density that the test bets on: ``shift`` is a log ratio, ``scale`` a multiple of the calibrated scale."""

    shift: float
    scale: float
    tail_weight: float
    tail_scale: float

    def density(self, difference: float, scale: float) -> float:
        """Density at ``difference`` (log ratio), for a calibrated ``scale`` (same unit)."""
        core = self.scale * scale
        tail = self.tail_scale * core
        offset = difference - self.shift
        normal = math.exp(-0.5 * (offset / core) ** 2) / (core * math.sqrt(2 * math.pi))
        cauchy = tail / (math.pi * (offset * offset + tail * tail))
        return (1 - self.tail_weight) * normal + self.tail_weight * cauchy

    def evidence(self, difference: float, scale: float) -> float:
        """``log f(d) - log f(-d)``: an odd function of the difference."""
        return math.log(self.density(difference, scale)) - math.log(self.density(-difference, scale))


@dataclass(frozen=True)
class BroadComponent:
    """The density of a gain of any size: flat on either side of 0, half of ``tail_weight`` on the negative one."""

    tail_weight: float

    def evidence(self, difference: float, scale: float) -> float:  # noqa: ARG002  # the signature of Component's
        """``log f(d) - log f(-d)``: by the sign alone, 0 for no difference."""
        if difference == 0:
            return 0.0
        return math.copysign(math.log((2 - self.tail_weight) / self.tail_weight), difference)


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


def log_factor(evidence: float) -> float:
    """Log of the e-factor ``2 P / (P + Q)`` for ``evidence = log P - log Q``; the factor lies between 0 and 2."""
    # Written so that neither side overflows: the factor is 2 / (1 + exp(-evidence)).
    below = min(evidence, 0.0)
    return math.log(2) + below - math.log1p(math.exp(-abs(evidence)))


class EProcess:
    """One e-process: the running log product of each component, and their weighted mean beside an idle stake."""

    def __init__(self, parts: tuple[tuple[float, Bet], ...], idle_weight: float) -> None:
        """Start at E = 1."""
        self._weights = tuple(weight for weight, _ in parts)
        self._parts = tuple(part for _, part in parts)
        self._idle = idle_weight
        self._logs = [0.0] * len(parts)

    def add(self, differences: Sequence[float], scale: float) -> float:
        """Take in one complete group (log ratios; the calibrated scale before they were read); E after it."""
        # A new list, never a changed one: copies of a process share what they have in common.
        # Products are kept as logs: a long losing sequence would otherwise reach zero and never recover.
        self._logs = [
            log + log_factor(sum(part.evidence(difference, scale) for difference in differences))
            for log, part in zip(self._logs, self._parts, strict=True)
        ]
        top = max(self._logs)
        terms = (weight * math.exp(log - top) for weight, log in zip(self._weights, self._logs, strict=True))
        # exp of anything above 700 overflows; no threshold is anywhere near.
        return self._idle + (1 - self._idle) * math.exp(min(top, 600.0)) * math.fsum(terms)
