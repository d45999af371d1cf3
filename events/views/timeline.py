"""The readable timeline of a run, event by event, with filters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..base import Event, aggregate_id
from ..log import EventLog, Recorded
from ..naming import told
from ..tree import PairsRead, TreeEvent
from .load import history, kernels_of, segments


@dataclass(frozen=True)
class Filter:
    """Which events to list; what is left empty lets all through. ``kind`` is a part of the topic or its family
    (``tree``, ``run``), ``since`` a time.
    """

    kernel: str = ""
    design: str = ""
    kind: str = ""
    since: datetime | None = None

    def passes(self, event: Event, kernel: str) -> bool:
        """Whether an event of a kernel's tree (or of no kernel) is listed."""
        if self.kernel and kernel != self.kernel:
            return False
        if self.design and self.design not in _designs(event):
            return False
        if self.kind and self.kind not in event.TOPIC:
            return False
        return self.since is None or event.at >= self.since


def timeline(log: EventLog, run: str, wanted: Filter) -> Iterator[dict[str, Any]]:
    """The events of a run that pass a filter, oldest first, as JSON-ready data; raises UnknownRunError."""
    kernels = {
        aggregate_id("tree", segment.run, kernel): kernel
        for segment in segments(log, run)
        for kernel in kernels_of(log, run)
    }
    for recorded in history(log, run):
        event = recorded.event
        kernel = kernels.get(event.originator_id, "") or _subject(event)
        if wanted.passes(event, kernel):
            yield entry(recorded, kernel)


def entry(recorded: Recorded, kernel: str) -> dict[str, Any]:
    """One event as a line of the timeline."""
    event = recorded.event
    return {
        "position": recorded.position,
        "event": event.ref,
        "at": event.at.isoformat(timespec="milliseconds"),
        "kind": event.TOPIC,
        "kernel": kernel or None,
        "step": event.step or None,
        "attempt": event.attempt or None,
        "cause": event.cause or None,
        "toolchain": event.toolchain or None,
        "summary": _summary(event),
        "content": event.content(),
    }


def _summary(event: Event) -> str:
    if isinstance(event, PairsRead):
        read = f"{len(event.orders)} pairs to {event.purpose}: {event.candidate} against {event.best}"
        return read if event.outcome == "ok" else f"{read}, ended by {event.outcome}: {event.reason}"
    return told(event)


def _subject(event: Event) -> str:
    subject = getattr(event, "subject", None)
    return str(subject.get("kernel", "")) if isinstance(subject, dict) else str(getattr(event, "kernel", ""))


def _designs(event: Event) -> set[str]:
    names = [getattr(event, field, None) for field in ("design", "candidate", "best", "against", "over")]
    if not isinstance(event, TreeEvent):
        subject = getattr(event, "subject", None)
        names.append(subject.get("design") if isinstance(subject, dict) else None)
    return {name for name in names if isinstance(name, str)}
