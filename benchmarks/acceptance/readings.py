"""The test on real device readings: identical kernels split into A/A pairs, and recorded paired comparisons."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from kernelwright.acceptance.estimate import core_scale, hodges_lehmann
from kernelwright.acceptance.policy import Policy
from kernelwright.acceptance.sequential import decide
from kernelwright.acceptance.simulation import Floats, outcomes

Row = dict[str, Any]


def load(path: Path) -> list[Row]:
    """The reading sets of a file: ``{"readings": [{id, kernel, unit, protocol, samples, order?, arm_A?, arm_B?}]}``."""
    sets: list[Row] = json.loads(path.read_text(encoding="utf-8"))["readings"]
    return sets


def identical(sets: list[Row]) -> dict[str, list[Floats]]:
    """Sets of at least four readings of one identical kernel (log cycles), by kernel."""
    found: dict[str, list[Floats]] = defaultdict(list)
    for one in sets:
        same = one["protocol"].startswith("same_source_cold") or one["protocol"] == "official_runs_in_one_grading"
        if same and one["unit"] == "cycles" and len(one["samples"]) >= 4:
            found[one["kernel"]].append(np.log(np.asarray(one["samples"], dtype=np.float64)))
    return dict(found)


def _split(groups: list[Floats], splits: int, adjacent: bool, rng: np.random.Generator) -> Floats:
    """Random A/A pairs within each set, shape (splits, pairs): log ratios; neighbours in time when ``adjacent``."""
    rows = []
    for values in groups:
        if adjacent:
            order = np.broadcast_to(np.arange(values.size), (splits, values.size))
        else:
            order = rng.permuted(np.broadcast_to(np.arange(values.size), (splits, values.size)), axis=1)
        half = values.size // 2
        drawn = values[order]
        differences = drawn[:, 0 : 2 * half : 2] - drawn[:, 1 : 2 * half : 2]
        rows.append(differences * np.where(rng.random(differences.shape) < 0.5, 1.0, -1.0))
    pairs = np.concatenate(rows, axis=1)
    # Neither the sets nor the pairs within them have an order that matters, unless neighbours in time were asked for.
    return pairs if adjacent else rng.permuted(pairs, axis=1)


def same_kernel(policy: Policy, sets: list[Row], splits: int, rng: np.random.Generator) -> list[Row]:
    """False acceptance on A/A pairs of identical kernels, and power where the candidate's readings are made faster.

    The scale of each split comes from another random split of the same sets, as a calibration before the session
    would.
    """
    by_kernel = identical(sets)
    largest = max((group for groups in by_kernel.values() for group in groups), key=lambda values: values.size)
    cases = [("longest set alone", [largest]), *by_kernel.items()]
    rows = []
    for name, groups in cases:
        for adjacent in (False, True):
            pairs = _split(groups, splits, adjacent, rng)[:, : policy.pair_cap]
            scales = core_scale(_split(groups, splits, False, rng))
            equal = outcomes(policy, scales, pairs)
            row: Row = {
                "readings": name,
                "pairing": "neighbours, label by coin" if adjacent else "at random",
                "pairs": int(pairs.shape[1]),
                "scale": float(np.median(scales)),
                "splits": splits,
                "false_acceptance": float(equal.accepted.mean()),
                "rejected": float(equal.rejected.mean()),
                "undecided": float(equal.undecided.mean()),
            }
            for gain in (0.02, 0.05, 0.10):
                row[f"power_{gain:g}"] = float(outcomes(policy, scales, pairs + math.log1p(gain)).accepted.mean())
            rows.append(row)
    return rows


def paired_sets(policy: Policy, sets: list[Row], rng: np.random.Generator) -> list[Row]:
    """What the policy says of every recorded paired comparison, B (or the candidate) against A (or the incumbent)."""
    scales = {
        kernel: float(np.median(core_scale(_split(groups, 400, False, rng))))
        for kernel, groups in identical(sets).items()
    }
    cycles = {kernel: float(np.median(np.exp(np.concatenate(groups)))) for kernel, groups in identical(sets).items()}
    rows = []
    for one in sets:
        differences = _differences(one, cycles)
        if differences is None or one["kernel"] not in scales:
            continue
        forward = decide(policy, scales[one["kernel"]], differences)
        backward = decide(policy, scales[one["kernel"]], [-d for d in differences])
        gain = hodges_lehmann(differences, policy.confidence)
        rows.append(
            {
                "id": one["id"],
                "kernel": one["kernel"],
                "protocol": one["protocol"],
                "pairs": len(differences),
                "scale": scales[one["kernel"]],
                "gain": gain.ratio - 1,
                "low": gain.low - 1,
                "high": gain.high - 1,
                "coverage": gain.confidence,
                "e_accept": forward.e_accept[-1],
                "e_futile": forward.e_futile[-1],
                "verdict": forward.verdict,
                "e_other_way": backward.e_accept[-1],
                "verdict_other_way": backward.verdict,
            }
        )
    return rows


def _differences(one: Row, cycles: dict[str, float]) -> list[float] | None:
    """Log ratios A / B of a paired set, or None for a set that is not paired."""
    if one["protocol"] == "paired_diffs":
        # Candidate minus incumbent without the level: the kernel's median over all identical readings stands in for it.
        level = cycles[one["kernel"]]
        return [-math.log1p(difference / level) for difference in one["samples"]]
    if "order" in one:
        pairs = []
        for index in range(0, len(one["samples"]) - 1, 2):
            two = dict(zip(one["order"][index : index + 2], one["samples"][index : index + 2], strict=True))
            pairs.append(math.log(two["A"] / two["B"]))
        return pairs
    if "arm_B" in one:
        return [math.log(a / b) for a, b in zip(one["samples"], one["arm_B"], strict=True)]
    return None
