"""What is known of a target, folded from its knowledge base; as of any toolchain and any time by replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from ..base import Event
from ..experience import EstimatePaired, FamilyClosed, LessonDrawn, RuleFired, RuleMet, VetoAudited
from ..knowledge import (
    ClaimMade,
    DocumentSeen,
    DocumentStudied,
    ItemChecked,
    KnowledgeBase,
    ProbeMeasured,
    RuleDerived,
    RuleNarrowed,
    ToolchainSeen,
)
from ..log import EventLog, Recorded
from .items import ClaimItem, FamilyItem, LessonItem, ProbeItem, RuleItem, TrustItem
from .standing import Finding, Parts

Move = tuple[str, str, str, str, str | int]
"""Kernel, whole-kernel design, bottleneck, lever, value."""
T = TypeVar("T")


@dataclass
class KnowledgeView:
    """Every item of a knowledge base with its history. Statuses are asked for under a toolchain's fingerprint."""

    toolchains: dict[str, Parts] = field(default_factory=dict)
    seen: list[ToolchainSeen] = field(default_factory=list)
    probes_by_name: dict[str, ProbeItem] = field(default_factory=dict)
    documents: dict[str, DocumentSeen] = field(default_factory=dict)
    studied: dict[str, str] = field(default_factory=dict)
    """Digest of the form of each document whose claims were all written down."""
    claims: dict[str, ClaimItem] = field(default_factory=dict)
    rules: dict[str, RuleItem] = field(default_factory=dict)
    lessons: dict[str, LessonItem] = field(default_factory=dict)
    families: dict[str, FamilyItem] = field(default_factory=dict)
    trust: dict[str, TrustItem] = field(default_factory=dict)
    position: int = 0
    moves: dict[Move, list[LessonItem]] = field(default_factory=dict)
    """Lessons in which one lever was moved, by where and to what."""
    _derived: dict[tuple[object, ...], Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, key: tuple[object, ...], work_out: Callable[[], T]) -> T:
        """What ``work_out`` gives, worked out once until the next event: the router asks the same questions at every step.

        ``key`` names the question and all that it depends on beside the events.
        """
        if key not in self._derived:
            self._derived[key] = work_out()
        found: T = self._derived[key]
        return found

    def apply(self, recorded: Recorded) -> None:
        """Fold one recorded event of the knowledge base; one that was folded already is passed over."""
        if recorded.position <= self.position:
            return
        self.position = recorded.position
        self._derived.clear()
        event: Event = recorded.event
        match event:
            case ToolchainSeen():
                self.toolchains[event.fingerprint] = event.parts
                self.seen.append(event)
            case ProbeMeasured():
                self._measured(event)
            case DocumentSeen():
                self._document(event)
            case DocumentStudied():
                self.studied[event.document] = event.digest
            case ClaimMade():
                lines = (event.first_line, event.last_line)
                self.claims[event.claim] = ClaimItem(event, recorded.position, lines=lines)
            case RuleDerived():
                self.rules[event.rule] = RuleItem(event, recorded.position, event.level)
                self.rules[event.rule].findings.append(
                    Finding("held", event.toolchain, event.depends, event.ref, recorded.position, "derived")
                )
            case RuleNarrowed():
                rule = self.rules[event.rule]
                rule.level, rule.narrowed_at = event.level, len(rule.audits)
            case ItemChecked():
                self._checked(event)
            case RuleFired():
                self.rules[event.rule].fired.append(event)
            case RuleMet():
                self.rules[event.rule].met.append(event)
            case VetoAudited():
                self.rules[event.rule].audits.append(event)
            case LessonDrawn():
                self._learned(LessonItem(event, recorded.position))
            case FamilyClosed():
                self.families[event.family] = FamilyItem(event, recorded.position)
            case EstimatePaired():
                self.trust.setdefault(event.change, TrustItem(event.change)).pairs.append(event)
            case _:
                pass

    def _learned(self, item: LessonItem) -> None:
        self.lessons[item.id] = item
        drawn = item.drawn
        if len(drawn.after) == 1:
            ((lever, value),) = drawn.after.items()
            self.moves.setdefault((drawn.kernel, drawn.whole, drawn.bottleneck, lever, value), []).append(item)

    def _measured(self, event: ProbeMeasured) -> None:
        item = self.probes_by_name.setdefault(event.name, ProbeItem(event.name))
        item.readings.append(event)
        outcome = "failed" if event.doubt else "held"
        finding = Finding(
            outcome,  # type: ignore[arg-type]  # one of the two literals
            event.toolchain,
            event.depends,
            event.ref,
            self.position,
            event.doubt,
        )
        item.findings.append(finding)

    def _document(self, event: DocumentSeen) -> None:
        self.documents[event.document] = event
        now = dict(zip(event.digests, event.lines, strict=True))
        for claim in self.claims.values():
            if claim.made.document == event.document:
                claim.current = claim.made.section in now
                claim.lines = now.get(claim.made.section, claim.lines)

    def _checked(self, event: ItemChecked) -> None:
        item = self.claims.get(event.item) or self.rules.get(event.item)
        assert item is not None, "the aggregate records checks of known items only"
        item.findings.append(
            Finding(
                event.outcome, event.toolchain, event.depends, event.ref, self.position, event.reason, event.seconds
            )
        )

    @property
    def toolchain(self) -> str:
        """The fingerprint of the toolchain that was seen last, empty before any."""
        return self.seen[-1].fingerprint if self.seen else ""

    @property
    def parts(self) -> Parts:
        """The parts of that toolchain, none before any was seen."""
        return self.seen[-1].parts if self.seen else {}

    @property
    def probes(self) -> Mapping[str, ProbeMeasured]:
        """The reading of each probe that holds under the toolchain seen last; before any was seen, its latest reading."""
        if not self.seen:
            return {name: item.latest for name, item in self.probes_by_name.items() if not item.latest.doubt}
        held = ((name, item.reading(self.toolchain, self.toolchains)) for name, item in self.probes_by_name.items())
        return {name: reading for name, reading in held if reading is not None}


def load_knowledge(
    log: EventLog, target: str, *, until: int | None = None, before: datetime | None = None
) -> KnowledgeView:
    """Fold the knowledge base of a target, up to a position of the log (inclusive) or a time (exclusive)."""
    view = KnowledgeView()
    for recorded in log.stream([KnowledgeBase.identify(target)]):
        if (until is not None and recorded.position > until) or (before is not None and recorded.event.at >= before):
            break
        view.apply(recorded)
    return view


def catch_up(log: EventLog, view: KnowledgeView, target: str) -> None:
    """Fold what other processes have recorded since."""
    for recorded in log.stream([KnowledgeBase.identify(target)], view.position):
        view.apply(recorded)


def left_at(view: KnowledgeView, log: EventLog, target: str, toolchain: str) -> int | None:
    """The last position of the log at which ``toolchain`` was still the one in force; None when it still is.

    Raises KeyError for one that was never seen.
    """
    if toolchain not in view.toolchains:
        raise KeyError(toolchain)
    if view.toolchain == toolchain:
        return None
    entered = False
    for recorded in log.stream([KnowledgeBase.identify(target)]):
        event = recorded.event
        if isinstance(event, ToolchainSeen):
            if entered and event.fingerprint != toolchain:
                left = recorded.position - 1
            entered = event.fingerprint == toolchain
    return left
