"""Streaming the events of some aggregates in the order of recording, at a cost that neither other runs nor the length of
the log add to.

A database asked for "these aggregates, by position" finds all their events and sorts them, once for each page. Within one
aggregate versions and positions rise together, so that its events come in order by the index on versions, and the streams
of the aggregates are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from uuid import UUID

from eventsourcing.persistence import Notification

from .store import PAGE

Page = Callable[[UUID, int, int], Sequence[Notification]]
"""At most so many (third) events of an aggregate above a version (second), by version."""
Last = Callable[[UUID], Notification | None]
"""The last event of an aggregate."""


def merged(originators: Sequence[UUID], page: Page, last: Last, after: int, until: int) -> Iterator[Notification]:
    """Events of the aggregates in the order of their positions, above ``after`` and up to ``until``.

    ``until`` is no later than what was recorded when the reading began: each aggregate is read at an instant of its own,
    and what others record in between would be there for one and not yet for another.
    """
    streams = [_stream(each, page, version_at(each, page, last, after), until) for each in dict.fromkeys(originators)]
    return merge(*streams, key=lambda notification: notification.id)


def _stream(originator: UUID, page: Page, version: int, until: int) -> Iterator[Notification]:
    while True:
        found = page(originator, version, PAGE)
        for notification in found:
            if notification.id > until:
                return
            yield notification
        if len(found) < PAGE:
            return
        version = found[-1].originator_version


def version_at(originator: UUID, page: Page, last: Last, position: int) -> int:
    """The version that an aggregate had at a position: of its last event up to there, 0 for none. Searched from its end,
    which is where a reader that follows the log is.
    """
    if position <= 0:
        return 0
    newest = last(originator)
    if newest is None or newest.id <= position:
        return 0 if newest is None else newest.originator_version
    # The answer is at least ``low`` and below ``high``.
    low, high, step = 0, newest.originator_version, 1
    while high - step > 0:
        (probe,) = page(originator, high - step - 1, 1)
        if probe.id <= position:
            low = probe.originator_version
            break
        high, step = probe.originator_version, step * 2
    while high - low > 1:
        (probe,) = page(originator, (low + high) // 2 - 1, 1)
        if probe.originator_version >= high:
            high = (low + high) // 2  # a version is missing in between: only a damaged store has that
        elif probe.id <= position:
            low = probe.originator_version
        else:
            high = probe.originator_version
    return low
