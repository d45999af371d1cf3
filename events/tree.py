"""Events of a Design Tree (one per run and kernel), and the aggregate that guards it.

Facts (checks, readings, floors) and decisions (verdicts, acceptances) are separate events: readings carry no verdict, and
a verdict names the policy and the evidence that it used.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal
from uuid import UUID

from .base import Aggregate, Context, Event, Forked, InvariantError, guarded, recorded

Verdict = Literal["accepted", "rejected", "undecided", "held"]
Purpose = Literal["calibrate", "screen", "decide", "confirm", "anchor"]
"""What readings were taken for. Only ``decide`` readings decide, only ``confirm`` readings claim."""


class TreeEvent(Event):
    """Base of the events of a Design Tree."""

    AGGREGATE: ClassVar[str] = "tree"


@recorded
class TreeStarted(TreeEvent):
    """A kernel enters the run: its spec by digest, and the bytes that one call must move."""

    TOPIC: ClassVar[str] = "tree.started"
    run: str
    kernel: str
    spec: str
    dimensions: dict[str, int]
    streamed_bytes: int


@recorded
class TreeForked(TreeEvent, Forked):
    """The tree continues the tree of the same kernel in another run."""

    TOPIC: ClassVar[str] = "tree.forked"
    run: str
    kernel: str


@recorded
class TreeRefused(TreeEvent):
    """The kernel is not fit to be optimized (its reference does not tell right from wrong, say)."""

    TOPIC: ClassVar[str] = "tree.refused"
    reason: str


@recorded
class DesignProposed(TreeEvent):
    """A design is registered before any work on it. ``source`` and ``normalized`` are digests, the first of a blob."""

    TOPIC: ClassVar[str] = "tree.design-proposed"
    BLOBS: ClassVar[tuple[str, ...]] = ("source",)
    design: str
    parent: str | None
    kind: Literal["baseline", "whole", "small"]
    by: str
    title: str
    rationale: str
    levers: dict[str, str | int]
    source: str
    normalized: str


@recorded
class DesignChecked(TreeEvent):
    """A cheap check before any comparison said this. ``log`` is the blob with the full output, if there was any."""

    TOPIC: ClassVar[str] = "tree.design-checked"
    BLOBS: ClassVar[tuple[str, ...]] = ("log",)
    design: str
    check: str
    outcome: str
    reason: str
    seconds: float
    details: dict[str, float | str | int]
    artifact: str | None = None
    log: str | None = None


@recorded
class FloorMeasured(TreeEvent):
    """Streaming the kernel's weights took this long, with nothing computed."""

    TOPIC: ClassVar[str] = "tree.floor-measured"
    seconds: float
    spread_seconds: float
    repeats: int
    conditions: dict[str, str]


@recorded
class NoiseCalibrated(TreeEvent):
    """What one reading is, and how well the device can tell: from A/A readings named as evidence."""

    TOPIC: ClassVar[str] = "tree.noise-calibrated"
    design: str
    seconds: float
    """Seconds of one call of the design that was read against itself."""
    calls: int
    scale: float
    minimum_effect: float | None
    """Smallest gain that is detected; None when no gain below 100 % is."""
    refused: bool
    reason: str
    evidence: tuple[str, ...]


@recorded
class PairsRead(TreeEvent):
    """Paired readings: for each pair its order and the seconds of one call of the best and the candidate."""

    TOPIC: ClassVar[str] = "tree.pairs-read"
    purpose: Purpose
    best: str
    candidate: str
    best_artifact: str
    candidate_artifact: str
    calls: int
    scale: float
    """Calibrated scale of one pair's log ratio when they were read (0 before any calibration)."""
    turn: int
    orders: tuple[Literal["BC", "CB"], ...]
    best_seconds: tuple[float, ...]
    candidate_seconds: tuple[float, ...]
    outcome: str
    reason: str
    blamed: Literal["best", "candidate", "nobody"]
    device_seconds: float


@recorded
class DesignJudged(TreeEvent):
    """The policy applied to evidence. ``thresholds`` is the whole policy, so that the decision can be made again."""

    TOPIC: ClassVar[str] = "tree.design-judged"
    design: str
    against: str
    verdict: Verdict
    outcome: str
    reason: str
    pairs: int
    e_accept: float
    e_futile: float
    scale: float
    policy: str
    thresholds: dict[str, Any]
    evidence: tuple[str, ...]


@recorded
class DesignAccepted(TreeEvent):
    """The design becomes the best, with the gain claimed from fresh pairs named as evidence."""

    TOPIC: ClassVar[str] = "tree.design-accepted"
    design: str
    over: str
    gain: float
    gain_low: float
    gain_high: float
    confidence: float
    evidence: tuple[str, ...]


@recorded
class AnchorCompared(TreeEvent):
    """The best compared with the original baseline directly. ``alarm`` when the product of the claims is not there."""

    TOPIC: ClassVar[str] = "tree.anchor-compared"
    best: str
    anchor: str
    ratio: float
    ratio_low: float
    ratio_high: float
    claimed: float
    best_seconds: float
    anchor_seconds: float
    alarm: bool
    reason: str
    evidence: tuple[str, ...]


@recorded
class DesignRevoked(TreeEvent):
    """An accepted design turned out wrong: it loses its place, and ``best`` (perhaps unchanged) is the best now."""

    TOPIC: ClassVar[str] = "tree.design-revoked"
    design: str
    best: str
    reason: str


@recorded
class SearchExhausted(TreeEvent):
    """No specialist has anything left to propose from the tree as it stands."""

    TOPIC: ClassVar[str] = "tree.search-exhausted"
    reason: str


@recorded
class DesignReopened(TreeEvent):
    """What was found out about the design no longer counts: it goes through every check and comparison again.

    ``why`` is ``toolchain`` (what it rests on has changed), ``confirm`` (a best of another toolchain) or ``rule`` (only a
    rule had stopped it, named in ``rule``, and the rule does not hold any more).
    """

    TOPIC: ClassVar[str] = "tree.design-reopened"
    design: str
    why: Literal["toolchain", "confirm", "rule"]
    reason: str
    rule: str = ""


@recorded
class DesignRestored(TreeEvent):
    """The toolchain is again one that the design was judged under: what was found out then counts again."""

    TOPIC: ClassVar[str] = "tree.design-restored"
    design: str


@recorded
class TreeUpgraded(TreeEvent):
    """The toolchain of the tree changed; the event carries the new fingerprint, as those after it do.

    ``standing`` are the accepted designs that stand under it, the best last: none under one that is new. ``retry`` are
    bests of another toolchain that are to be compared here, in this order, until one is accepted. ``affected`` says what
    kinds of facts the change touches (see ``hardware.concerns``), ``before`` the fingerprint it replaces.
    """

    TOPIC: ClassVar[str] = "tree.upgraded"
    before: str
    changed: tuple[str, ...]
    affected: tuple[str, ...]
    standing: tuple[str, ...]
    retry: tuple[str, ...]


@guarded
class DesignTree(Aggregate):
    """The designs of one kernel in one run.

    Guards: a design is registered once, before anything is said of it, under a parent that exists; a verdict names
    evidence that is recorded here; only an accepted design with confirming evidence becomes the best.
    """

    KIND: ClassVar[str] = "tree"
    STATE_SCHEMA: ClassVar[int] = 1

    def __init__(self, originator_id: UUID) -> None:
        super().__init__(originator_id)
        self.designs: set[str] = set()
        self.evidence: dict[str, Purpose] = {}
        self.accepted_by_verdict: str | None = None
        self.lineage: list[str] = []
        self.latest_evidence = ""

    @property
    def best(self) -> str | None:
        """The design that candidates are compared with."""
        return self.lineage[-1] if self.lineage else None

    def apply(self, event: Event) -> None:
        """Fold one event."""
        match event:
            case DesignProposed():
                self.designs.add(event.design)
                if event.kind == "baseline":
                    self.lineage.append(event.design)
            case PairsRead():
                self.evidence[event.ref] = event.purpose
                self.latest_evidence = event.ref
            case DesignJudged():
                self.accepted_by_verdict = event.design if event.verdict == "accepted" else None
            case DesignAccepted():
                self.lineage.append(event.design)
                self.accepted_by_verdict = None
            case DesignRevoked():
                self.lineage.remove(event.design)
            case TreeUpgraded():
                self.lineage = [*self.lineage[:1], *event.standing]
                self.accepted_by_verdict = None
            case _:
                pass

    def state(self) -> dict[str, Any]:
        """The guarded state as JSON-ready data."""
        return {
            "designs": sorted(self.designs),
            "evidence": self.evidence,
            "accepted_by_verdict": self.accepted_by_verdict,
            "lineage": self.lineage,
            "latest_evidence": self.latest_evidence,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what :meth:`state` gave."""
        self.designs = set(state["designs"])
        self.evidence = dict(state["evidence"])
        self.accepted_by_verdict = state["accepted_by_verdict"]
        self.lineage = list(state["lineage"])
        self.latest_evidence = state["latest_evidence"]

    def fork(self, context: Context, parent: DesignTree, run: str, kernel: str) -> Event:
        """Continue the tree of the same kernel in another run, as far as ``parent`` has been read."""
        if self.version:
            raise InvariantError(f"the tree of {kernel} in run {run} exists already")
        self.inherit(parent)
        content: dict[str, Any] = {"run": run, "kernel": kernel}
        return self.trigger(TreeForked, context, **content, **parent.origin)

    def start(self, context: Context, **content: Any) -> Event:
        """Enter a kernel; content as in :class:`TreeStarted`."""
        if self.version:
            raise InvariantError(f"the tree of {content['kernel']} exists already")
        return self.trigger(TreeStarted, context, **content)

    def propose(self, context: Context, **content: Any) -> Event:
        """Register a design; content as in :class:`DesignProposed`."""
        design, parent = content["design"], content["parent"]
        if design in self.designs:
            raise InvariantError(f"design {design} is registered already")
        if parent is not None and parent not in self.designs:
            raise InvariantError(f"design {design} names the unknown parent {parent}")
        return self.trigger(DesignProposed, context, **content)

    def check(self, context: Context, **content: Any) -> Event:
        """Record a check; content as in :class:`DesignChecked`."""
        self._known(content["design"])
        return self.trigger(DesignChecked, context, **content)

    def read(self, context: Context, **content: Any) -> Event:
        """Record paired readings; content as in :class:`PairsRead`."""
        self._known(content["best"], content["candidate"])
        lengths = {len(content[name]) for name in ("orders", "best_seconds", "candidate_seconds")}
        if len(lengths) != 1:
            raise InvariantError("a pair needs its order and both its readings")
        return self.trigger(PairsRead, context, **content)

    def judge(self, context: Context, **content: Any) -> Event:
        """Record a verdict; content as in :class:`DesignJudged`."""
        self._known(content["design"], content["against"])
        self._supported(content["evidence"], "decide", "screen")
        return self.trigger(DesignJudged, context, **content)

    def accept(self, context: Context, **content: Any) -> Event:
        """Make a design the best; content as in :class:`DesignAccepted`."""
        if self.accepted_by_verdict != content["design"]:
            raise InvariantError(f"design {content['design']} has no accepting verdict")
        if content["over"] != self.best:
            raise InvariantError(f"the best is {self.best}, not {content['over']}: compare with that")
        self._supported(content["evidence"], "confirm")
        if not content["evidence"]:
            raise InvariantError("a gain is claimed from fresh pairs, and none are named")
        return self.trigger(DesignAccepted, context, **content)

    def revoke(self, context: Context, design: str, reason: str) -> Event:
        """Take back an acceptance; the best is then the latest accepted design that still stands."""
        if design not in self.lineage[1:]:
            raise InvariantError(f"design {design} is not an accepted one")
        remaining = [d for d in self.lineage if d != design]
        return self.trigger(DesignRevoked, context, design=design, best=remaining[-1], reason=reason)

    def reopen(
        self, context: Context, design: str, why: Literal["toolchain", "confirm", "rule"], reason: str, rule: str = ""
    ) -> Event:
        """Let a design be checked and compared again. An accepted one has to leave the lineage first."""
        self._known(design)
        if design in self.lineage[1:]:
            raise InvariantError(f"design {design} stands; it cannot be reopened")
        return self.trigger(DesignReopened, context, design=design, why=why, reason=reason, rule=rule)

    def upgrade(
        self,
        context: Context,
        standing: tuple[str, ...],
        reopened: tuple[str, ...],
        restored: tuple[str, ...],
        **content: Any,
    ) -> Event:
        """Enter another toolchain; content as in :class:`TreeUpgraded`. What was in work begins anew, and designs that
        were judged under the new one before are restored.
        """
        self._known(*standing, *reopened, *restored, *content["retry"])
        event = self.trigger(TreeUpgraded, context, standing=standing, **content)
        for design in restored:
            self.trigger(DesignRestored, context, design=design)
        for design in reopened:
            self.reopen(context, design, "toolchain", f"the toolchain changed: {', '.join(content['changed'])}")
        return event

    def note(self, context: Context, event_class: type[TreeEvent], **content: Any) -> Event:
        """Record a fact that breaks no invariant: a floor, a calibration, an anchor, exhaustion, a refusal."""
        return self.trigger(event_class, context, **content)

    def _known(self, *designs: str) -> None:
        for design in designs:
            if design not in self.designs:
                raise InvariantError(f"design {design} is not registered")

    def _supported(self, evidence: tuple[str, ...], *purposes: str) -> None:
        for ref in evidence:
            if self.evidence.get(ref) not in purposes:
                raise InvariantError(f"evidence {ref} is not a recorded reading taken to {' or '.join(purposes)}")
