"""Events of a knowledge base that come from work on designs: what rules did, lessons, closed families, estimates."""

from __future__ import annotations

from typing import ClassVar, Literal

from .base import recorded
from .knowledge import KnowledgeEvent

Effect = Literal["helped", "hurt", "no-gain"]


@recorded
class RuleFired(KnowledgeEvent):
    """A rule matched a design in review. Either it was vetoed, or it goes to the compiler anyway to audit the rule.

    ``seconds_saved`` is what a build took on average so far; it is saved only by a veto.
    """

    TOPIC: ClassVar[str] = "knowledge.rule-fired"
    rule: str
    run: str
    kernel: str
    design: str
    vetoed: bool
    seconds_saved: float


@recorded
class RuleMet(KnowledgeEvent):
    """A design failed with the diagnostic of a known rule that had not vetoed it."""

    TOPIC: ClassVar[str] = "knowledge.rule-met"
    rule: str
    run: str
    kernel: str
    design: str


@recorded
class VetoAudited(KnowledgeEvent):
    """What became of a design that a rule would have vetoed: ``right`` when it did fail as the rule says."""

    TOPIC: ClassVar[str] = "knowledge.veto-audited"
    rule: str
    run: str
    kernel: str
    design: str
    right: bool
    outcome: str
    seconds: float


@recorded
class LessonDrawn(KnowledgeEvent):
    """A change of levers and what it did, from a decided comparison. A ratio is seconds before over seconds after.

    ``evidence`` names the readings. ``whole`` is the whole-kernel design that the change was made in, ``bottleneck`` what
    limited it.
    """

    TOPIC: ClassVar[str] = "knowledge.lesson-drawn"
    lesson: str
    run: str
    kernel: str
    design: str
    against: str
    before: dict[str, str | int]
    after: dict[str, str | int]
    effect: Effect
    ratio: float
    ratio_low: float
    ratio_high: float
    pairs: int
    whole: str
    bottleneck: str
    evidence: tuple[str, ...]
    depends: tuple[str, ...]


@recorded
class FamilyClosed(KnowledgeEvent):
    """A value of a lever is not worth trying on a kernel, as long as its assumptions hold.

    Assumptions: the parts of the toolchain (``depends``), the whole-kernel design (``whole``), the ``bottleneck``.
    """

    TOPIC: ClassVar[str] = "knowledge.family-closed"
    family: str
    run: str
    kernel: str
    lever: str
    value: str | int
    whole: str
    bottleneck: str
    reason: str
    lessons: tuple[str, ...]
    depends: tuple[str, ...]


@recorded
class EstimatePaired(KnowledgeEvent):
    """An estimate and the reading that followed it; both are log(seconds of the best / seconds of the candidate).

    ``change`` is the class of change. ``sampled``: the estimate would have dropped the candidate, which was read anyway.
    ``resolution`` is the smallest log ratio that the device could tell; readings below it have no sign.
    """

    TOPIC: ClassVar[str] = "knowledge.estimate-paired"
    run: str
    kernel: str
    design: str
    change: str
    estimated: float
    measured: float
    resolution: float
    sampled: bool
    accepted: bool
    evidence: tuple[str, ...]
    depends: tuple[str, ...]
