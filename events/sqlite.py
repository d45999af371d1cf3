"""The SQLite store: events and blobs in one file, append only, one fsync for each save."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from eventsourcing.persistence import Notification, OperationalError, StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
)

from .filelock import range_lock
from .store import LISTING_TOPICS, PAGE, Row, row_of
from .streams import merged

LOCK_TIMEOUT_SECONDS = 10
"""How long a save waits for another one."""
PAGE_BYTES = 2_048
"""Size of the pages of a new file. A save writes whole pages, three at least: with SQLite's 4 KiB the files that it grows
cross the block sizes of file systems more often than two pages do, and then wait for the file system's journal as well."""
_SYNCED, _UNSYNCED = "PRAGMA synchronous=FULL", "PRAGMA synchronous=NORMAL"
"""Whether a commit waits for the disk."""
_COLUMNS = "notification_id, originator_id, originator_version, topic, state"
_LISTING = "(" + " OR ".join(f"topic='{topic}'" for topic in LISTING_TOPICS) + ")"
"""The same text in the partial index and in the query: that is how SQLite knows that the index serves it. With IN in the
place of OR every insert would build a set of the topics first."""
_IN_ONE_QUERY = 500
"""Positions asked for at a time, well below SQLite's limit on parameters."""


class _Pool(SQLiteConnectionPool):
    """Connections that wait for the disk at every commit, whatever this SQLite was compiled with."""

    def _create_connection(self) -> SQLiteConnection:
        connection = super()._create_connection()
        connection.cursor().execute(_SYNCED)
        return connection


class SQLiteStore(SQLiteApplicationRecorder):
    """The library's recorder with an explicit notification id (plain rowids may change when a file is vacuumed), with
    blobs that are written in the transaction of the events that name them, and with triggers that refuse UPDATE and
    DELETE. Implements :class:`~.store.Store`.
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        self._path = path
        if not read_only:
            _choose_page_size(path)
        datastore = SQLiteDatastore(_uri(path, read_only=read_only), lock_timeout=LOCK_TIMEOUT_SECONDS)
        pool = datastore.pool
        datastore.pool = _Pool(db_name=pool.db_name, lock_timeout=LOCK_TIMEOUT_SECONDS)
        pool.close()
        super().__init__(datastore)
        self._end = 0
        """The last position, as far as this process knows."""
        if not read_only and not self._complete():
            self.create_table()

    def construct_create_table_statements(self) -> list[str]:
        """The schema of the store."""
        statements = [
            "CREATE TABLE IF NOT EXISTS stored_events ("
            "notification_id INTEGER PRIMARY KEY, originator_id TEXT NOT NULL, "
            "originator_version INTEGER NOT NULL, topic TEXT NOT NULL, state BLOB NOT NULL, "
            "UNIQUE (originator_id, originator_version))",
            f"CREATE INDEX IF NOT EXISTS stored_events_listing ON stored_events (notification_id) WHERE {_LISTING}",
            "CREATE TABLE IF NOT EXISTS blobs (digest TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS log_end (position INTEGER NOT NULL)",
            "INSERT INTO log_end SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM log_end)",
            _CREATE_SNAPSHOTS,
        ]
        for table in ("stored_events", "blobs"):
            for verb in ("UPDATE", "DELETE"):
                statements.append(
                    f"CREATE TRIGGER IF NOT EXISTS {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, 'the log is append only'); END"
                )
        return statements

    def _complete(self) -> bool:
        """Whether every table, index and trigger is there: then opening writes nothing, and waits for nobody."""
        wanted = len([each for each in self.construct_create_table_statements() if each.startswith("CREATE")])
        return self._number(f"SELECT count(*) FROM sqlite_master WHERE name IN ({_NAMES})") == wanted  # noqa: S608  our own

    def create_table(self) -> None:
        """Make what is missing; processes that open a new store at once take turns."""
        with self.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            # At once for writing: a transaction that has read is not let in to write after another one has written.
            cursor.execute("BEGIN IMMEDIATE")
            try:
                for statement in self.construct_create_table_statements():
                    cursor.execute(statement)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def insert_events(self, stored_events: Sequence[StoredEvent], **_kwargs: Any) -> Sequence[int]:
        """The library's way to record events, without blobs; see :meth:`append`."""
        return self.append([row_of(each) for each in stored_events], {})

    def append(self, rows: Sequence[Row], blobs: Mapping[str, bytes], *, synced: bool = True) -> Sequence[int]:
        """Record events and blobs in one transaction; see :meth:`Store.append`."""
        count = len(rows)
        with self._writing(synced=synced) as c:
            last = self._advance(c, count)
            if blobs:
                c.executemany("INSERT OR IGNORE INTO blobs VALUES (?,?)", list(blobs.items()))
            positions = range(last - count + 1, last + 1)
            c.executemany(
                "INSERT INTO stored_events VALUES (?,?,?,?,?)",
                [
                    (position, originator.hex, version, topic, state)
                    for position, (originator, version, topic, state) in zip(positions, rows, strict=True)
                ],
            )
        self._end = last
        return positions

    @contextmanager
    def _writing(self, *, synced: bool) -> Iterator[SQLiteCursor]:
        """A transaction that is committed at the end. One that is not synced is in the file when it ends, and on the disk
        with the next one that is: the log of writes is one sequence.
        """
        with self.datastore.get_connection(commit=True) as connection:
            if not synced:
                connection.cursor().execute(_UNSYNCED)
            try:
                with connection.transaction(commit=True) as cursor:
                    yield cursor
            finally:
                if not synced:
                    connection.cursor().execute(_SYNCED)

    def _advance(self, c: SQLiteCursor, count: int) -> int:
        """Take the next ``count`` positions; returns the last one. Asks nothing when no other process has saved since."""
        # A write comes first: a transaction that begins by reading may not be let in to write afterwards.
        c.execute("UPDATE log_end SET position = ? WHERE position = ?", (self._end + count, self._end))
        if c.sqlite_cursor.rowcount == 1:
            return self._end + count
        c.execute("UPDATE log_end SET position = position + ?", (count,))
        c.execute("SELECT position FROM log_end")
        return int(c.fetchone()[0])

    def stream(
        self, originators: Sequence[UUID] | None, after: int = 0, until: int | None = None
    ) -> Iterator[Notification]:
        """Stored events by position; see :meth:`Store.stream`."""
        if originators is not None:
            end = self.last_position()
            yield from merged(originators, self._page, self._last, after, end if until is None else min(until, end))
            return
        bound = "" if until is None else f" AND notification_id<={int(until)}"
        while True:
            page = self._select(f"notification_id>?{bound} ORDER BY notification_id LIMIT {PAGE}", [after])
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].id

    def _page(self, originator: UUID, version: int, limit: int) -> list[Notification]:
        by_version = f"originator_id=? AND originator_version>? ORDER BY originator_version LIMIT {limit}"
        return self._select(by_version, [originator.hex, version])

    def _last(self, originator: UUID) -> Notification | None:
        found = self._select("originator_id=? ORDER BY originator_version DESC LIMIT 1", [originator.hex])
        return found[0] if found else None

    def stream_listing(self) -> Iterator[Notification]:
        """Events that a list of runs is made from; see :meth:`Store.stream_listing`."""
        after = 0
        while True:
            page = self._select(f"{_LISTING} AND notification_id>? ORDER BY notification_id LIMIT {PAGE}", [after])
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].id

    def at_positions(self, positions: Sequence[int]) -> Sequence[Notification]:
        """The events at some positions; see :meth:`Store.at_positions`."""
        ordered = sorted(positions)
        found: list[Notification] = []
        for start in range(0, len(ordered), _IN_ONE_QUERY):
            some = ordered[start : start + _IN_ONE_QUERY]
            found += self._select(f"notification_id IN ({_marks(some)}) ORDER BY notification_id", some)
        return found

    def _select(self, condition: str, values: Sequence[object]) -> list[Notification]:
        statement = f"SELECT {_COLUMNS} FROM stored_events WHERE {condition}"  # noqa: S608  conditions of this module
        with self.datastore.transaction(commit=False) as c:
            c.execute(statement, values)
            return [Notification(UUID(row[1]), row[2], row[3], _bytes(row[4]), row[0]) for row in c.fetchall()]

    def read_blob(self, digest: str) -> bytes | None:
        """The stored form of a blob, or None."""
        return self._cell("SELECT content FROM blobs WHERE digest=?", digest)

    def blob_digests(self) -> Iterator[str]:
        """The digests of all blobs, in order."""
        last = ""
        while True:
            with self.datastore.transaction(commit=False) as c:
                c.execute("SELECT digest FROM blobs WHERE digest>? ORDER BY digest LIMIT ?", (last, PAGE))
                rows = [str(row[0]) for row in c.fetchall()]
            if not rows:
                return
            yield from rows
            last = rows[-1]

    def last_position(self) -> int:
        """The position of the last event; 0 when there is none."""
        return self._number("SELECT MAX(notification_id) FROM stored_events")

    def positions_given(self) -> int:
        """The last position that was ever given."""
        return self._number("SELECT MAX(position) FROM log_end")

    def read_snapshot(self, name: str) -> bytes | None:
        """A cached snapshot, or None; an older store has no table of them."""
        try:
            return self._cell("SELECT content FROM snapshots WHERE name=?", name)
        except OperationalError as error:
            if "no such table" in str(error):
                return None
            raise

    def write_snapshot(self, name: str, content: bytes) -> None:
        """Replace a cached snapshot."""
        with self.datastore.transaction(commit=True) as c:
            c.execute(_CREATE_SNAPSHOTS)
            c.execute("INSERT OR REPLACE INTO snapshots VALUES (?,?)", (name, content))

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold the right called ``name``: a lock on one byte of a file beside the store, which the system drops with the
        process.
        """
        byte = int.from_bytes(hashlib.sha256(name.encode()).digest()[:5])
        with range_lock(Path(f"{self._path}-leases"), byte):
            yield

    def close(self) -> None:
        """Release every connection."""
        self.datastore.close()

    def _cell(self, statement: str, value: str) -> bytes | None:
        with self.datastore.transaction(commit=False) as c:
            c.execute(statement, (value,))
            row = c.fetchone()
            return None if row is None else _bytes(row[0])

    def _number(self, statement: str) -> int:
        with self.datastore.transaction(commit=False) as c:
            c.execute(statement)
            return int(c.fetchone()[0] or 0)


_CREATE_SNAPSHOTS = "CREATE TABLE IF NOT EXISTS snapshots (name TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID"


_TRIGGERS = [f"{table}_no_{verb}" for table in ("stored_events", "blobs") for verb in ("update", "delete")]
_NAMES = ",".join(
    f"'{name}'" for name in ("stored_events", "stored_events_listing", "blobs", "log_end", "snapshots", *_TRIGGERS)
)


def _choose_page_size(path: str) -> None:
    """Make a new file with our pages; one that has any keeps them."""
    if Path(path).exists() and Path(path).stat().st_size:
        return
    try:
        # Before the library connects: its first act is to write the header, and pages keep their size from then on.
        with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_SECONDS)) as connection:
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.Error as error:
        raise OperationalError(str(error)) from error


def _bytes(value: bytes | str) -> bytes:
    """A column of bytes; SQLite keeps what it is given, and a careless edit may have given text."""
    return value.encode() if isinstance(value, str) else bytes(value)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _uri(path: str, *, read_only: bool) -> str:
    uri = "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    if not read_only:
        return uri
    # A reader joins the writers' log file, which it may have to create. Where it cannot, and nobody has left one, the
    # file is at rest: it can be read as it is, from read-only media too.
    at_rest = not Path(f"{path}-wal").exists() and not _can_create_beside(path)
    return uri + ("?immutable=1" if at_rest else "?mode=ro")


def _can_create_beside(path: str) -> bool:
    return os.access(Path(path).resolve().parent, os.W_OK)
