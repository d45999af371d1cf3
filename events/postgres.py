"""The PostgreSQL store: the same port as the SQLite one, on a server that several machines can share."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from eventsourcing.persistence import Notification, OperationalError, PersistenceError, ProgrammingError, StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg import Cursor
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed, Identifier

from .store import LISTING_TOPICS, PAGE, HeldError, Row, row_of
from .streams import merged

LOCK_TIMEOUT_SECONDS = 10
"""How long a save waits for another one."""
CONNECT_TIMEOUT_SECONDS = 10
_LISTING = SQL("topic IN ({})").format(SQL(",").join(LISTING_TOPICS))
_COLUMNS = SQL("notification_id, originator_id, originator_version, topic, state")
_TABLES = ("stored_events", "blobs")


class PostgresStore(PostgresApplicationRecorder):
    """The library's recorder with positions that have no gaps, with blobs that are written in the transaction of the
    events that name them, and with triggers that refuse UPDATE, DELETE and TRUNCATE. Implements :class:`~.store.Store`.

    A save locks the table of events against other saves (readers go on) before it takes the next positions, so that
    positions are given in the order in which saves become visible.
    """

    def __init__(self, url: str, *, create: bool = False, read_only: bool = False) -> None:
        """Connect to ``url`` (as libpq reads it, with its environment variables and its password file); makes the tables
        when ``create``. Raises the library's PersistenceError.
        """
        logging.getLogger("psycopg.pool").setLevel(
            logging.CRITICAL
        )  # its warnings would show the connection's parameters
        try:
            parameters = {key: str(value) for key, value in conninfo_to_dict(url).items() if value is not None}
        except psycopg.ProgrammingError as error:
            raise ProgrammingError("the URL cannot be read; expected postgresql://user@host:port/database") from error
        self._parameters = {"connect_timeout": str(CONNECT_TIMEOUT_SECONDS), **parameters}
        datastore = PostgresDatastore(
            "", "", "", "", "", lock_timeout=LOCK_TIMEOUT_SECONDS, connect_timeout=CONNECT_TIMEOUT_SECONDS
        )
        # libpq fills in what the URL leaves out; the library's own parameters would replace its defaults by nothing.
        options = "-c default_transaction_read_only=on" if read_only else ""
        kept = {"row_factory": datastore.pool.kwargs["row_factory"]} if isinstance(datastore.pool.kwargs, dict) else {}
        datastore.pool.kwargs = {**self._parameters, **kept, **({"options": options} if options else {})}
        # One attempt first: the pool would go on trying for long, and hide why.
        with _translated(), psycopg.connect(**self._parameters):  # type: ignore[arg-type]  # connection parameters as text
            pass
        super().__init__(datastore)
        self.sql_create_statements = _schema()
        if create and not read_only:
            self.create_table()

    def exists(self) -> bool:
        """Whether there is a log in the database."""
        return self._number(SQL("SELECT (to_regclass('public.stored_events') IS NOT NULL)::int AS n")) == 1

    def create_table(self) -> None:
        """Make the tables that are missing; processes that open a new store at once take turns."""
        if self.exists():
            return
        with self.datastore.transaction(commit=True) as c:
            c.execute("SELECT pg_advisory_xact_lock(%s)", (_key("tables"),))
            for statement in self.sql_create_statements:
                c.execute(statement)

    def insert_events(self, stored_events: Sequence[StoredEvent], **_kwargs: Any) -> Sequence[int]:
        """The library's way to record events, without blobs; see :meth:`append`."""
        return self.append([row_of(each) for each in stored_events], {})

    def append(self, rows: Sequence[Row], blobs: Mapping[str, bytes], *, synced: bool = True) -> Sequence[int]:
        """Record events and blobs in one transaction; see :meth:`Store.append`.

        Not tried again when the connection breaks: the save may have reached the server, and a second one would look like
        another writer's.
        """
        with self.datastore.transaction(commit=True) as c:
            if blobs:
                values = list(blobs.items())
                c.executemany("INSERT INTO blobs VALUES (%s, %s) ON CONFLICT DO NOTHING", values)
            if not rows:
                return []
            c.execute(SQL("SET LOCAL lock_timeout = '{}s'").format(LOCK_TIMEOUT_SECONDS))
            if not synced:
                # The server's own write-ahead log is one sequence too: the next synced save waits for this one as well.
                c.execute("SET LOCAL synchronous_commit = off")
            c.execute("LOCK TABLE stored_events IN EXCLUSIVE MODE")
            c.execute("UPDATE log_end SET position = position + %s RETURNING position", (len(rows),))
            row = c.fetchone()
            assert row is not None, "the table has its one row from the start"
            first = int(row["position"]) - len(rows) + 1
            positions = range(first, first + len(rows))
            c.executemany(
                "INSERT INTO stored_events VALUES (%s, %s, %s, %s, %s)",
                [(position, *each) for position, each in zip(positions, rows, strict=True)],
            )
        return positions

    def stream(
        self, originators: Sequence[UUID] | None, after: int = 0, until: int | None = None
    ) -> Iterator[Notification]:
        """Stored events by position; see :meth:`Store.stream`."""
        if originators is not None:
            end = self.last_position()
            yield from merged(originators, self._page, self._last, after, end if until is None else min(until, end))
            return
        bound = SQL("") if until is None else SQL(" AND notification_id <= {}").format(until)
        yield from self._pages(SQL("notification_id > %s") + bound, [], after)

    def _page(self, originator: UUID, version: int, limit: int) -> list[Notification]:
        by_version = SQL("originator_id = %s AND originator_version > %s ORDER BY originator_version LIMIT {}")
        return self._select(by_version.format(limit), [originator, version])

    def _last(self, originator: UUID) -> Notification | None:
        found = self._select(SQL("originator_id = %s ORDER BY originator_version DESC LIMIT 1"), [originator])
        return found[0] if found else None

    def stream_listing(self) -> Iterator[Notification]:
        """Events that a list of runs is made from; see :meth:`Store.stream_listing`."""
        yield from self._pages(_LISTING + SQL(" AND notification_id > %s"), [], 0)

    def at_positions(self, positions: Sequence[int]) -> Sequence[Notification]:
        """The events at some positions; see :meth:`Store.at_positions`."""
        return self._select(SQL("notification_id = ANY(%s) ORDER BY notification_id"), [list(positions)])

    def _pages(self, condition: Composed, values: Sequence[object], after: int) -> Iterator[Notification]:
        while True:
            ordered = condition + SQL(" ORDER BY notification_id LIMIT {}").format(PAGE)
            page = self._select(ordered, [*values, after])
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].id

    def _select(self, condition: SQL | Composed, values: Sequence[object]) -> list[Notification]:
        statement = SQL("SELECT {} FROM stored_events WHERE {}").format(_COLUMNS, condition)
        with self._reading() as c:
            c.execute(statement, values)
            return [
                Notification(
                    id=row["notification_id"],
                    originator_id=row["originator_id"],
                    originator_version=row["originator_version"],
                    topic=row["topic"],
                    state=bytes(row["state"]),
                )
                for row in c.fetchall()
            ]

    def read_blob(self, digest: str) -> bytes | None:
        """The stored form of a blob, or None."""
        return self._cell(SQL("SELECT content FROM blobs WHERE digest = %s"), digest)

    def blob_digests(self) -> Iterator[str]:
        """The digests of all blobs, in order."""
        last = ""
        while True:
            with self._reading() as c:
                c.execute("SELECT digest FROM blobs WHERE digest > %s ORDER BY digest LIMIT %s", (last, PAGE))
                digests = [str(row["digest"]) for row in c.fetchall()]
            if not digests:
                return
            yield from digests
            last = digests[-1]

    def last_position(self) -> int:
        """The position of the last event; 0 when there is none."""
        return self._number(SQL("SELECT coalesce(max(notification_id), 0) AS n FROM stored_events"))

    def positions_given(self) -> int:
        """The last position that was ever given."""
        return self._number(SQL("SELECT max(position) AS n FROM log_end"))

    def read_snapshot(self, name: str) -> bytes | None:
        """A cached snapshot, or None."""
        try:
            return self._cell(SQL("SELECT content FROM snapshots WHERE name = %s"), name)
        except ProgrammingError as error:
            if "does not exist" in str(error):
                return None
            raise

    def write_snapshot(self, name: str, content: bytes) -> None:
        """Replace a cached snapshot."""
        with self.datastore.transaction(commit=True) as c:
            c.execute(_CREATE_SNAPSHOTS)
            c.execute(
                "INSERT INTO snapshots VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET content = excluded.content",
                (name, content),
            )

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold the right called ``name``: an advisory lock of a connection of its own, which the server drops when the
        connection ends, however the process does.
        """
        # Keepalives let the server find out within a minute that the holder's machine is gone.
        alive = {"keepalives": "1", "keepalives_idle": "20", "keepalives_interval": "10", "keepalives_count": "3"}
        with _translated():
            connection = psycopg.connect(**{**alive, **self._parameters}, autocommit=True)  # type: ignore[arg-type]  # as above
        try:
            with _translated():
                connection.execute(
                    "SET tcp_keepalives_idle = 20; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
                )
                row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_key(name),)).fetchone()
            if row is None or not row[0]:
                raise HeldError
            yield
        finally:
            connection.close()

    def close(self) -> None:
        """Release every connection."""
        self.datastore.close()

    @contextmanager
    def _reading(self) -> Iterator[Cursor[DictRow]]:
        with self.datastore.get_connection() as connection, connection.cursor() as c:
            yield c

    def _cell(self, statement: SQL, value: str) -> bytes | None:
        with self._reading() as c:
            c.execute(statement, (value,))
            row = c.fetchone()
            return None if row is None else bytes(row["content"])

    def _number(self, statement: SQL) -> int:
        with self._reading() as c:
            c.execute(statement)
            row = c.fetchone()
            return 0 if row is None else int(row["n"] or 0)


_CREATE_SNAPSHOTS = SQL("CREATE TABLE IF NOT EXISTS snapshots (name text PRIMARY KEY, content bytea NOT NULL)")


def _schema() -> list[Composed]:
    """The schema of the store, in the order in which it has to be made."""
    statements = [
        "CREATE TABLE stored_events (notification_id bigint PRIMARY KEY, originator_id uuid NOT NULL, "
        "originator_version bigint NOT NULL, topic text NOT NULL, state bytea NOT NULL, "
        "UNIQUE (originator_id, originator_version))",
        "CREATE TABLE blobs (digest text PRIMARY KEY, content bytea NOT NULL)",
        "CREATE TABLE log_end (position bigint NOT NULL)",
        "INSERT INTO log_end VALUES (0)",
        "CREATE FUNCTION log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE integrity_constraint_violation USING MESSAGE = 'the log is append only'; END$$",
    ]
    made = [SQL("{}").format(SQL(text)) for text in statements]
    listing = SQL("CREATE INDEX stored_events_listing ON stored_events (notification_id) WHERE {}").format(_LISTING)
    made.insert(1, listing)
    for table in _TABLES:
        for verb in ("UPDATE", "DELETE", "TRUNCATE"):
            made.append(
                SQL(
                    "CREATE TRIGGER {} BEFORE {} ON {} FOR EACH STATEMENT EXECUTE FUNCTION log_is_append_only()"
                ).format(Identifier(f"{table}_no_{verb.lower()}"), SQL(verb), Identifier(table))
            )
    return [*made, SQL("{}").format(_CREATE_SNAPSHOTS)]


def _key(name: str) -> int:
    """The number (63 bits) of an advisory lock."""
    return int.from_bytes(hashlib.sha256(f"kernelwright/{name}".encode()).digest()[:8]) >> 1


@contextmanager
def _translated() -> Iterator[None]:
    """The library's errors for those of connections that are made without it."""
    try:
        yield
    except psycopg.OperationalError as error:
        raise OperationalError(str(error)) from error
    except psycopg.Error as error:
        raise PersistenceError(str(error)) from error
