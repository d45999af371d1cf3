"""Simulated comparisons: a noise model, and the sequential test on many sequences of pairs at once.

Every function draws from the generator that it is given, so a seed makes each number repeatable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bets import Component, components
from .policy import Policy

Floats = NDArray[np.float64]

_BLOCK = 8
"""About how many pairs are evaluated before the sequences that have ended are left out."""


@dataclass(frozen=True)
class NoiseModel:
    """Noise of one run's log time: normal, now and then much slower, on a drifting level.

    ``sigma``: standard deviation of the log of one run. ``outlier_share`` of the runs take ``outlier_size`` (fraction)
    longer. ``walk``: standard deviation of the level's random step from run to run. ``trend``: its steady step (log
    ratio per run); with 0.0005 the device is 5 % slower after 100 runs. ``process``: standard deviation of what
    placement does to a pair of processes (log ratio), the same for all pairs read from it.
    """

    sigma: float = 0.01
    outlier_share: float = 0.05
    outlier_size: float = 0.10
    walk: float = 0.001
    trend: float = 0.0005
    process: float = 0.0

    def draw_runs(self, sequences: int, runs: int, rng: np.random.Generator) -> Floats:
        """Log times of consecutive runs of one design: shape (sequences, runs)."""
        shape = (sequences, runs)
        times = rng.normal(0.0, self.sigma, shape)
        times += math.log1p(self.outlier_size) * (rng.random(shape) < self.outlier_share)
        times += np.cumsum(rng.normal(0.0, self.walk, shape), axis=1) + self.trend * np.arange(runs)
        return times

    def draw_pairs(
        self, gain: float, sequences: int, pairs: int, rng: np.random.Generator, *, group: int = 1
    ) -> Floats:
        """Log ratios of pairs in random order, the candidate faster by ``gain``: shape (sequences, pairs).

        ``group``: pairs that each pair of processes gives.
        """
        runs = self.draw_runs(sequences, 2 * pairs, rng)
        order = np.where(rng.random((sequences, pairs)) < 0.5, 1.0, -1.0)
        differences = order * (runs[:, 0::2] - runs[:, 1::2]) + math.log1p(gain)
        if self.process:
            placed = rng.normal(0.0, self.process, (sequences, -(-pairs // group)))
            differences += np.repeat(placed, group, axis=1)[:, :pairs]
        return differences


@dataclass(frozen=True)
class Outcomes:
    """How sequences of pairs ended, one element for each: its verdict, and how many pairs were used."""

    accepted: NDArray[np.bool_]
    rejected: NDArray[np.bool_]
    pairs: NDArray[np.int64]

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Which sequences came to their end without a verdict."""
        return ~(self.accepted | self.rejected)


def outcomes(
    policy: Policy, scale: float | Floats, differences: Floats, *, group: int = 1, futility: bool = True
) -> Outcomes:
    """Verdicts of ``policy`` on every row of ``differences`` (log ratios, shape (sequences, pairs)).

    Decides as :func:`~.sequential.decide` does with a cap of ``differences.shape[1]`` pairs. ``scale``: one for all,
    or shape (sequences,). ``group``: pairs that each pair of processes gives. ``futility=False`` leaves out the
    rejection, to see what acceptance alone does.
    """
    sequences, pairs = differences.shape
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), (sequences,))
    accepted, rejected = np.zeros(sequences, dtype=bool), np.zeros(sequences, dtype=bool)
    used = np.full(sequences, pairs, dtype=np.int64)
    live = np.arange(sequences)
    width = len(components(policy))
    log_accept, log_futile = np.zeros((width, sequences, 1)), np.zeros((width, sequences, 1))
    target = math.log1p(policy.futile_gain)
    step = group * max(1, _BLOCK // group)
    for start in range(0, pairs, step):
        block = differences[live, start : start + step]
        # Pairs read once each group of the block is complete; the last group may be cut short by the end.
        count = np.minimum(np.arange(start + group, start + block.shape[1] + group, group), pairs)
        paths = log_accept[:, live] + _log_products(policy, scales[live], block, group)
        log_accept[:, live] = paths[:, :, -1:]
        allowed = count >= policy.min_pairs
        e_accept = policy.idle_weight + (1 - policy.idle_weight) * _mean(policy, paths)
        up = allowed & (e_accept >= policy.accept_e)
        down = np.zeros_like(up)
        if futility:
            paths = log_futile[:, live] + _log_products(policy, scales[live], target - block, group)
            log_futile[:, live] = paths[:, :, -1:]
            down = allowed & (_mean(policy, paths) >= policy.futile_e)
        ended = up | down
        first = ended.argmax(axis=1)
        done = ended.any(axis=1)
        rows = np.flatnonzero(done)
        accepted[live[rows]] = up[rows, first[rows]]
        rejected[live[rows]] = ~up[rows, first[rows]]
        used[live[rows]] = count[first[rows]]
        live = live[~done]
        if live.size == 0:
            break
    return Outcomes(accepted, rejected, used)


def _log_products(policy: Policy, scales: Floats, differences: Floats, group: int) -> Floats:
    """Log of each component's running product after each group: shape (components, sequences, groups)."""
    starts = np.arange(0, differences.shape[1], group)
    out = np.empty((len(components(policy)), differences.shape[0], starts.size))
    for index, (_, part) in enumerate(components(policy)):
        if isinstance(part, Component):
            core = (part.scale * scales)[:, None]
            tail = part.tail_scale * core
            densities = []
            for offset in (differences - part.shift, differences + part.shift):
                squared = offset * offset
                normal = np.exp(squared * (-0.5 / core**2)) * ((1 - part.tail_weight) / (core * math.sqrt(2 * math.pi)))
                densities.append(normal + (part.tail_weight * tail / math.pi) / (squared + tail * tail))
            if group == 1:
                out[index] = np.log(2 * densities[0] / (densities[0] + densities[1]))
                continue
            evidence = np.log(densities[0] / densities[1])
        else:
            evidence = math.log((2 - part.tail_weight) / part.tail_weight) * np.sign(differences)
        out[index] = math.log(2) - np.logaddexp(0.0, -np.add.reduceat(evidence, starts, axis=1))
    return np.cumsum(out, axis=2)


def _mean(policy: Policy, logs: Floats) -> Floats:
    """Weighted mean over components of the products whose logs are given: shape (sequences, groups)."""
    weights = np.array([weight for weight, _ in components(policy)])
    return np.tensordot(weights, np.exp(np.minimum(logs, 600.0)), axes=1)
