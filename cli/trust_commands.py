"""Commands about trust in readings: what a device can tell, and what a policy costs and detects. They write no log."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .guard import explained, interruptible
from .inspect_commands import Json
from .output import console, emit_json, fail, say, seconds_text
from .settings import settings_and_policy

if TYPE_CHECKING:
    from ..acceptance.calibration import SameReadings
    from ..acceptance.policy import Policy
    from ..hardware.target import Pairs, Session, Target
    from ..kernels.spec import KernelSpec

PolicyOption = Annotated[
    list[str] | None, typer.Option("--policy", help="Acceptance threshold key=value; may be given again.")
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="A TOML file; kernelwright.toml here by default.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    for command in (calibrate, power):
        app.command()(command)


def calibrate(
    target: Annotated[str | None, typer.Option(help="The accelerator: cpu.")] = None,
    kernel: Annotated[
        str | None, typer.Option("--kernel", help="The kernel; the first configured one if left out.")
    ] = None,
    kernel_file: Annotated[Path | None, typer.Option(help="A Python file that defines a kernel of yours.")] = None,
    pairs: Annotated[int, typer.Option(min=8, max=1000, help="Pairs of each kind of reading.")] = 8,
    sandbox: Annotated[str | None, typer.Option(help="Isolation of candidate code: full, or reduced.")] = None,
    policy: PolicyOption = None,
    config: ConfigOption = None,
    as_json: Json = False,
) -> None:
    """Read a kernel's baseline against itself: how noisy the device is, and what it can tell apart. Exit code 1: refused."""
    overrides: dict[str, Any] = {
        "target": target,
        "kernels": (kernel,) if kernel is not None else None,
        "kernel_files": (str(kernel_file),) if kernel_file is not None else None,
        "targets": {"cpu": {"sandbox": sandbox}},
    }
    settings, thresholds = settings_and_policy(config, overrides, policy, as_json=as_json)
    from .assemble import assemble

    parts = assemble(settings, as_json=as_json)
    spec = next(iter(parts.specs.values()))
    with explained(as_json=as_json), interruptible():
        if not parts.target.has_device:
            fail(f"the target {parts.target.name} has no device to calibrate", as_json=as_json)
        found = _calibrated(parts.target, spec, thresholds, pairs)
    if as_json:
        emit_json(found)
    else:
        _print_calibration(found)
    if found["refused"]:
        raise typer.Exit(1)


def _calibrated(target: Target, spec: KernelSpec, policy: Policy, pairs: int) -> dict[str, Any]:
    """Build the baseline, see that it is right, read it against itself; the finding as plain data. Raises TargetError."""
    import numpy as np

    from ..acceptance.calibration import calibrate as judge
    from ..hardware.target import TargetError

    built = target.build(spec, target.baseline(spec))
    if not built.ok:
        raise TargetError(f"the baseline of {spec.name} does not build: {built.outcome}: {built.diagnostics}")
    with target.open(spec, secrets.randbits(63)) as bench:
        report = bench.verify(built, secrets.randbits(63))
        if not report.ok:
            raise TargetError(f"the baseline of {spec.name} is not right: {report.outcome}: {report.reason}")
        with bench.pair(built, built, secrets.randbits(63)) as session:
            readings, seconds = _readings(session, policy, pairs)
    found = judge(policy, readings, np.random.default_rng(secrets.randbits(63)))
    return {
        "target": target.name,
        "kernel": spec.name,
        "seconds": seconds,
        "refused": found.refused,
        "reason": found.reason,
        "calls_per_reading": found.calls_per_reading,
        "scale": found.scale,
        "minimum_detectable_gain": _finite(found.minimum_detectable_effect),
        "e_same": found.e_same,
        "device_seconds": sum(kind.device_seconds for kind in readings),
        "readings": [
            {
                **asdict(choice),
                "minimum_detectable_gain": _finite(choice.minimum_detectable_gain),
                "device_seconds": kind.device_seconds,
            }
            for choice, kind in zip(found.choices, readings, strict=True)
        ],
        "policy": policy.as_dict(),
    }


def _readings(session: Session, policy: Policy, pairs: int) -> tuple[list[SameReadings], float]:
    """A/A pairs of each kind of reading that fits the kernel, and the seconds of one call. Raises TargetError."""
    import numpy as np

    from ..acceptance.calibration import SameReadings
    from ..acceptance.sequential import log_ratio
    from ..graph.steps.calibrate import kinds_of_reading
    from ..hardware.outcome import Outcome
    from ..hardware.target import TargetError

    coins = np.random.default_rng(secrets.randbits(63))

    def read(count: int, calls: int) -> Pairs:
        orders: Sequence[Literal["BC", "CB"]] = ["BC" if coin else "CB" for coin in coins.integers(0, 2, count)]
        taken = session.read(orders, calls, policy.pairs_per_process)
        if taken.outcome is not Outcome.OK or not taken.pairs:
            raise TargetError(f"the device gave no reading: {taken.outcome}: {taken.reason}")
        return taken

    seconds = read(1, 1).pairs[0].best_seconds
    readings = []
    for calls in kinds_of_reading(seconds):
        taken = read(pairs, calls)
        differences = tuple(log_ratio(pair.best_seconds, pair.candidate_seconds) for pair in taken.pairs)
        readings.append(SameReadings(calls, differences, taken.device_seconds))
        seconds = float(np.median([pair.best_seconds for pair in taken.pairs]))
    return readings, seconds


def _print_calibration(found: dict[str, Any]) -> None:
    say(f"{found['kernel']} on {found['target']}: one call of the baseline takes {seconds_text(found['seconds'])}")
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("calls per reading", "pairs", "scale", "minimum gain", "power", "s per pair", "s to detect"):
        table.add_column(heading, justify="right")
    for each in found["readings"]:
        table.add_row(
            str(each["calls"]),
            str(each["pairs"]),
            f"{each['scale']:.4f}",
            _gain_text(each["minimum_detectable_gain"]),
            f"{each['power']:.0%}",
            f"{each['device_seconds_per_pair']:.3g}",
            f"{each['device_seconds_to_detect']:.3g}",
        )
    console().print(table)
    wanted = found["policy"]["detect_gain"]
    say(
        f"power and seconds to detect are for a gain of {wanted:.1%}; {found['device_seconds']:.3g} device seconds in all"
    )
    if found["refused"]:
        say(f"REFUSED: {found['reason']}")
    else:
        say(f"taken: {found['calls_per_reading']} calls per reading; {found['reason']}")


def power(
    sigma: Annotated[float, typer.Option(help="Standard deviation of the log of one run: 0.01 is 1 %.")],
    effect: Annotated[float, typer.Option(help="True gain of the better candidate: 0.02 is 2 % faster.")],
    policy: PolicyOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation; equal seeds give equal numbers.")] = 0,
    sequences: Annotated[int, typer.Option(min=100, max=1_000_000, help="Comparisons to simulate.")] = 4000,
    config: ConfigOption = None,
    as_json: Json = False,
) -> None:
    """Simulate what the policy costs and detects under a given noise: false acceptance, power, pairs."""
    _, thresholds = settings_and_policy(config, {}, policy, as_json=as_json)
    import numpy as np

    from ..acceptance.power import power as simulate

    try:
        found = simulate(thresholds, sigma, effect, np.random.default_rng(seed), sequences=sequences)
    except ValueError as error:
        fail(str(error), as_json=as_json)
    plain = asdict(found)
    plain["minimum_detectable_gain"] = _finite(found.minimum_detectable_gain)
    if as_json:
        emit_json({**plain, "seed": seed, "policy": thresholds.as_dict()})
        return
    say(
        f"{sequences} comparisons each; one run's log has a standard deviation of {sigma:g}, 5 % of runs take 10 % longer"
    )
    say(f"false acceptance   {found.false_acceptance:.2%} of candidates that are no faster")
    say(f"power              {found.power:.2%} of candidates that are {effect:.2%} faster are accepted")
    say(f"wrongly rejected   {found.missed:.2%} of them")
    say(
        f"pairs              {found.mean_pairs_better:.1f} on average when faster, {found.mean_pairs_equal:.1f} when not"
    )
    detected = _gain_text(plain["minimum_detectable_gain"])
    say(
        f"detectable gain    {detected}, with a power of {thresholds.detect_power:.0%} within {thresholds.pair_cap} pairs"
    )


def _finite(value: float) -> float | None:
    """JSON has no infinity: None stands for "no gain below 100 %"."""
    return value if isfinite(value) else None


def _gain_text(value: float | None) -> str:
    return "above 100 %" if value is None else f"{value:.2%}"
