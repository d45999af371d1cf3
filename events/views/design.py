"""What is known of one design, folded from its events."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...acceptance.sequential import log_ratio
from ..tree import (
    DesignAccepted,
    DesignChecked,
    DesignJudged,
    DesignProposed,
    DesignReopened,
    DesignRestored,
    DesignRevoked,
    PairsRead,
    TreeEvent,
)

if TYPE_CHECKING:
    from .decisions import Running

DECIDING = ("screen", "decide")
"""What a verdict rests on: the short probe's pairs open the comparison. Confirming pairs never take part."""


PASSING = ("ok", "no-values")
"""Outcomes of a check that screen nothing out. ``no-values`` says that there was no way to run the design."""


@dataclass(frozen=True)
class Epoch:
    """What was found out about a design under a toolchain, before it was reopened under another one."""

    toolchain: str
    checks: tuple[DesignChecked, ...]
    readings: tuple[PairsRead, ...]
    verdict: DesignJudged | None
    accepted: DesignAccepted | None
    accepted_at: int
    revoked: DesignRevoked | None
    artifact: str | None
    reopened: tuple[DesignReopened, ...]


@dataclass
class DesignView:
    """All that is known of one design."""

    proposed: DesignProposed
    ref: str
    checks: list[DesignChecked] = field(default_factory=list)
    readings: list[PairsRead] = field(default_factory=list)
    verdict: DesignJudged | None = None
    accepted: DesignAccepted | None = None
    revoked: DesignRevoked | None = None
    artifact: str | None = None
    positions: list[int] = field(default_factory=list)
    """Positions in the log of the events that this was folded from."""
    toolchain: str = ""
    """The toolchain under which what is held here was found out; empty for the one that it was proposed under."""
    accepted_at: int = 0
    """Position of the acceptance."""
    reopened: list[DesignReopened] = field(default_factory=list)
    """Why it was taken up again under this toolchain, each time."""
    epochs: list[Epoch] = field(default_factory=list)
    """What was found out under other toolchains, or before it was reopened, the latest last."""
    running: Running | None = field(default=None, compare=False, repr=False)
    """Its comparison as far as it was followed; derived from the readings at any time (:mod:`.decisions`)."""

    def apply(self, event: TreeEvent, position: int) -> None:
        """Fold one more event of this design."""
        self.positions.append(position)
        match event:
            case DesignChecked():
                self.checks.append(event)
                self.artifact = event.artifact or self.artifact
            case PairsRead():
                self.readings.append(event)
            case DesignJudged():
                self.verdict = event
            case DesignAccepted():
                self.accepted, self.accepted_at = event, position
            case DesignRevoked():
                self.revoked = event
            case DesignReopened():
                self._close_epoch()
                same = self.toolchain == event.toolchain
                self.reopened = [*(self.reopened if same else ()), event]
                self.toolchain = event.toolchain
            case DesignRestored():
                self._restore(event.toolchain)
            case _:
                pass

    def _close_epoch(self) -> None:
        self.epochs.append(
            Epoch(
                self.judged_under,
                tuple(self.checks),
                tuple(self.readings),
                self.verdict,
                self.accepted,
                self.accepted_at,
                self.revoked,
                self.artifact,
                tuple(self.reopened),
            )
        )
        self.checks, self.readings, self.reopened = [], [], []
        self.verdict = self.accepted = self.revoked = self.artifact = None
        self.accepted_at = 0

    def _restore(self, toolchain: str) -> None:
        kept = self.epoch(toolchain)
        self._close_epoch()
        self.toolchain = toolchain
        if kept is not None:
            self.checks, self.readings, self.reopened = list(kept.checks), list(kept.readings), list(kept.reopened)
            self.verdict, self.accepted, self.revoked = kept.verdict, kept.accepted, kept.revoked
            self.accepted_at, self.artifact = kept.accepted_at, kept.artifact

    @property
    def judged_under(self) -> str:
        """The fingerprint of the toolchain under which what is held here was found out."""
        return self.toolchain or self.proposed.toolchain

    def epoch(self, toolchain: str) -> Epoch | None:
        """What was found out last under another toolchain, None when nothing was."""
        return next((epoch for epoch in reversed(self.epochs) if epoch.toolchain == toolchain), None)

    @property
    def id(self) -> str:
        """The design's name in its tree, such as ``d0007``."""
        return self.proposed.design

    @property
    def failed(self) -> DesignChecked | None:
        """The check that screened it out, if one did; a recheck after acceptance screens nothing out."""
        return next((c for c in self.checks if c.outcome not in PASSING and c.check != "recheck"), None)

    @property
    def outcome(self) -> str:
        """The outcome that ended it, or ``ok``."""
        if self.failed is not None:
            return self.failed.outcome
        return "ok"

    @property
    def open(self) -> bool:
        """Whether something remains to be done with it before it is decided."""
        if self.failed is not None or self.accepted is not None:
            return False
        if self.proposed.kind == "baseline":
            return not self.went_through("oracle")
        return self.verdict is None or self.verdict.verdict == "accepted"

    @property
    def teaches(self) -> bool:
        """Whether something can be learned from how it ended: a failure, a decided comparison, a tested estimate."""
        failed = self.failed
        if failed is not None and "kind" in failed.details:
            return True
        if any("audits" in check.details for check in self.checks if check.check == "review"):
            return True
        if failed is None and self.verdict is not None and self.verdict.verdict in ("accepted", "rejected"):
            return True
        return bool(self.readings) and any(check.check == "estimate" for check in self.checks)

    def passed(self, check: str) -> bool:
        """Whether it passed the check."""
        return any(c.check == check and c.outcome == "ok" for c in self.checks)

    def went_through(self, check: str) -> bool:
        """Whether it passed the check, or the check could not be made here."""
        return any(c.check == check and c.outcome in PASSING for c in self.checks)

    @property
    def estimate(self) -> DesignChecked | None:
        """The latest estimate of it, None when there is none. ``details`` hold ``seconds``, ``model`` and ``limit``."""
        return next((c for c in reversed(self.checks) if c.check == "estimate" and "seconds" in c.details), None)

    @property
    def estimated_seconds(self) -> float | None:
        """Seconds of one call as estimated, None when they were not."""
        return None if self.estimate is None else float(self.estimate.details["seconds"])

    @property
    def held(self) -> bool:
        """Whether it has gone as far as a design can go without a device, and nothing has been found wrong with it since."""
        wrong = any(c.check == "recheck" and c.outcome not in PASSING for c in self.checks)
        return self.verdict is not None and self.verdict.verdict == "held" and self.failed is None and not wrong

    def differences(self, purposes: tuple[str, ...], against: str) -> list[float]:
        """Log ratios log(best / candidate) of all complete pairs read for ``purposes`` against a best, in order."""
        return [
            log_ratio(b, c)
            for r in self.evidence(purposes, against)
            for b, c in zip(r.best_seconds, r.candidate_seconds, strict=True)
        ]

    def scales(self, purposes: tuple[str, ...], against: str) -> list[float]:
        """The calibrated scale in force when each of those pairs was read."""
        return [r.scale for r in self.evidence(purposes, against) for _ in r.orders]

    def evidence(self, purposes: tuple[str, ...], against: str) -> list[PairsRead]:
        """The readings taken for ``purposes`` against a best, in order."""
        return [r for r in self.readings if r.purpose in purposes and r.best == against]


@dataclass(frozen=True)
class Standing:
    """What a design adds to the counts of its tree."""

    screened_by: str | None = None
    compared: bool = False
    verdict: str | None = None


def standing(design: DesignView) -> Standing:
    """Where a design stands, for the counts: accepted once accepted, else its latest verdict."""
    verdict = design.verdict.verdict if design.verdict is not None else None
    return Standing(
        screened_by=design.failed.check if design.failed is not None else None,
        compared=any(reading.purpose == "decide" for reading in design.readings),
        verdict="accepted"
        if design.accepted is not None
        else verdict
        if verdict in ("rejected", "undecided", "held")
        else None,
    )
