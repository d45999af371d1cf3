"""Run the measurements and print them as Markdown: ``python -m benchmarks.acceptance`` from the repository root."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from kernelwright.acceptance.policy import Policy, PolicyError

from . import readings, simulated, tables
from .report import bullet, heading

LIMITS = {
    "false_acceptance": ("false acceptance per decision, equal candidates", 0.01, "at most"),
    "power": ("power at a true 2 %", 0.999, "at least"),
    "mean_runs_at_gain": ("mean device runs at a true 2 %", 30.0, "at most"),
    "false_acceptances": ("false acceptances in 300 candidates, 261 of them exactly equal", 1.0, "at most"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 when every figure asked for is met, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.acceptance", description=__doc__)
    parser.add_argument("--seed", type=int, default=20260901, help="seed of every simulation (default %(default)s)")
    parser.add_argument("--scale", type=float, default=1.0, help="multiply every number of simulated comparisons")
    parser.add_argument("--readings", type=Path, help="a JSON file of real device readings (see README.md)")
    parser.add_argument("--policy", action="append", default=[], metavar="KEY=VALUE", help="override a threshold")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every number to FILE")
    options = parser.parse_args(arguments)
    try:
        policy = Policy().with_overrides(options.policy)
    except PolicyError as error:
        parser.error(str(error))

    started = time.process_time()
    results = simulate(policy, options.seed, options.scale)
    if options.readings is None or not options.readings.is_file():
        where = "no --readings given" if options.readings is None else f"{options.readings} is not there"
        results["readings"] = None
        say(f"Real readings skipped: {where}.\n\n")
    else:
        results["readings"] = real(policy, options.readings, options.seed, options.scale)
    say(heading("How this was run"))
    took = time.process_time() - started
    say(bullet(f"policy {policy.digest}, seed {options.seed}, {took:.0f} s of CPU time, NumPy {np.__version__}"))
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0 if all(row["met"] for row in results["figures"]) else 1


def say(words: str) -> None:
    """Print now."""
    sys.stdout.write(words)
    sys.stdout.flush()


def simulate(policy: Policy, seed: int, scale: float) -> dict[str, Any]:
    """Every simulated part, printed as it is done; each has a generator of its own, so parts do not move each other."""

    def size(number: int) -> int:
        return max(200, round(number * scale))

    def part(number: int) -> np.random.Generator:
        return np.random.default_rng([seed, number])

    say("# Acceptance under noise: measured\n\n")
    headline = simulated.headline(policy, size(80_000), part(1))
    campaign = simulated.campaign(policy, size(250), part(3))
    measured = {**headline, "false_acceptances": campaign[0]["false_acceptances"]}
    figures = [_figure(key, measured[key]) for key in LIMITS]
    say(tables.figures(figures, headline))
    fixed = simulated.fixed_tests(0.999, size(10_000), part(2))
    peeked = simulated.peeked_wilcoxon(policy, size(20_000), part(4))
    say(tables.fixed(fixed, headline, peeked))
    say(tables.campaign(campaign))
    results: dict[str, Any] = {
        "seed": seed,
        "policy": policy.as_dict(),
        "figures": figures,
        "headline": headline,
        "fixed_tests": fixed,
        "peeked_wilcoxon": peeked,
        "campaign": campaign,
    }
    rest: list[tuple[str, Callable[[], Any], Callable[[Any], str]]] = [
        ("variants", lambda: simulated.variants(policy, size(8_000), part(5)), tables.variants),
        ("hostile_noise", lambda: simulated.hostile_noise(policy, size(10_000), part(6)), tables.hostile),
        ("misjudged_scale", lambda: simulated.misjudged_scale(policy, size(8_000), part(7)), tables.scales),
        ("processes", lambda: simulated.processes(policy, size(5_000), part(8)), tables.processes),
        ("costs", lambda: simulated.costs(policy, size(3_000), part(9)), tables.costs),
        ("estimates", lambda: simulated.estimates(policy, size(4_000), part(10)), tables.estimates),
        ("alarms", lambda: simulated.alarms(policy, size(300), part(11)), tables.alarms),
    ]
    for name, measure, show in rest:
        results[name] = measure()
        say(show(results[name]))
    return results


def real(policy: Policy, path: Path, seed: int, scale: float) -> dict[str, Any]:
    """The parts on real readings, printed."""
    sets = readings.load(path)
    rng = np.random.default_rng([seed, 12])
    same = readings.same_kernel(policy, sets, max(200, round(6_000 * scale)), rng)
    say(tables.same_kernel(same))
    paired = readings.paired_sets(policy, sets, rng)
    say(tables.paired_sets(paired))
    return {"file": path.name, "same_kernel": same, "paired_sets": paired}


def _figure(key: str, measured: float) -> dict[str, Any]:
    name, limit, kind = LIMITS[key]
    met = measured <= limit if kind == "at most" else measured >= limit
    return {"figure": name, "wanted": f"{kind} {limit:g}", "measured": measured, "met": bool(met)}


if __name__ == "__main__":
    sys.exit(main())
