"""Earlier states: which position of the log an event, a time or a toolchain stands for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from ..log import Recorded
from ..run import ToolchainObserved

LONGEST_POSITION = 12
"""Digits of a number that is taken for a position; a longer one is a fingerprint that happens to have no letter."""


class UnknownMomentError(Exception):
    """What was given names no moment of the history. The message says what is understood."""


def position_as_of(recorded: Iterable[Recorded], moment: str) -> int:
    """The position of the last event of a history that belongs to the state as of ``moment``.

    ``moment`` is an event (its reference, or a position of the log: then everything up to there), a time (ISO 8601; UTC
    unless it says otherwise), or a toolchain (its fingerprint, or at least 4 first digits of it): then everything up to
    where another one was observed. Raises UnknownMomentError.
    """
    time = _time(moment)
    position = int(moment) if moment.isdigit() and len(moment) <= LONGEST_POSITION else None
    found: int | None = None
    last_before: int | None = None
    in_force = ""
    events = 0
    for each in recorded:
        event = each.event
        events += 1
        if moment == event.ref:
            return each.position
        if position is not None:
            if each.position > position:
                break
            last_before = each.position
            continue
        if time is not None:
            if event.at > time:
                break
            last_before = each.position
            continue
        if isinstance(event, ToolchainObserved):
            in_force = event.fingerprint
        now = in_force if isinstance(event, ToolchainObserved) or not event.toolchain else event.toolchain
        if len(moment) >= 4 and now.startswith(moment):
            found = each.position
    answer = found if time is None and position is None else last_before
    if answer is None:
        raise UnknownMomentError(
            f"{moment!r} is no moment of this history of {events} events; give the reference or position of an event, a "
            "time such as 2026-11-30T15:00, or the fingerprint of a toolchain"
        )
    return answer


def _time(moment: str) -> datetime | None:
    if moment.isdigit() or "-" not in moment:
        return None
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
