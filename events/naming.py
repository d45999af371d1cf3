"""Naming events in words: which event, of what, at what position."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from .base import Event, aggregate_id
from .device import LeaseGranted
from .run import RunForked, RunStarted
from .tree import TreeForked, TreeStarted

_TOLD = ("name", "kernel", "design", "check", "purpose", "verdict", "outcome", "reason")
"""Fields that say most of what an event is about, in the order in which they are told."""
REFERENCE = re.compile(r"[0-9a-f]{12}:[0-9]+")
"""What a reference to an event looks like (``Event.ref``)."""


class Names:
    """Names of aggregates, learned from the events that say them."""

    def __init__(self) -> None:
        self._names: dict[UUID, str] = {}

    def learn(self, event: Event) -> None:
        """Take in what an event says about the name of its aggregate, and of those that will follow it."""
        match event:
            case RunStarted():
                self._names[event.originator_id] = f"run {event.run}"
                self._names[aggregate_id("answers", event.run)] = f"the answers of run {event.run}"
                for kernel in event.kernels:
                    self._names[aggregate_id("tree", event.run, kernel)] = f"the tree of {kernel} in run {event.run}"
            case RunForked():
                self._names[event.originator_id] = f"run {event.run}"
                self._names[aggregate_id("answers", event.run)] = f"the answers of run {event.run}"
            case TreeStarted() | TreeForked():
                self._names[event.originator_id] = f"the tree of {event.kernel} in run {event.run}"
            case LeaseGranted():
                self._names[event.originator_id] = f"device {event.device}"
            case _:
                target = getattr(event, "target", None)
                if isinstance(target, str):
                    self._names.setdefault(event.originator_id, f"the {event.AGGREGATE} of {target}")

    def of(self, originator: UUID, topic: str = "") -> str:
        """The name of an aggregate, or what its id and the topic of its event tell."""
        known = self._names.get(originator)
        return known or f"a {topic.partition('.')[0] or 'unknown'} aggregate ({originator.hex[:12]})"


def told(event: Event, *, longest: int = 100) -> str:
    """What an event is about, in a line."""
    content = event.content()
    parts = [_text(content[field]) for field in _TOLD if content.get(field) not in (None, "", {})]
    text = " ".join([event.TOPIC.partition(".")[2], *parts])
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _text(value: Any) -> str:
    return " ".join(str(value).split())
