"""What the contest's test program prints, line by line: comparisons, cycles, and the marks around each launch.

A comparison is ``[KERNEL LABEL runN] max|d|=X ... -> PASS`` (the sign may be a delta, and the verdict may stand on the line
after). Cycles are ``cycles=N``, ``median cycles=N (of 3 runs: [...])`` or ``cycles=none observed``, which is a reading that
is missing and not one of zero. A line that begins like one of these and is not one is named, never guessed at.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Literal

Side = Literal["best", "candidate"]
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_HEAD = re.compile(r"\[(?P<kernel>[A-Za-z_]\w*)(?:\s+(?P<label>[^\]]*))?\]\s*max\|[^|]*\|\s*=\s*(?P<value>\S+)")
_VERDICT = re.compile(r"->\s*(?P<verdict>PASS|FAIL)\b")
_CYCLES = re.compile(
    r"^\s*(?:(?!median\b)(?P<kernel>[A-Za-z_]\w*)(?:\s+(?!median\b)\w+)?\s+)?(?:median\s+)?cycles=(?P<value>.*?)\s*$"
)
_RUNS = re.compile(
    r"^(?P<median>[0-9]{1,15})(?:\s+min=\S*)*\s*\(of\s+(?P<count>[0-9]{1,6})\s+runs?:"
    r"\s*\[(?P<runs>(?:[0-9]{1,15}[,\s]*)*)\]\)$"
)
_ALONE = re.compile(r"^(?P<cycles>[0-9]{1,15})(?:\s+[a-z_]+=\S+)*$")
"""Cycles without a list of runs; some harnesses add ``min=N`` and the like."""
_MARK = re.compile(r"^\s*@@(?:kernelwright|AB_BEGIN|AB_END)\b")
_OWN = re.compile(
    r"^\s*@@kernelwright (?P<what>begin|end) pair=(?P<pair>\S+) side=(?P<side>\S+?)(?: status=(?P<status>-?\d+))?@@\s*$"
)
_OWN_JOB = re.compile(r"^\s*@@kernelwright job (?P<facts>.*)@@\s*$")
_AB = re.compile(r"^\s*@@AB_(?P<what>BEGIN|END) (?P<pair>\S+) (?P<side>\S+?)(?: rc=(?P<status>-?\d+))?@@\s*$")
MOST_CYCLES = 10**12
"""A reading above this (minutes on the chip) is no reading of a decode kernel."""


@dataclass(frozen=True)
class Check:
    """One comparison with the reference. ``launch`` counts the marks before it; -1 outside any."""

    kernel: str
    label: str
    max_difference: float
    passed: bool
    line: int
    launch: int


@dataclass(frozen=True)
class Reading:
    """The cycles of one kernel in one launch of the test program; ``runs`` in the order taken, empty when missing.

    ``passed`` is whether every comparison printed for it before the cycles passed; None when there was none.
    """

    kernel: str
    runs: tuple[int, ...]
    passed: bool | None
    line: int
    launch: int

    @property
    def missing(self) -> bool:
        """Whether the program ran and observed no cycles."""
        return not self.runs


@dataclass(frozen=True)
class Launch:
    """One start of the test program between marks; ``status`` is its exit status, None when it never ended."""

    pair: str
    arm: str
    line: int
    status: int | None


@dataclass(frozen=True)
class Problem:
    """A line that could not be read, and why."""

    line: int
    text: str
    why: str


@dataclass(frozen=True)
class ArenaLog:
    """A log as data. ``facts`` are what a job of ours says of itself in its first line."""

    checks: tuple[Check, ...]
    readings: tuple[Reading, ...]
    launches: tuple[Launch, ...]
    problems: tuple[Problem, ...]
    facts: dict[str, str]


@dataclass
class _Parser:
    checks: list[Check] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    open_launch: int = -1
    pending: tuple[str, str, float, int] | None = None
    """A comparison whose verdict has not come yet: kernel, label, difference, line."""
    passed: dict[str, bool] = field(default_factory=dict)
    latest: str = ""
    line: int = 0
    text: str = ""

    def bad(self, why: str) -> None:
        self.problems.append(Problem(self.line, self.text.strip()[:200], why))

    def feed(self, number: int, text: str) -> None:
        self.line, self.text = number, text
        if _MARK.match(text):
            self.mark()
            return
        head = _HEAD.search(text)
        if head is not None:
            self.drop_pending()
            value = _difference(head.group("value"))
            if value is None:
                self.bad("the difference is not a number")
                return
            self.latest = head.group("kernel")
            self.pending = (self.latest, (head.group("label") or "").strip(), value, number)
        verdict = _VERDICT.search(text)
        if verdict is not None and self.pending is not None:
            kernel, label, value, line = self.pending
            good = verdict.group("verdict") == "PASS"
            self.pending = None
            self.checks.append(Check(kernel, label, value, good, line, self.open_launch))
            self.passed[kernel] = self.passed.get(kernel, True) and good
        elif head is None and (cycles := _CYCLES.match(text)):
            self.cycles(cycles.group("kernel") or "", cycles.group("value"))

    def drop_pending(self) -> None:
        if self.pending is not None:
            self.problems.append(
                Problem(self.pending[3], f"[{self.pending[0]} {self.pending[1]}]", "no verdict follows")
            )
            self.pending = None

    def mark(self) -> None:
        job = _OWN_JOB.match(self.text)
        if job is not None:
            self.facts = dict(part.partition("=")[::2] for part in job.group("facts").split())
            return
        found = _OWN.match(self.text) or _AB.match(self.text)
        if found is None:
            self.bad("a mark that cannot be read")
            return
        self.drop_pending()
        self.passed, self.latest = {}, ""
        if found.group("what").lower() == "begin":
            self.launches.append(Launch(found.group("pair"), found.group("side"), self.line, None))
            self.open_launch = len(self.launches) - 1
            return
        if self.open_launch < 0:
            self.bad("the end of a launch that did not begin")
            return
        begun = self.launches[self.open_launch]
        if (begun.pair, begun.arm) != (found.group("pair"), found.group("side")):
            self.bad(f"the end of another launch than the one that began in line {begun.line}")
            return
        status = found.group("status")
        self.launches[self.open_launch] = Launch(begun.pair, begun.arm, begun.line, int(status) if status else 0)
        self.open_launch = -1

    def cycles(self, kernel: str, value: str) -> None:
        self.drop_pending()
        kernel = kernel or self.latest
        if not kernel:
            self.bad("cycles of no kernel: no comparison stands before them")
            return
        runs = self.runs(value)
        if runs is not None:
            self.readings.append(Reading(kernel, runs, self.passed.pop(kernel, None), self.line, self.open_launch))

    def runs(self, value: str) -> tuple[int, ...] | None:
        if value.strip() == "none observed":
            return ()
        listed = _RUNS.match(value)
        if listed is None:
            alone = _ALONE.match(value)
            if alone is None:
                self.bad("the cycles are not a whole number")
                return None
            found: tuple[int, ...] = (int(alone.group("cycles")),)
        else:
            found = tuple(int(each) for each in listed.group("runs").replace(",", " ").split())
            if len(found) != int(listed.group("count")):
                self.bad(f"says {listed.group('count')} runs and lists {len(found)}")
                return None
            if found and int(listed.group("median")) not in medians(found):
                self.bad(f"the median {listed.group('median')} is not that of the runs listed")
                return None
        if not found or not all(0 < each <= MOST_CYCLES for each in found):
            self.bad("cycles that no launch can take")
            return None
        return found


def _difference(text: str) -> float | None:
    try:
        value = float(text.rstrip(",;"))
    except ValueError:
        return None
    return math.inf if math.isnan(value) else value


def medians(runs: tuple[int, ...]) -> tuple[int, ...]:
    """What may be called the median of whole numbers: the middle one; of an even count either of the middle two or their
    mean, rounded either way.
    """
    ordered = sorted(runs)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return tuple(sorted({low, high, (low + high) // 2, (low + high + 1) // 2}))


def parse_log(text: str) -> ArenaLog:
    """A log as data; never raises. Lines of other programs are passed over."""
    parser = _Parser()
    for number, line in enumerate(_ANSI.sub("", text).splitlines(), 1):
        parser.feed(number, line.rstrip("\r"))
    parser.drop_pending()
    return ArenaLog(
        tuple(parser.checks), tuple(parser.readings), tuple(parser.launches), tuple(parser.problems), parser.facts
    )
