"""The log: opening a store, saving aggregates atomically, streaming events."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.persistence import (
    ApplicationRecorder,
    InfrastructureFactory,
    IntegrityError,
    Mapper,
    OperationalError,
    PersistenceError,
)
from eventsourcing.sqlite import SQLiteFactory
from eventsourcing.utils import Environment, EnvType

from . import device, knowledge, run, tree  # noqa: F401  importing them registers their events
from .base import Aggregate, Event
from .blobs import Blobs
from .mapper import EventMapper
from .sqlite import SQLiteStore

T = TypeVar("T", bound=Aggregate)


class LogError(Exception):
    """The log cannot be read or written. The message says what happened, to what, and what to do next."""


class ConflictError(LogError):
    """Another process has recorded events of the same aggregate since it was read."""


@dataclass(frozen=True)
class Recorded:
    """An event and its position in the order of recording."""

    position: int
    event: Event


class EventLog(Application[UUID]):
    """One store of events and blobs.

    ``save`` is atomic and durable: when it returns, all that it was given survives the death of the process; when it
    raises, nothing of it was recorded. Listeners are called after each save with what was recorded.
    """

    def __init__(self, store: SQLiteStore, where: str) -> None:
        self._store = store
        self.where = where
        self._listeners: list[Callable[[Sequence[Recorded]], None]] = []
        super().__init__()
        self.blobs = Blobs(store.read_blob)

    @classmethod
    def open(cls, where: str, *, create: bool = False, read_only: bool = False) -> EventLog:
        """Open the store at ``where`` (a file path, or ``sqlite:///path``); raises LogError."""
        path = Path(where.removeprefix("sqlite:///"))
        if "://" in where and not where.startswith("sqlite:///"):
            raise LogError(f"{where.split('://')[0]}:// is not a store that this version opens; give a file path")
        if not create and not path.exists():
            raise LogError(f"there is no log at {path}; `kernelwright run --store {path}` would start one")
        if path.is_dir():
            raise LogError(f"{path} is a folder; a log is a file")
        with explained(str(path)):
            return cls(SQLiteStore(str(path), read_only=read_only), str(path))

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """The library would read os.environ here; what is recorded must not depend on it."""
        return Environment(name, {"SQLITE_DBNAME": ":memory:", **(env or {})})

    def construct_factory(self, env: Environment) -> InfrastructureFactory:
        """The library's factory; only its event store is used, over our own recorder and mapper."""
        return SQLiteFactory(env)

    def construct_mapper(self) -> Mapper[UUID]:
        """Our mapper: sealed bytes, explicit topics."""
        return EventMapper()

    def construct_recorder(self) -> ApplicationRecorder:
        """Our recorder: the opened store."""
        return self._store

    def listen(self, listener: Callable[[Sequence[Recorded]], None]) -> None:
        """Call ``listener`` after each save with what it recorded."""
        self._listeners.append(listener)

    def record(self, *aggregates: Aggregate) -> list[Recorded]:
        """Record the new events of the aggregates, in the order in which they were made, and all staged blobs in one
        transaction; raises LogError.
        """
        made = sorted((e for a in aggregates for e in a.collect_events()), key=lambda event: event.made)
        with explained(self.where):
            recordings = self.save(*made, blobs=self.blobs.staged)
        self.blobs.recorded()
        saved = [Recorded(r.notification.id, r.domain_event) for r in recordings]  # type: ignore[arg-type]  # our own events
        for listener in self._listeners:
            listener(saved)
        return saved

    def load(self, cls: type[T], *names: str) -> T:
        """The aggregate of ``cls`` called ``names``, at its latest version; without events when it is new."""
        with explained(self.where):
            try:
                return self.repository.get(cls.identify(*names))
            except AggregateNotFoundError:
                return cls.new(*names)

    def stream(self, originators: Iterable[UUID] | None = None, after: int = 0) -> Iterator[Recorded]:
        """Stream events in the order of recording: all, or those of some aggregates."""
        chosen = None if originators is None else list(originators)
        with explained(self.where):
            for notification in self._store.stream(chosen, after):
                event = self.mapper.to_domain_event(notification)
                assert isinstance(event, Event)
                yield Recorded(notification.id, event)

    def stream_topics(self, topics: Sequence[str]) -> Iterator[Recorded]:
        """Stream the events of some topics, of all aggregates, in the order of recording."""
        with explained(self.where):
            for notification in self._store.stream_topics(topics):
                event = self.mapper.to_domain_event(notification)
                assert isinstance(event, Event)
                yield Recorded(notification.id, event)

    def close(self) -> None:
        """Release the store."""
        super().close()
        self._store.datastore.close()


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn the store's errors into LogErrors that say what to do."""
    try:
        yield
    except IntegrityError as error:
        raise ConflictError(
            f"another process has written to the same run in {where}; nothing was recorded here. "
            "See who with `kernelwright status`, then `kernelwright resume`"
        ) from error
    except (OperationalError, PersistenceError, sqlite3.Error) as error:
        raise LogError(_advice(where, str(error))) from error


def _advice(where: str, error: str) -> str:
    text = error.lower()
    if "locked" in text or "busy" in text:
        return f"the log {where} is locked by another process that writes; try again when it is done ({error})"
    if "full" in text or "no space" in text or "disk i/o" in text:
        return f"the disk of {where} is full or failing; free some space, then `kernelwright resume` ({error})"
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return f"{where} cannot be written or opened: check its folder and permissions, or give another --store ({error})"
    if "not a database" in text or "malformed" in text:
        return f"{where} is not a kernelwright log, or is damaged; `kernelwright verify` says where ({error})"
    return f"the log {where} failed: {error}"
