"""A comparison as a job: both arms in it, pairs in the order that was drawn, each launch a process of its own.

Jobs differ from each other, so a pair never spans two. A process reads its first launch 3 to 5 % slower (participants'
notes of the 2026 RNGD kernel contest): each process gives the median of its runs without the first where it has more than
one, a job begins with a launch of each arm that does not count, and the coin of the pair says which arm comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ....outcome import Outcome
from .log import ArenaLog, Side, medians, parse_log
from .states import JobStatus

Order = Literal["BC", "CB"]
WARM_UP = "warm-up"
ENTRY = "entry.sh"
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=:.,")


@dataclass(frozen=True)
class Plan:
    """What a job reads. ``facts`` go into its first line and are compared when a job is taken over.

    ``variables`` are set for every launch (the profiling variable, the only kernel to run).
    """

    kernel: str
    orders: tuple[Order, ...]
    best: str
    candidate: str
    variables: tuple[tuple[str, str], ...]

    @property
    def facts(self) -> dict[str, str]:
        """What the job says of itself: kernel, orders and the digests of both programs."""
        named = {"kernel": self.kernel, "orders": ",".join(self.orders)}
        return named | {"best": self.best[:16], "candidate": self.candidate[:16]}


def script(plan: Plan) -> str:
    """The entry point of the job: a shell script of marks and launches. Raises ValueError for a name that needs quoting."""
    words = [*plan.facts.values(), *(part for pair in plan.variables for part in pair)]
    if not all(word and set(word) <= _SAFE for word in words):
        raise ValueError(f"names of a job are plain words, not {words!r}")
    facts = " ".join(f"{name}={value}" for name, value in plan.facts.items())
    variables = " ".join(f"{name}={value}" for name, value in plan.variables)
    lines = [
        "#!/bin/sh",
        'cd "$(dirname "$0")" || exit 1',
        "chmod +x ./best ./candidate",
        f"echo '@@kernelwright job {facts}@@'",
        "launch() {",
        '  echo "@@kernelwright begin pair=$1 side=$2@@"',
        f'  env {variables} "./$2"',
        '  echo "@@kernelwright end pair=$1 side=$2 status=$?@@"',
        "}",
    ]
    lines += [f"launch {name} {side}" for name, side in launches(plan)]
    return "\n".join([*lines, "exit 0", ""])


def launches(plan: Plan) -> list[tuple[str, str]]:
    """Pair and arm of every launch of the job, in order."""
    numbered = [(WARM_UP, plan.orders[0]), *((str(number), order) for number, order in enumerate(plan.orders))]
    return [(name, side) for name, order in numbered for side in sides(order)]


def sides(order: Order) -> tuple[Side, Side]:
    """The arms of a pair in the order of their launches."""
    return ("best", "candidate") if order == "BC" else ("candidate", "best")


def stage(folder: Path, plan: Plan, best: bytes, candidate: bytes, fixtures: Sequence[Path]) -> tuple[Path, list[Path]]:
    """Write the job's files into ``folder``: the entry point, and what goes with it."""
    folder.mkdir(parents=True, exist_ok=True)
    entry = folder / ENTRY
    entry.write_text(script(plan), encoding="utf-8")
    files = [folder / "best", folder / "candidate"]
    for path, content in zip(files, (best, candidate), strict=True):
        path.write_bytes(content)
        path.chmod(0o755)
    return entry, [*files, *fixtures]


@dataclass(frozen=True)
class Taken:
    """The pairs of a job: cycles of best and candidate, in order; and what ended them, if it was not their end.

    ``blamed`` is the arm that failed. ``missing`` is set when launches ran and no cycles were observed: no pair was lost to
    a design, and the job may be read again.
    """

    pairs: tuple[tuple[Order, float, float], ...]
    outcome: Outcome
    reason: str
    blamed: Side | Literal["nobody"]
    missing: bool = False


def cycles_of(runs: tuple[int, ...]) -> float:
    """The reading of one process: the median of its runs but the first, or the only one there is."""
    later = runs[1:] or runs
    found = medians(later)
    return (found[0] + found[-1]) / 2


def is_of(log: ArenaLog, plan: Plan) -> bool:
    """Whether a log is of this plan: kernel, orders and programs are what the job says of itself."""
    return log.facts == plan.facts


def read_job(plan: Plan, text: str, status: JobStatus) -> Taken:
    """The pairs in the log of a job that has ended. Nothing is inferred from absence: what is missing has a reason."""
    log = parse_log(text)
    if not is_of(log, plan):
        return Taken((), Outcome.NO_DEVICE, f"the log of job {status.job} is of another comparison", "nobody")
    said = [(launch.pair, launch.arm) for launch in log.launches]
    if said != launches(plan)[: len(said)]:
        # The program prints into the same log: marks that are not the script's make all of it worthless.
        return Taken(
            (), Outcome.NO_DEVICE, f"the marks in the log of job {status.job} are not those of its script", "nobody"
        )
    found: dict[tuple[str, str], float] = {}
    for index, launch in enumerate(log.launches):
        side: Side | Literal["nobody"] = launch.arm if launch.arm in ("best", "candidate") else "nobody"  # type: ignore[assignment]  # the two are the sides
        failed = next((c for c in log.checks if c.launch == index and c.kernel == plan.kernel and not c.passed), None)
        if failed is not None:
            reason = f"line {failed.line}: {failed.kernel} {failed.label}: max|d| = {failed.max_difference:g}: FAIL"
            return _ended(plan, found, Outcome.WRONG_VALUE, reason, side)
        if launch.status is None:
            return _ended(plan, found, *_unended(status, index == len(log.launches) - 1), side)
        readings = [r for r in log.readings if r.launch == index and r.kernel == plan.kernel]
        if launch.status != 0 and not readings:
            reason = f"job {status.job}: the program ended with status {launch.status} before any cycles"
            return _ended(plan, found, Outcome.CRASHED, reason, side)
        if readings and not readings[-1].missing and readings[-1].passed:
            found[launch.pair, launch.arm] = cycles_of(readings[-1].runs)
    pairs = _pairs(plan, found)
    if len(pairs) == len(plan.orders):
        return Taken(pairs, Outcome.OK, "", "nobody")
    if log.problems:
        first = log.problems[0]
        return Taken(pairs, Outcome.NO_DEVICE, f"line {first.line} ({first.text}): {first.why}", "nobody")
    if any(reading.missing for reading in log.readings):
        return Taken(pairs, Outcome.NO_DEVICE, f"job {status.job}: cycles=none observed", "nobody", missing=True)
    reason = f"job {status.job} ({status.state}): {len(pairs)} of {len(plan.orders)} pairs in its log"
    return Taken(pairs, Outcome.NO_DEVICE, reason, "nobody")


def _unended(status: JobStatus, last: bool) -> tuple[Outcome, str]:
    """What a launch without an end means: killed with the job, by its time or by someone."""
    if status.state == "cancelled" or not last:
        return Outcome.NO_DEVICE, f"job {status.job} was {status.state} in the middle of a launch"
    spent = "" if status.duration_seconds is None else f" after {status.duration_seconds:.0f} s"
    return Outcome.HUNG, f"job {status.job} was ended{spent} while this program ran"


def _pairs(plan: Plan, found: dict[tuple[str, str], float]) -> tuple[tuple[Order, float, float], ...]:
    keys = [(str(number), order) for number, order in enumerate(plan.orders)]
    return tuple(
        (order, found[number, "best"], found[number, "candidate"])
        for number, order in keys
        if (number, "best") in found and (number, "candidate") in found
    )


def _ended(
    plan: Plan, found: dict[tuple[str, str], float], outcome: Outcome, reason: str, side: Side | Literal["nobody"]
) -> Taken:
    return Taken(_pairs(plan, found), outcome, reason, "nobody" if outcome is Outcome.NO_DEVICE else side)
