"""Past logs of a team as paired readings: which arms they hold, what pairs with what, and what cannot be used.

A log with marks around its launches (``@@AB_BEGIN 1 A@@`` or a job of ours) holds several arms: launches of one round pair.
A log without marks is one launch of one arm; such logs pair with each other only when that is asked for, since jobs differ
by more than designs do. Two readings of one arm that follow each other in a job pair too: they tell the noise.
"""

from __future__ import annotations

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .comparison import WARM_UP, cycles_of
from .log import ArenaLog, Problem, parse_log


@dataclass(frozen=True)
class LogFile:
    """A log as it was given: the name of its file, its text, and the label of its arm (or of its arms' group)."""

    name: str
    text: str
    label: str = ""

    @property
    def digest(self) -> str:
        """16 hex digits over the text."""
        return hashlib.sha256(self.text.encode(errors="surrogateescape")).hexdigest()[:16]


@dataclass(frozen=True)
class ArmReading:
    """One launch's cycles of one kernel: ``cycles`` is the median of its runs but the first, where it has several."""

    kernel: str
    arm: str
    cycles: float
    file: str
    line: int
    group: str
    """What pairs with what within a file: the round; empty for a log without marks."""


@dataclass(frozen=True)
class ImportedPair:
    """Two arms read beside each other. ``file`` is the log, or both logs, that it comes from."""

    kernel: str
    best: str
    candidate: str
    order: Literal["BC", "CB"]
    best_cycles: float
    candidate_cycles: float
    file: str


@dataclass(frozen=True)
class Unused:
    """A place in a file that gave no reading, and why."""

    file: str
    line: int
    text: str
    why: str


@dataclass(frozen=True)
class Collected:
    """What is in the logs. ``arms`` in the order in which they come; ``failed`` are the arms whose values were wrong."""

    readings: tuple[ArmReading, ...]
    pairs: tuple[ImportedPair, ...]
    same: tuple[ImportedPair, ...]
    failed: dict[tuple[str, str], str]
    unused: tuple[Unused, ...]

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels that were read, in the order in which they come."""
        return tuple(dict.fromkeys(reading.kernel for reading in self.readings))

    def arms(self, kernel: str) -> tuple[str, ...]:
        """The arms that were read of a kernel, in the order in which they come."""
        return tuple(dict.fromkeys(reading.arm for reading in self.readings if reading.kernel == kernel))


def collect(files: Sequence[LogFile], *, across_jobs: bool = False) -> Collected:
    """The readings of some logs, in the order in which they are given. Raises ValueError for a log that is given twice."""
    seen: dict[str, str] = {}
    for file in files:
        if file.digest in seen:
            raise ValueError(f"{file.name} is the same log as {seen[file.digest]}: a reading would count twice")
        seen[file.digest] = file.name
    readings: list[ArmReading] = []
    unused: list[Unused] = []
    failed: dict[tuple[str, str], str] = {}
    for file in files:
        log = parse_log(file.text)
        unused += [_problem(file, each) for each in log.problems]
        found, wrong = _of_file(file, log, unused)
        readings += found
        failed |= wrong
        if not found:
            unused.append(Unused(file.name, 0, "", "no reading in it"))
    marked = [reading for reading in readings if reading.group]
    single = [reading for reading in readings if not reading.group]
    pairs, same = _within(marked)
    if across_jobs:
        pairs += _across(single)
    same += _follow(single)
    return Collected(tuple(readings), tuple(pairs), tuple(same), failed, tuple(unused))


def _problem(file: LogFile, problem: Problem) -> Unused:
    return Unused(file.name, problem.line, problem.text, problem.why)


def _of_file(file: LogFile, log: ArenaLog, unused: list[Unused]) -> tuple[list[ArmReading], dict[tuple[str, str], str]]:
    found: list[ArmReading] = []
    failed: dict[tuple[str, str], str] = {}
    label = file.label or file.name.rpartition("/")[2].rpartition(".")[0] or file.name
    for check in log.checks:
        if not check.passed:
            where = f"{file.name}:{check.line}: max|d| = {check.max_difference:g}"
            failed.setdefault((check.kernel, _arm(file, log, check.launch, label)), where)
    for reading in log.readings:
        arm = _arm(file, log, reading.launch, label)
        launch = log.launches[reading.launch] if reading.launch >= 0 else None
        why = ""
        if log.launches and launch is None:
            why = "cycles outside the marks of any launch"
        elif launch is not None and launch.pair == WARM_UP:
            continue
        elif reading.missing:
            why = "cycles=none observed: a reading that is missing, not one of zero"
        elif reading.passed is False:
            why = "its values were wrong"
        elif launch is not None and launch.status not in (0, None):
            why = f"its launch ended with status {launch.status}"
        if why:
            unused.append(Unused(file.name, reading.line, reading.kernel, why))
            continue
        group = f"{file.name}#{launch.pair}" if launch is not None else ""
        cycles = cycles_of(reading.runs)
        found.append(ArmReading(reading.kernel, arm, cycles, file.name, reading.line, group))
    return found, failed


def _arm(file: LogFile, log: ArenaLog, launch: int, label: str) -> str:
    if launch < 0:
        return label
    return f"{file.label}.{log.launches[launch].arm}" if file.label else log.launches[launch].arm


def _pair(first: ArmReading, second: ArmReading, best: str, file: str) -> ImportedPair:
    """A pair of two readings in the order in which they were taken; ``best`` names the arm that is compared with."""
    if first.arm == best:
        return ImportedPair(first.kernel, first.arm, second.arm, "BC", first.cycles, second.cycles, file)
    return ImportedPair(first.kernel, second.arm, first.arm, "CB", second.cycles, first.cycles, file)


def _within(readings: list[ArmReading]) -> tuple[list[ImportedPair], list[ImportedPair]]:
    """Pairs of the arms of one round; and of one arm, of rounds that follow each other in a file."""
    rank = {key: n for n, key in enumerate(dict.fromkeys((r.kernel, r.arm) for r in readings))}
    rounds: dict[tuple[str, str], list[ArmReading]] = defaultdict(list)
    arms: dict[tuple[str, str, str], list[ArmReading]] = defaultdict(list)
    for reading in readings:
        rounds[reading.kernel, reading.group].append(reading)
        arms[reading.kernel, reading.arm, reading.file].append(reading)
    pairs = []
    for (kernel, _), members in rounds.items():
        latest = list({member.arm: member for member in members}.values())
        for first, second in itertools.combinations(sorted(latest, key=lambda each: each.line), 2):
            best = min(first.arm, second.arm, key=lambda arm: rank[kernel, arm])
            pairs.append(_pair(first, second, best, first.file))
    same = [each for members in arms.values() for each in _follow(members)]
    return pairs, same


def _follow(readings: list[ArmReading]) -> list[ImportedPair]:
    """Readings of one arm two by two, each used once."""
    arms: dict[tuple[str, str], list[ArmReading]] = defaultdict(list)
    for reading in readings:
        arms[reading.kernel, reading.arm].append(reading)
    return [
        _pair(first, second, first.arm, first.file if first.file == second.file else f"{first.file}, {second.file}")
        for members in arms.values()
        for first, second in zip(members[::2], members[1::2], strict=False)
    ]


def _across(readings: list[ArmReading]) -> list[ImportedPair]:
    """The first log of one arm with the first of another, and so on."""
    arms: dict[tuple[str, str], list[ArmReading]] = defaultdict(list)
    place = {reading: number for number, reading in enumerate(readings)}
    for reading in readings:
        arms[reading.kernel, reading.arm].append(reading)
    found = []
    for ((kernel, one), ones), ((other, _), others) in itertools.combinations(arms.items(), 2):
        if kernel == other:
            for mine, theirs in zip(ones, others, strict=False):
                first, second = sorted((mine, theirs), key=lambda each: place[each])
                found.append(_pair(first, second, one, f"{mine.file}, {theirs.file}"))
    return found
