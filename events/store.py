"""The port of a store: where events and blobs are kept. SQLite and PostgreSQL have one implementation each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol
from uuid import UUID

from eventsourcing.persistence import Notification, StoredEvent

Row = tuple[UUID, int, str, bytes]
"""An event to record: aggregate, version, topic, stored bytes. Plain tuples, for a save makes one for each event."""

PAGE = 2_000
"""Events read at a time, so that a long log never sits in memory."""

LISTING_TOPICS = ("run.started", "run.forked", "run.resumed", "run.stopped")
"""Topics of the few events that a list of runs is made from; a partial index covers them, so that it costs others
nothing."""


def row_of(stored: StoredEvent) -> Row:
    """The row of an event in the library's form."""
    originator = stored.originator_id
    aggregate = originator if isinstance(originator, UUID) else UUID(originator)
    return aggregate, stored.originator_version, stored.topic, stored.state


class HeldError(Exception):
    """Another process holds what was asked for."""


class Store(Protocol):
    """Events and blobs, append only.

    Contract: ``append`` is atomic and durable, and gives positions (notification ids) that follow each other
    without gaps in the order in which saves became visible: whoever has read up to a position has missed nothing before
    it. An event whose aggregate already has its version is refused with the library's IntegrityError, and nothing of
    the save is kept. Stored rows are never changed. Snapshots are a cache beside them and may vanish at any time.
    """

    def append(self, rows: Sequence[Row], blobs: Mapping[str, bytes], *, synced: bool = True) -> Sequence[int]:
        """Record events and the blobs (stored form, by digest) that they name in one transaction; their positions.

        Survives the death of the process in any case. When not ``synced`` it does not wait for the disk, and survives
        the death of the machine from the next synced save on.
        """

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """Events of one aggregate, by version."""

    def stream(
        self, originators: Sequence[UUID] | None, after: int = 0, until: int | None = None
    ) -> Iterator[Notification]:
        """Stored events in the order of their positions, page by page, above ``after`` and up to ``until``: all of them,
        or those of some aggregates (by the index on originators, so that other runs in the store cost nothing).
        """

    def stream_listing(self) -> Iterator[Notification]:
        """Events of :data:`LISTING_TOPICS`, in the order of their positions."""

    def at_positions(self, positions: Sequence[int]) -> Sequence[Notification]:
        """The events at some positions, in their order; positions without an event are left out."""

    def read_blob(self, digest: str) -> bytes | None:
        """The stored form of a blob, or None."""

    def blob_digests(self) -> Iterator[str]:
        """The digests of all blobs, in order."""

    def last_position(self) -> int:
        """The position of the last event; 0 when there is none."""

    def positions_given(self) -> int:
        """The last position that was ever given, whether or not an event is still there."""

    def read_snapshot(self, name: str) -> bytes | None:
        """A cached snapshot, or None."""

    def write_snapshot(self, name: str, content: bytes) -> None:
        """Replace a cached snapshot."""

    def hold(self, name: str) -> AbstractContextManager[None]:
        """Hold the exclusive right called ``name`` among all processes that share the store, as long as this process
        lives and the context lasts. Raises HeldError when another has it.
        """

    def close(self) -> None:
        """Release every connection."""
