"""The SQLite store: events and blobs in one file, append only, one fsync for each save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from eventsourcing.persistence import Notification, StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteCursor, SQLiteDatastore

PAGE = 2_000
"""Events read at a time, so that a long log never sits in memory."""


class SQLiteStore(SQLiteApplicationRecorder):
    """The library's recorder with an explicit notification id (plain rowids may change when a file is vacuumed), with
    blobs that are written in the transaction of the events that name them, and with triggers that refuse UPDATE and
    DELETE.
    """

    def __init__(self, path: str, *, lock_timeout_seconds: int = 10, read_only: bool = False) -> None:
        uri = f"file:{_escape(path)}" + ("?mode=ro" if read_only else "")
        super().__init__(SQLiteDatastore(uri, lock_timeout=lock_timeout_seconds))
        self.insert_events_statement = (
            "INSERT INTO stored_events (originator_id, originator_version, topic, state) VALUES (?,?,?,?)"
        )
        if not read_only:
            self.create_table()

    def construct_create_table_statements(self) -> list[str]:
        """The schema of the store."""
        statements = [
            "CREATE TABLE IF NOT EXISTS stored_events ("
            "notification_id INTEGER PRIMARY KEY AUTOINCREMENT, originator_id TEXT NOT NULL, "
            "originator_version INTEGER NOT NULL, topic TEXT NOT NULL, state BLOB NOT NULL, "
            "UNIQUE (originator_id, originator_version))",
            "CREATE INDEX IF NOT EXISTS stored_events_topic ON stored_events (topic)",
            "CREATE TABLE IF NOT EXISTS blobs (digest TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID",
        ]
        for table in ("stored_events", "blobs"):
            for verb in ("UPDATE", "DELETE"):
                statements.append(
                    f"CREATE TRIGGER IF NOT EXISTS {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, 'the log is append only'); END"
                )
        return statements

    def _insert_events(
        self,
        c: SQLiteCursor,
        stored_events: Sequence[StoredEvent],
        **kwargs: Any,
    ) -> Sequence[int] | None:
        blobs: Mapping[str, bytes] = kwargs.get("blobs") or {}
        for digest, content in blobs.items():
            c.execute("INSERT OR IGNORE INTO blobs VALUES (?,?)", (digest, content))
        return super()._insert_events(c, stored_events)

    def read_blob(self, digest: str) -> bytes | None:
        """The stored form of a blob, or None."""
        with self.datastore.transaction(commit=False) as c:
            c.execute("SELECT content FROM blobs WHERE digest=?", (digest,))
            row = c.fetchone()
            return None if row is None else bytes(row[0])

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

    def stream(self, originators: Sequence[UUID] | None, after: int = 0) -> Iterator[Notification]:
        """Stored events in the order in which they were recorded, page by page; all of them, or those of some
        aggregates (by the index on originators, so that other runs in the store cost nothing).
        """
        while True:
            page = self._page(originators, after)
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].id

    def stream_topics(self, topics: Sequence[str]) -> Iterator[Notification]:
        """Stored events of some topics, in the order in which they were recorded."""
        after = 0
        while True:
            page = self.select_notifications(after, PAGE, topics=topics, inclusive_of_start=False)
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].id

    def _page(self, originators: Sequence[UUID] | None, after: int) -> list[Notification]:
        if originators is None:
            return list(self.select_notifications(after, PAGE, inclusive_of_start=False))
        marks = ",".join("?" * len(originators))
        statement = (
            "SELECT notification_id, originator_id, originator_version, topic, state FROM stored_events "  # noqa: S608
            f"WHERE originator_id IN ({marks}) AND notification_id>? ORDER BY notification_id LIMIT ?"
        )  # only question marks are put in, one for each originator
        with self.datastore.transaction(commit=False) as c:
            c.execute(statement, [o.hex for o in originators] + [after, PAGE])
            return [
                Notification(
                    id=row["notification_id"],
                    originator_id=UUID(row["originator_id"]),
                    originator_version=row["originator_version"],
                    topic=row["topic"],
                    state=row["state"],
                )
                for row in c.fetchall()
            ]


def _escape(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
