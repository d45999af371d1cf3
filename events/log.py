"""The log: opening a store, saving aggregates atomically, reading aggregates and streams of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.persistence import ApplicationRecorder, InfrastructureFactory, Mapper, Notification
from eventsourcing.sqlite import SQLiteFactory
from eventsourcing.utils import Environment, EnvType

from .base import Aggregate, Event, Forked, InvariantError
from .blobs import Blobs
from .failures import ConflictError, LogError, RunHeldError, explained
from .mapper import EventMapper
from .opening import open_store
from .run import Run, RunResumed, RunStarted
from .snapshots import restored, snapshot_name, snapshot_of
from .store import HeldError, Store

__all__ = ["ConflictError", "EventLog", "LogError", "Recorded", "RunHeldError", "explained"]

T = TypeVar("T", bound=Aggregate)

OVERTAKEN_TRIES = 20
"""How often a save is made again because other runs keep writing to what is shared."""


class Recorded(NamedTuple):
    """An event and its position in the order of recording."""

    position: int
    event: Event


class EventLog(Application[UUID]):
    """One store of events and blobs.

    ``record`` is atomic and durable: when it returns, all that it was given survives the death of the process; when it
    raises, nothing of it was recorded. Listeners are called after each save with what was recorded. ``where`` names the
    store for people, without credentials.
    """

    def __init__(self, store: Store, where: str) -> None:
        self.store = store
        self.where = where
        self._listeners: list[Callable[[Sequence[Recorded]], None]] = []
        super().__init__()
        self.blobs = Blobs(self._read_blob)

    @classmethod
    def open(cls, where: str, *, create: bool = False, read_only: bool = False) -> EventLog:
        """Open the store at ``where`` (a file path, ``sqlite:///path``, or ``postgresql://...``); raises LogError."""
        store, name = open_store(where, create=create, read_only=read_only)
        return cls(store, name)

    def construct_env(self, name: str, env: EnvType | None = None) -> Environment:
        """The library would read os.environ here; what is recorded must not depend on it."""
        return Environment(name, {"SQLITE_DBNAME": ":memory:", **(env or {})})

    def construct_factory(self, env: Environment) -> InfrastructureFactory[Any]:
        """The library's factory; only its event store is used, over our own recorder and mapper."""
        return SQLiteFactory(env)

    def construct_mapper(self) -> Mapper[UUID]:
        """Our mapper: sealed bytes, explicit topics."""
        return EventMapper()

    def construct_recorder(self) -> ApplicationRecorder:
        """Our recorder: the opened store."""
        return cast(ApplicationRecorder, self.store)

    def listen(self, listener: Callable[[Sequence[Recorded]], None]) -> None:
        """Call ``listener`` after each save with what it recorded."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[Sequence[Recorded]], None]) -> None:
        """Stop calling ``listener``."""
        self._listeners.remove(listener)

    def record(self, *aggregates: Aggregate, synced: bool = True) -> list[Recorded]:
        """Record the new events of the aggregates, in the order in which they were made, and all staged blobs in one
        transaction; raises LogError. What several runs write to (``Aggregate.SHARED``) is appended after whatever
        others have recorded there meanwhile; anything else that was overtaken raises ConflictError.

        Not ``synced`` is for what announces an effect: it survives the death of the process like all else, but not that
        of the machine before the next save, which ends the effect as well.
        """
        pending = {aggregate.id: list(aggregate.collect_events()) for aggregate in aggregates}
        for attempt in range(OVERTAKEN_TRIES):
            made = [event for events in pending.values() for event in events]
            if len(pending) > 1:
                made.sort(key=lambda event: event.made)
            # Not through the library's save: it asks of every event whether it is an aggregate.
            rows = [(e.originator_id, e.originator_version, e.TOPIC, e.stored) for e in made]
            try:
                with explained(self.where):
                    positions = self.store.append(rows, self.blobs.staged, synced=synced)
            except ConflictError:
                if attempt + 1 == OVERTAKEN_TRIES or not self._rebase(aggregates, pending):
                    raise
            else:
                break
        self.blobs.recorded()
        saved = list(map(Recorded, positions, made))
        for listener in list(self._listeners):
            listener(saved)
        return saved

    def _rebase(self, aggregates: Sequence[Aggregate], pending: dict[UUID, list[Event]]) -> bool:
        """Put pending events of shared aggregates after what others have recorded; whether that removed the conflict."""
        moved = False
        for aggregate in aggregates:
            events = pending[aggregate.id]
            if not events or not self._events_of(aggregate.id, after=events[0].originator_version - 1, limit=1):
                continue
            if not aggregate.SHARED:
                return False
            fresh = self.load_at(type(aggregate), aggregate.id)
            pending[aggregate.id] = aggregate.rebase(fresh, events)
            moved = True
        return moved

    def load(self, cls: type[T], *names: str) -> T:
        """The aggregate of ``cls`` called ``names``, at its latest version; without events when it is new."""
        return self.load_at(cls, cls.identify(*names))

    def version(self, cls: type[Aggregate], *names: str) -> int:
        """The version that the aggregate of ``cls`` called ``names`` has in the store; 0 when it is new."""
        with explained(self.where):
            latest = self.recorder.select_events(cls.identify(*names), desc=True, limit=1)
        return latest[0].originator_version if latest else 0

    def load_at(self, cls: type[T], originator_id: UUID, version: int | None = None) -> T:
        """An aggregate as of one of its versions, the latest unless given. One that continues another begins with the
        other's state. Raises LogError when its events do not form a chain.
        """
        aggregate = cls(originator_id)
        if version is None and cls.STATE_SCHEMA:
            self._from_snapshot(aggregate)
        for event in self._events_of(originator_id, after=aggregate.version, until=version):
            if isinstance(event, Forked):
                aggregate.inherit(self.load_at(cls, UUID(event.parent_id), event.parent_version))
            try:
                aggregate.fold(event)
            except InvariantError as error:
                raise LogError(f"{error} in {self.where}; `kernelwright verify` says where it is damaged") from error
        return aggregate

    def _from_snapshot(self, aggregate: Aggregate) -> None:
        """Begin with a snapshot, if there is one that the log still bears out."""
        with explained(self.where):
            content = self.store.read_snapshot(snapshot_name(aggregate))
        state = None if content is None else restored(aggregate, content)
        if state is None:
            return
        last = self._events_of(aggregate.id, after=state.version - 1, until=state.version)
        if [event.seal for event in last] == [state.head]:
            aggregate.restore(state.state)
            aggregate.version, aggregate.head = state.version, state.head

    def keep_snapshot(self, *aggregates: Aggregate) -> None:
        """Cache the state of aggregates whose events are all recorded, so that they load fast."""
        with explained(self.where):
            for aggregate in aggregates:
                if aggregate.STATE_SCHEMA and aggregate.version and not aggregate.pending:
                    self.store.write_snapshot(snapshot_name(aggregate), snapshot_of(aggregate))

    def keep_content(self, name: str, content: bytes) -> None:
        """Replace a cached snapshot of a view."""
        with explained(self.where):
            self.store.write_snapshot(name, content)

    def kept_content(self, name: str) -> bytes | None:
        """A cached snapshot of a view, or None."""
        with explained(self.where):
            return self.store.read_snapshot(name)

    def _events_of(
        self, originator_id: UUID, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Event]:
        with explained(self.where):
            stored = self.store.select_events(originator_id, gt=after, lte=until, limit=limit)
        return [cast(Event, self.mapper.to_domain_event(each)) for each in stored]

    def event(self, originator_id: UUID, version: int) -> Event | None:
        """One event of an aggregate, or None."""
        found = self._events_of(originator_id, after=version - 1, until=version)
        return found[0] if found else None

    def stream(
        self, originators: Iterable[UUID] | None = None, after: int = 0, until: int | None = None
    ) -> Iterator[Recorded]:
        """Stream events in the order of recording: all, or those of some aggregates, above the position ``after`` and up
        to ``until``.
        """
        chosen = None if originators is None else list(originators)
        with explained(self.where):
            for notification in self.store.stream(chosen, after, until):
                yield self._recorded(notification)

    def stream_listing(self) -> Iterator[Recorded]:
        """Stream the starts, forks, resumptions and stops of all runs, in the order of recording."""
        with explained(self.where):
            for notification in self.store.stream_listing():
                yield self._recorded(notification)

    def at_positions(self, positions: Sequence[int]) -> list[Recorded]:
        """The events at some positions, in their order."""
        with explained(self.where):
            return [self._recorded(each) for each in self.store.at_positions(positions)]

    def position_of(self, reference: str) -> int | None:
        """The position of the event that a reference (``Event.ref``) names, whoever's it is; None when there is none."""
        prefix, _, version = reference.partition(":")
        with explained(self.where):
            for each in self.store.stream(None):
                if str(each.originator_version) == version and _hex(each.originator_id).startswith(prefix):
                    return each.id
        return None

    def _recorded(self, notification: Notification) -> Recorded:
        return Recorded(notification.id, cast(Event, self.mapper.to_domain_event(notification)))

    def _read_blob(self, digest: str) -> bytes | None:
        with explained(self.where):
            return self.store.read_blob(digest)

    @contextmanager
    def hold(self, run_name: str) -> Iterator[None]:
        """Be the only process that works at a run, among all that share the store. Raises RunHeldError, which says who
        does and since when. A holder that died holds nothing: the system or the server let go for it.
        """
        try:
            with explained(self.where), self.store.hold(f"run {run_name}"):
                yield
        except HeldError as error:
            raise RunHeldError(f"run {run_name} is being worked at already{self._holder(run_name)}") from error

    def _holder(self, run_name: str) -> str:
        last: RunStarted | RunResumed | None = None
        for recorded in self.stream_listing():
            event = recorded.event
            if event.originator_id == Run.identify(run_name) and isinstance(event, RunStarted | RunResumed):
                last = event
        if last is None or not last.holder:
            return ""
        token = last.token if isinstance(last, RunResumed) else 1
        since = last.at.isoformat(timespec="seconds")
        return f" by process {last.holder['pid']} on {last.holder['host']} since {since} (lease {token})"

    def close(self) -> None:
        """Release the store."""
        super().close()
        self.store.close()


def _hex(originator: UUID | str) -> str:
    return originator.hex if isinstance(originator, UUID) else originator
