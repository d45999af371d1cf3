"""A step: what the machine does next, named by what it does to what."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal, get_args

from ..events.base import canonical

StepName = Literal[
    "observe",
    "study",
    "check_item",
    "probe",
    "reopen",
    "learn",
    "admit",
    "baseline",
    "build",
    "verify",
    "floor",
    "calibrate",
    "propose",
    "review",
    "estimate",
    "screen",
    "compare",
    "judge",
    "confirm",
    "accept",
    "recheck",
    "anchor",
    "finish",
]
STEP_NAMES: tuple[str, ...] = get_args(StepName)


@dataclass(frozen=True)
class Step:
    """One step. ``turn`` tells repeated steps on the same subject apart; it is counted from the log.

    ``item`` is an item of the knowledge base or a document; for an anchor it is the earlier best that the best is
    compared with, and empty for the baseline. ``epoch`` counts how often the design was reopened.
    """

    name: StepName
    kernel: str = ""
    design: str = ""
    turn: int = 0
    item: str = ""
    epoch: int = 0

    @property
    def subject(self) -> dict[str, str]:
        """On what it works, for the event of its start."""
        subject = {"kernel": self.kernel, "design": self.design, "item": self.item}
        return {name: value for name, value in subject.items() if value}

    @property
    def key(self) -> str:
        """The identity of the effect (16 hex digits): equal for every attempt at the same step."""
        text = canonical([self.name, self.kernel, self.design, self.turn, self.item, self.epoch])
        return hashlib.sha256(text.encode()).hexdigest()[:16]
