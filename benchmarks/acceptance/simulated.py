"""Simulations of the sequential test: error rates, cost, power, estimates and alarms under known noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from kernelwright.acceptance.alarm import check_anchor
from kernelwright.acceptance.bets import Component, components
from kernelwright.acceptance.estimate import Gain, core_scale, hodges_lehmann
from kernelwright.acceptance.policy import Policy
from kernelwright.acceptance.power import CALIBRATION_PAIRS, power
from kernelwright.acceptance.simulation import Floats, NoiseModel, Outcomes, outcomes

from .fixed import clipped, exact_score, rank_sum_rejects, sign_flip_rejects, smallest, wilcoxon_rejects

Row = dict[str, Any]

NOISE = NoiseModel(sigma=0.01, outlier_share=0.05, outlier_size=0.10, walk=0.001, trend=0.0005)
TRUE_GAIN = 0.02
_CHUNK = 10000


def many(
    policy: Policy,
    noise: NoiseModel,
    gain: float | Floats,
    sequences: int,
    rng: np.random.Generator,
    *,
    pairs: int | None = None,
    futility: bool = True,
) -> Outcomes:
    """Outcomes of many comparisons, each with a scale from its own 32 A/A pairs. ``gain``: one, or one per comparison."""
    gains = np.broadcast_to(np.asarray(gain, dtype=np.float64), (sequences,))
    parts = []
    for start in range(0, sequences, _CHUNK):
        chunk = gains[start : start + _CHUNK]
        scales = core_scale(noise.draw_pairs(0.0, chunk.size, CALIBRATION_PAIRS, rng))
        drawn = noise.draw_pairs(0.0, chunk.size, pairs or policy.pair_cap, rng) + np.log1p(chunk)[:, None]
        parts.append(outcomes(policy, scales, drawn, futility=futility))
    return Outcomes(
        np.concatenate([part.accepted for part in parts]),
        np.concatenate([part.rejected for part in parts]),
        np.concatenate([part.pairs for part in parts]),
    )


def error(share: float, count: int) -> float:
    """Standard error of a simulated share."""
    return math.sqrt(max(share * (1 - share), 1 / count) / count)


def headline(policy: Policy, sequences: int, rng: np.random.Generator) -> Row:
    """The default policy on equal candidates and on candidates 2 % faster."""
    equal = many(policy, NOISE, 0.0, sequences, rng)
    better = many(policy, NOISE, TRUE_GAIN, sequences, rng)
    false, found = float(equal.accepted.mean()), float(better.accepted.mean())
    return {
        "sequences": sequences,
        "false_acceptance": false,
        "false_acceptance_error": error(false, sequences),
        "power": found,
        "power_error": error(found, sequences),
        "missed_as_futile": float(better.rejected.mean()),
        "mean_runs_at_gain": 2 * float(better.pairs.mean()),
        "p95_runs_at_gain": 2 * float(np.quantile(better.pairs, 0.95)),
        "mean_runs_equal": 2 * float(equal.pairs.mean()),
        "equal_rejected": float(equal.rejected.mean()),
        "equal_undecided": float(equal.undecided.mean()),
    }


def variants(policy: Policy, sequences: int, rng: np.random.Generator) -> list[Row]:
    """Other ways to bet, under the same noise: what each costs and how often it errs."""
    kinds: list[tuple[str, Policy | None]] = [
        ("default policy", policy),
        ("no idle stake", replace(policy, idle_weight=0.0)),
        ("no bet on the sign", replace(policy, broad_weight=0.0)),
        ("one scale only", replace(policy, scales=(1.0,))),
        ("densities averaged inside each pair's factor", None),
    ]
    rows = []
    for name, kind in kinds:
        row: Row = {"variant": name}
        for label, gain in (("equal", 0.0), ("gain", TRUE_GAIN), ("double", 1.0)):
            if kind is None:
                found = _averaged_densities(policy, gain, sequences, rng)
            else:
                found = many(kind, NOISE, gain, sequences, rng)
            row[f"accepted_{label}"] = float(found.accepted.mean())
            row[f"runs_{label}"] = 2 * float(found.pairs.mean())
        rows.append(row)
    return rows


def _averaged_densities(policy: Policy, gain: float, sequences: int, rng: np.random.Generator) -> Outcomes:
    """The other reading of "f is a mixture": one factor per pair from the mean of the components' densities."""
    differences = NOISE.draw_pairs(gain, sequences, policy.pair_cap, rng)
    scales = core_scale(NOISE.draw_pairs(0.0, sequences, CALIBRATION_PAIRS, rng))[:, None]
    sized = [part for _, part in components(policy) if isinstance(part, Component)]

    def density(values: Floats) -> Floats:
        total = np.zeros_like(values)
        for part in sized:
            core = part.scale * scales
            tail, offset = part.tail_scale * core, values - part.shift
            normal = np.exp(-0.5 * (offset / core) ** 2) / (core * math.sqrt(2 * math.pi))
            total += (1 - part.tail_weight) * normal + part.tail_weight * tail / (math.pi * (offset**2 + tail**2))
        return total

    def path(values: Floats) -> Floats:
        toward, away = density(values), density(-values)
        product: Floats = np.exp(np.cumsum(np.log(2 * toward / (toward + away)), axis=1))
        return product

    allowed = np.arange(1, policy.pair_cap + 1) >= policy.min_pairs
    up = allowed & (path(differences) >= policy.accept_e)
    down = allowed & (path(math.log1p(policy.futile_gain) - differences) >= policy.futile_e)
    ended = up | down
    first = np.where(ended.any(axis=1), ended.argmax(axis=1), policy.pair_cap - 1)
    rows = np.arange(sequences)
    return Outcomes(up[rows, first], down[rows, first] & ~up[rows, first], first + 1)


def hostile_noise(policy: Policy, sequences: int, rng: np.random.Generator) -> list[Row]:
    """False acceptance where the noise is nothing like the model, and without the help of a cap or of rejections."""
    pairs = 10 * policy.pair_cap
    peeked = many(policy, NOISE, 0.0, sequences, rng, pairs=pairs, futility=False)
    rows: list[Row] = [_false_row(f"looked at after each of {pairs} pairs, never rejected", peeked)]
    rows += [
        _false_row(name, many(policy, noise, 0.0, sequences, rng))
        for name, noise in (
            ("drift of 1 % per run", replace(NOISE, trend=0.01)),
            ("level walks by 3 % per run", replace(NOISE, walk=0.03)),
            ("30 % of runs take twice as long", replace(NOISE, outlier_share=0.3, outlier_size=1.0)),
        )
    ]
    shape = (sequences, policy.pair_cap)
    bursts = np.where(np.arange(policy.pair_cap) // 6 % 2 == 0, 0.002, 0.08)
    others: list[tuple[str, Floats]] = [
        ("Cauchy noise, scale known to a factor of 4", 0.04 * rng.standard_cauchy(shape)),
        ("quiet and loud stretches in turn (0.2 % and 8 %)", np.asarray(bursts * rng.normal(size=shape), np.float64)),
        (
            "timer so coarse that differences are 0 or one step",
            np.asarray(0.01 * rng.integers(-1, 2, shape), np.float64),
        ),
    ]
    rows += [_false_row(name, outcomes(policy, 0.01, drawn)) for name, drawn in others]
    for slower in (0.002, 0.01):
        found = many(policy, NOISE, -slower, sequences, rng)
        rows.append(_false_row(f"candidate slower by {slower:.1%}", found))
    return rows


def _false_row(name: str, found: Outcomes) -> Row:
    share = float(found.accepted.mean())
    return {
        "case": name,
        "false_acceptance": share,
        "error": error(share, found.accepted.size),
        "mean_runs": 2 * float(found.pairs.mean()),
    }


def fixed_tests(power_wanted: float, sequences: int, rng: np.random.Generator) -> list[Row]:
    """Device runs that tests of a fixed size need for this power at 2 %, level 1 % one-sided, looked at once."""
    most = 150
    better = NOISE.draw_pairs(TRUE_GAIN, sequences, most, rng)
    equal = NOISE.draw_pairs(0.0, sequences, most, rng)
    still = replace(NOISE, trend=0.0, walk=0.0)
    candidates = still.draw_runs(sequences, most, rng) - math.log1p(TRUE_GAIN)
    bests = still.draw_runs(sequences, most, rng)
    drifting = NOISE.draw_runs(sequences, 2 * most, rng)
    score = exact_score(NOISE, TRUE_GAIN)
    scale = NOISE.sigma * math.sqrt(2)

    def blocks(pairs: int, gain: float) -> Any:
        # All runs of one arm, then all of the other; which comes first is a coin flip.
        first, second = drifting[:, :pairs], drifting[:, pairs : 2 * pairs]
        coin = rng.random((sequences, 1)) < 0.5
        best = np.where(coin, first, second)
        candidate = np.where(coin, second, first) - math.log1p(gain)
        return rank_sum_rejects(best, candidate)

    tests: list[tuple[str, Any, Any]] = [
        ("sign test", lambda n: sign_flip_rejects(np.sign(better[:, :n]), rng),
         lambda n: sign_flip_rejects(np.sign(equal[:, :n]), rng)),
        ("sign flips of the mean", lambda n: sign_flip_rejects(better[:, :n], rng),
         lambda n: sign_flip_rejects(equal[:, :n], rng)),
        ("sign flips of a clipped mean", lambda n: sign_flip_rejects(clipped(scale)(better[:, :n]), rng),
         lambda n: sign_flip_rejects(clipped(scale)(equal[:, :n]), rng)),
        ("sign flips, noise known exactly (best possible)", lambda n: sign_flip_rejects(score(better[:, :n]), rng),
         lambda n: sign_flip_rejects(score(equal[:, :n]), rng)),
        ("Wilcoxon signed rank (pairs)", lambda n: wilcoxon_rejects(better[:, :n]),
         lambda n: wilcoxon_rejects(equal[:, :n])),
        ("Wilcoxon rank sum (unpaired), no drift", lambda n: rank_sum_rejects(bests[:, :n], candidates[:, :n]),
         lambda n: rank_sum_rejects(bests[:, :n], candidates[:, :n] + math.log1p(TRUE_GAIN))),
        ("Wilcoxon rank sum (unpaired), arms in blocks, drift", lambda n: blocks(n, TRUE_GAIN),
         lambda n: blocks(n, 0.0)),
    ]  # fmt: skip
    rows = []
    for name, rejects, errs in tests:
        found = smallest(rejects, power_wanted, 7, most)
        pairs = found[0] if found else most
        rows.append(
            {
                "test": name,
                "runs": 2 * pairs if found else None,
                "power": found[1] if found else float(rejects(most).mean()),
                "false_acceptance": float(errs(pairs).mean()),
            }
        )
    return rows


def peeked_wilcoxon(policy: Policy, sequences: int, rng: np.random.Generator) -> float:
    """False acceptance when a 1 % signed-rank test is looked at after every pair up to the cap."""
    equal = NOISE.draw_pairs(0.0, sequences, policy.pair_cap, rng)
    ever = np.zeros(sequences, dtype=bool)
    for pairs in range(policy.min_pairs, policy.pair_cap + 1):
        ever |= wilcoxon_rejects(equal[:, :pairs])
    return float(ever.mean())


def campaign(policy: Policy, campaigns: int, rng: np.random.Generator) -> list[Row]:
    """300 candidates, 261 (87 %) of them no better: false acceptances per campaign, and the others found."""
    count, idle = 300, 261
    rows = []
    for name, worst in (("all 261 exactly equal", True), ("half of the 261 equal, half slower by 0 to 5 %", False)):
        gains = np.zeros((campaigns, count))
        if not worst:
            gains[:, : idle // 2] = -0.05 * rng.random((campaigns, idle // 2))
        gains[:, idle:] = rng.choice([0.005, 0.01, 0.02, 0.04, 0.08], (campaigns, count - idle))
        found = many(policy, NOISE, gains.reshape(-1), gains.size, rng)
        accepted = found.accepted.reshape(campaigns, count)
        false = accepted[:, :idle].sum(axis=1)
        worth = gains[:, idle:] >= 0.02
        rows.append(
            {
                "case": name,
                "campaigns": campaigns,
                "false_acceptances": float(false.mean()),
                "error": float(false.std() / math.sqrt(campaigns)),
                "campaigns_with_none": float((false == 0).mean()),
                "found_of_2_percent_and_more": float(accepted[:, idle:][worth].mean()),
                "runs_per_candidate": 2 * float(found.pairs.mean()),
            }
        )
    return rows


def costs(policy: Policy, sequences: int, rng: np.random.Generator) -> list[Row]:
    """What the policy detects as the device gets noisier."""
    rows = []
    for sigma in (0.005, 0.01, 0.02, 0.04, 0.06, 0.10):
        small, large = (power(policy, sigma, gain, rng, sequences=sequences, noise=NOISE) for gain in (0.02, 0.10))
        least = small.minimum_detectable_gain
        rows.append(
            {
                "sigma": sigma,
                "power_2": small.power,
                "runs_2": 2 * small.mean_pairs_better,
                "power_10": large.power,
                "runs_10": 2 * large.mean_pairs_better,
                "false_acceptance": (small.false_acceptance + large.false_acceptance) / 2,
                "runs_equal": small.mean_pairs_equal + large.mean_pairs_equal,
                "detectable": least,
                "constant": math.log1p(least) * math.sqrt(policy.pair_cap) / sigma,
            }
        )
    return rows


def estimates(policy: Policy, sequences: int, rng: np.random.Generator) -> Row:
    """The gain claimed by the deciding pairs beside that of fresh pairs, true gain 1 %; and the interval's coverage."""
    gain = 0.01
    scale = NOISE.sigma * math.sqrt(2)
    drawn = NOISE.draw_pairs(gain, sequences, policy.pair_cap, rng)
    found = outcomes(policy, scale, drawn)
    rows = np.flatnonzero(found.accepted)
    deciding = [hodges_lehmann(drawn[row, : found.pairs[row]], policy.confidence).ratio for row in rows]
    fresh = [
        hodges_lehmann(row, policy.confidence) for row in NOISE.draw_pairs(gain, rows.size, policy.confirm_pairs, rng)
    ]
    return {
        "true_gain": gain,
        "accepted": int(rows.size),
        "mean_gain_deciding_pairs": float(np.mean(deciding)) - 1,
        "mean_gain_fresh_pairs": float(np.mean([one.ratio for one in fresh])) - 1,
        "coverage": float(np.mean([one.low <= 1 + gain <= one.high for one in fresh])),
        "coverage_stated": fresh[0].confidence,
        "mean_half_width": float(np.mean([math.log(one.high / one.low) / 2 for one in fresh])),
    }


def alarms(policy: Policy, lineages: int, rng: np.random.Generator) -> list[Row]:
    """Ten claims of 2 % each from fresh pairs, then champion against anchor: how often the alarm is raised."""
    steps = policy.anchor_every
    rows = []
    for name, there in (("all ten gains are there", 10), ("two of ten are not there", 8), ("half are not", 5)):
        raised, outside = 0, 0
        for _ in range(lineages):
            claims = [
                hodges_lehmann(row, policy.confidence)
                for row in NOISE.draw_pairs(TRUE_GAIN, steps, policy.confirm_pairs, rng)
            ]
            measured = _champion(policy, (1 + TRUE_GAIN) ** there - 1, rng)
            check = check_anchor(claims, measured)
            raised += check.alarm
            outside += check.outside
        rows.append({"case": name, "alarm": raised / lineages, "outside_bare_interval": outside / lineages})
    return rows


def _champion(policy: Policy, gain: float, rng: np.random.Generator) -> Gain:
    return hodges_lehmann(NOISE.draw_pairs(gain, 1, policy.anchor_pairs, rng)[0], policy.anchor_confidence)


def processes(policy: Policy, sequences: int, rng: np.random.Generator) -> list[Row]:
    """Placement that differs from process to process: pairs of one process taken as separate, or as one bet."""
    rows = []
    for share in (0.0, 0.5, 1.0):
        # In units of the noise of a pair without placement.
        noise = replace(NOISE, process=share * NOISE.sigma * math.sqrt(2))
        for per_process, group in ((1, 1), (2, 1), (2, 2), (4, 1), (4, 4), (8, 1)):
            row: Row = {
                "placement": share,
                "per_process": per_process,
                "treated": "one bet" if group > 1 else "separate",
            }
            for label, gain in (("equal", 0.0), ("gain", TRUE_GAIN)):
                scales = core_scale(noise.draw_pairs(0.0, sequences, CALIBRATION_PAIRS, rng, group=per_process))
                drawn = noise.draw_pairs(gain, sequences, policy.pair_cap, rng, group=per_process)
                found = outcomes(policy, scales, drawn, group=group)
                row[f"accepted_{label}"] = float(found.accepted.mean())
                row[f"runs_{label}"] = 2 * float(found.pairs.mean())
            rows.append(row)
    return rows


def misjudged_scale(policy: Policy, sequences: int, rng: np.random.Generator) -> list[Row]:
    """A calibration that is wrong by a factor, or that took the standard deviation instead of the core's scale."""
    equal = NOISE.draw_pairs(0.0, sequences, policy.pair_cap, rng)
    better = NOISE.draw_pairs(TRUE_GAIN, sequences, policy.pair_cap, rng)
    core = float(core_scale(NOISE.draw_pairs(0.0, 1, 20000, rng))[0])
    cases = [(f"{factor:g} times the core's scale", factor * core) for factor in (0.35, 0.5, 0.7, 1.0, 1.5, 2.0)]
    cases.append(("standard deviation, outliers included", float(equal.std())))
    rows = []
    for name, scale in cases:
        false, found = outcomes(policy, scale, equal), outcomes(policy, scale, better)
        rows.append(
            {
                "case": name,
                "scale": scale,
                "false_acceptance": float(false.accepted.mean()),
                "runs_equal": 2 * float(false.pairs.mean()),
                "power": float(found.accepted.mean()),
                "runs_gain": 2 * float(found.pairs.mean()),
            }
        )
    return rows
