"""Items of a knowledge base as its view holds them: each with all that was found out about it, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log

from ..experience import EstimatePaired, FamilyClosed, LessonDrawn, RuleFired, RuleMet, VetoAudited
from ..knowledge import ClaimMade, ProbeMeasured, RuleDerived
from .standing import Finding, Parts, Standing, fingerprints_alike, stand


@dataclass
class ClaimItem:
    """A claim, and the checks of it. ``current`` is whether its section still reads as it did."""

    made: ClaimMade
    position: int
    findings: list[Finding] = field(default_factory=list)
    current: bool = True
    lines: tuple[int, int] = (0, 0)
    """Where its section stands now (lines from 1, inclusive)."""

    @property
    def id(self) -> str:
        """The item's id."""
        return self.made.claim

    def standing(self, toolchain: str, toolchains: Mapping[str, Parts]) -> Standing:
        """Its status under a toolchain; stale when the document says something else by now."""
        found = stand(self.findings, toolchain, toolchains)
        return found if self.current else Standing("stale", found.finding)


@dataclass
class ProbeItem:
    """All readings of a probe."""

    name: str
    readings: list[ProbeMeasured] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The item's id."""
        return f"probe.{self.name}"

    @property
    def latest(self) -> ProbeMeasured:
        """The latest reading, whatever it was read under."""
        return self.readings[-1]

    def standing(self, toolchain: str, toolchains: Mapping[str, Parts]) -> Standing:
        """Its status under a toolchain: refuted when its latest reading there is not to be believed."""
        return stand(self.findings, toolchain, toolchains)

    def reading(self, toolchain: str, toolchains: Mapping[str, Parts]) -> ProbeMeasured | None:
        """The latest reading that holds under a toolchain, None when there is none."""
        found = self.standing(toolchain, toolchains)
        if found.status != "valid" or found.finding is None:
            return None
        return next(r for r in self.readings if r.ref == found.finding.ref)


@dataclass
class RuleItem:
    """A rule, the checks of its witnesses, and what it did in reviews."""

    derived: RuleDerived
    position: int
    level: int
    findings: list[Finding] = field(default_factory=list)
    fired: list[RuleFired] = field(default_factory=list)
    met: list[RuleMet] = field(default_factory=list)
    audits: list[VetoAudited] = field(default_factory=list)
    narrowed_at: int = 0
    """How many audits there had been when it was last narrowed: those before say nothing about the pattern in use."""

    @property
    def id(self) -> str:
        """The item's id."""
        return self.derived.rule

    @property
    def pattern(self) -> tuple[tuple[str, ...], ...]:
        """The token pattern in use; empty when there is none special enough to veto by."""
        return self.derived.condition[self.level] if self.level < len(self.derived.condition) else ()

    def standing(self, toolchain: str, toolchains: Mapping[str, Parts]) -> Standing:
        """Its status under a toolchain; retired when it does not hold there."""
        return stand(self.findings, toolchain, toolchains, failed="retired")

    @property
    def hits(self) -> int:
        """How often it fired, and how often a design met it unvetoed."""
        return len(self.fired) + len(self.met)

    @property
    def vetoes(self) -> int:
        """How many designs it kept from the compiler."""
        return sum(each.vetoed for each in self.fired)

    @property
    def precision(self) -> tuple[int, int]:
        """Of the audited vetoes under the pattern in use: how many were right, and how many there are."""
        counted = self.audits[self.narrowed_at :]
        return sum(each.right for each in counted), len(counted)

    @property
    def wrong_vetoes(self) -> int:
        """How many audits, of any pattern, found that the design would have passed."""
        return sum(not each.right for each in self.audits)

    @property
    def seconds_saved(self) -> float:
        """Compile time (seconds) that its vetoes saved, estimated from what builds took."""
        return sum(each.seconds_saved for each in self.fired if each.vetoed)


@dataclass
class LessonItem:
    """A lesson; valid where the toolchain is alike in what it rests on."""

    drawn: LessonDrawn
    position: int

    @property
    def id(self) -> str:
        """The item's id."""
        return self.drawn.lesson

    @property
    def log_gain(self) -> float:
        """log(seconds before / seconds after)."""
        return log(self.drawn.ratio)

    def standing(self, toolchain: str, toolchains: Mapping[str, Parts]) -> Standing:
        """``valid`` or ``stale``."""
        finding = Finding("held", self.drawn.toolchain, self.drawn.depends, self.drawn.ref, self.position)
        return stand([finding], toolchain, toolchains)


@dataclass
class FamilyItem:
    """A closed family with its assumptions."""

    closed: FamilyClosed
    position: int

    @property
    def id(self) -> str:
        """The item's id."""
        return self.closed.family

    def standing(self, toolchain: str, toolchains: Mapping[str, Parts]) -> Standing:
        """``valid`` while the toolchain is alike in what the closing rests on, then ``stale``: open again."""
        finding = Finding("held", self.closed.toolchain, self.closed.depends, self.closed.ref, self.position)
        return stand([finding], toolchain, toolchains)

    def closed_for(self, toolchain: str, toolchains: Mapping[str, Parts], whole: str, bottleneck: str) -> bool:
        """Whether it is closed now: every assumption holds."""
        same = (self.closed.whole, self.closed.bottleneck) == (whole, bottleneck)
        return same and self.standing(toolchain, toolchains).status == "valid"


@dataclass
class TrustItem:
    """Estimates of one class of change beside the readings that followed."""

    change: str
    pairs: list[EstimatePaired] = field(default_factory=list)

    def under(self, toolchain: str, toolchains: Mapping[str, Parts]) -> list[EstimatePaired]:
        """The pairs that count under a toolchain."""
        return [p for p in self.pairs if fingerprints_alike(p.toolchain, toolchain, p.depends, toolchains)]
