"""Events of a knowledge base (one per target, shared by runs), and the aggregate that guards it.

An item (claim, probe, rule, lesson) is never edited: it is made once, checked as often as need be, and its status under a
toolchain is a fold over those checks (:mod:`.views.standing`). Each check names the parts of the toolchain that it
depends on, so that a change of one part makes stale just what rests on that part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar
from uuid import UUID

from .base import Aggregate, Context, Event, InvariantError, guarded, recorded

CheckOutcome = Literal["held", "failed", "unable"]
"""What a check of an item found: it holds; it does not; nothing could be found out (a hang, a machine unfit)."""
RuleKind = Literal["compile-error", "compiler-crash", "compiler-hang", "link-refusal", "run-time-trap", "wrong-value"]


class KnowledgeEvent(Event):
    """Base of the events of a knowledge base."""

    AGGREGATE: ClassVar[str] = "knowledge"


@recorded
class ToolchainSeen(KnowledgeEvent):
    """A toolchain met for the first time, or met again after another one: its parts by name.

    ``changed`` names the parts that differ from the toolchain seen before it.
    """

    TOPIC: ClassVar[str] = "knowledge.toolchain-seen"
    target: str
    fingerprint: str
    parts: dict[str, str]
    changed: tuple[str, ...]


@recorded
class ProbeMeasured(KnowledgeEvent):
    """A microbenchmark answered a question about the chip, under a toolchain and conditions.

    ``depends`` names the parts of the toolchain that the reading rests on; empty means all of them. ``doubt`` says why the
    reading is not to be believed (implausible, or the optimizer removed the work); it is empty for a good one.
    """

    TOPIC: ClassVar[str] = "knowledge.probe-measured"
    target: str
    run: str
    name: str
    question: str
    value: float
    unit: str
    spread: float
    repeats: int
    conditions: dict[str, str]
    depends: tuple[str, ...] = ()
    doubt: str = ""


@recorded
class DocumentSeen(KnowledgeEvent):
    """A document as it is now: for each section its heading, lines (from 1, inclusive) and digest. ``text`` is a blob."""

    TOPIC: ClassVar[str] = "knowledge.document-seen"
    BLOBS: ClassVar[tuple[str, ...]] = ("text",)
    document: str
    digest: str
    text: str
    headings: tuple[str, ...]
    lines: tuple[tuple[int, int], ...]
    digests: tuple[str, ...]


@recorded
class DocumentStudied(KnowledgeEvent):
    """The claims of a document in this form have all been written down."""

    TOPIC: ClassVar[str] = "knowledge.document-studied"
    document: str
    digest: str
    by: str
    claims: int


@recorded
class ClaimMade(KnowledgeEvent):
    """One sentence about the DSL or the chip, with its source and, where there is one, a checkable snippet.

    ``snippet`` is the blob of the code; ``expect`` says what must happen to it (see ``knowledge.expectation``).
    """

    TOPIC: ClassVar[str] = "knowledge.claim-made"
    BLOBS: ClassVar[tuple[str, ...]] = ("snippet",)
    claim: str
    sentence: str
    document: str
    heading: str
    first_line: int
    last_line: int
    section: str
    by: str
    snippet: str | None
    expect: dict[str, str]


@recorded
class RuleDerived(KnowledgeEvent):
    """A construct that the toolchain refuses, with the smallest source that fails and the nearest one that passes.

    ``condition`` is a ladder of token patterns from the most general to the most special; ``level`` is the rung in use.
    ``failing`` and ``passing`` are blobs; ``diagnostic`` is the normalized message and ``fingerprint`` its digest.
    """

    TOPIC: ClassVar[str] = "knowledge.rule-derived"
    BLOBS: ClassVar[tuple[str, ...]] = ("failing", "passing", "original")
    rule: str
    kind: RuleKind
    explanation: str
    condition: tuple[tuple[tuple[str, ...], ...], ...]
    level: int
    failing: str
    passing: str
    original: str
    """The source that it was reduced from (a blob): asked again where the witness fails for another reason by now."""
    kernel: str
    """Name of the kernel whose contract the witnesses keep to."""
    diagnostic: str
    fingerprint: str
    run: str
    design: str
    tries: int
    depends: tuple[str, ...]
    by_run: bool = False
    """Whether it takes a run to see the failure, not a build alone."""


@recorded
class RuleNarrowed(KnowledgeEvent):
    """The rule had vetoed what passes; from now on it matches by a more special rung of its condition."""

    TOPIC: ClassVar[str] = "knowledge.rule-narrowed"
    rule: str
    level: int
    reason: str


@recorded
class ItemChecked(KnowledgeEvent):
    """A claim or a rule was checked under the toolchain of the event. ``log`` is the blob of what the tools said."""

    TOPIC: ClassVar[str] = "knowledge.item-checked"
    BLOBS: ClassVar[tuple[str, ...]] = ("log",)
    item: str
    kind: Literal["claim", "rule"]
    outcome: CheckOutcome
    reason: str
    depends: tuple[str, ...]
    seconds: float
    log: str | None = None


E_ = TypeVar("E_", bound=KnowledgeEvent)


@guarded
class KnowledgeBase(Aggregate):
    """What is known of a target.

    Guards: a claim or rule is made once; only an item that exists is checked, narrowed, fired or audited.
    """

    KIND: ClassVar[str] = "knowledge"
    SHARED: ClassVar[bool] = True

    def __init__(self, originator_id: UUID) -> None:
        super().__init__(originator_id)
        self.items: set[str] = set()
        self.toolchain = ""

    def apply(self, event: Event) -> None:
        """Fold one event."""
        match event:
            case ToolchainSeen():
                self.toolchain = event.fingerprint
            case ClaimMade():
                self.items.add(event.claim)
            case RuleDerived():
                self.items.add(event.rule)
            case _:
                pass

    def measured(self, context: Context, **content: Any) -> Event:
        """Record a probe; content as in :class:`ProbeMeasured`."""
        return self.trigger(ProbeMeasured, context, **content)

    def seen(
        self, context: Context, target: str, fingerprint: str, parts: dict[str, str], before: Mapping[str, str]
    ) -> None:
        """Note the toolchain in force, unless it is the one that was noted last, whose parts are ``before``."""
        if fingerprint == self.toolchain:
            return
        names = sorted(before.keys() | parts.keys()) if before else []
        changed = tuple(name for name in names if before.get(name) != parts.get(name))
        self.trigger(ToolchainSeen, context, target=target, fingerprint=fingerprint, parts=parts, changed=changed)

    def claim(self, context: Context, **content: Any) -> Event | None:
        """Write down a claim; content as in :class:`ClaimMade`. One that is there already is left alone."""
        if content["claim"] in self.items:
            return None
        return self.trigger(ClaimMade, context, **content)

    def derive(self, context: Context, **content: Any) -> Event:
        """Write down a rule; content as in :class:`RuleDerived`."""
        if content["rule"] in self.items:
            raise InvariantError(f"rule {content['rule']} exists already")
        return self.trigger(RuleDerived, context, **content)

    def check(self, context: Context, **content: Any) -> Event:
        """Record what a check of an item found; content as in :class:`ItemChecked`."""
        self._known(content["item"])
        return self.trigger(ItemChecked, context, **content)

    def narrow(self, context: Context, rule: str, level: int, reason: str) -> Event:
        """Let a rule match by a more special pattern."""
        self._known(rule)
        return self.trigger(RuleNarrowed, context, rule=rule, level=level, reason=reason)

    def note(self, context: Context, event_class: type[KnowledgeEvent], **content: Any) -> Event:
        """Record a fact that breaks no invariant; one that names a rule must name a known one."""
        if "rule" in content:
            self._known(content["rule"])
        return self.trigger(event_class, context, **content)

    def _known(self, item: str) -> None:
        if item not in self.items:
            raise InvariantError(f"the knowledge base has no item {item}")
