"""Checking a whole store: every event's seal and chain, every blob's digest, and that what events name is there.

What is found: any change of a stored event or blob; events removed from the middle or, by the count that the store
keeps beside the log, from the end; blobs and events that are named and missing. Who may write to the database at will
can make a whole new log that is consistent; only its digest (``Report.head``), kept elsewhere, tells the two apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from eventsourcing.persistence import Notification, PersistenceError

from .base import Event, Forked
from .blobs import BlobError, unpack
from .log import EventLog
from .mapper import UnreadableEventError, broken_seal
from .naming import REFERENCE, Names, told

MOST_FINDINGS = 100
"""After so many findings the rest is not listed: they have one cause."""


@dataclass
class Report:
    """What a check of a store found. ``findings`` are in the order of the log, the first bad thing first."""

    where: str
    events: int = 0
    blobs: int = 0
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    head: str = ""
    """Digest of the whole log: equal logs have equal ones, wherever they lie."""

    @property
    def ok(self) -> bool:
        """Whether nothing bad was found."""
        return not self.findings


def verify(log: EventLog) -> Report:
    """Check everything in a store; reads only. Holds one digest for each blob and each aggregate, never the log."""
    check = _Check(log)
    try:
        check.blobs()
        check.events()
        check.end()
    except PersistenceError as error:
        check.find(f"after position {check.position} the database itself cannot be read: {error}")
    return check.report


class _Check:
    """One pass over a store."""

    def __init__(self, log: EventLog) -> None:
        self.report = Report(log.where)
        self.position = 0
        self._log = log
        self._names = Names()
        self._heads: dict[UUID, tuple[int, str]] = {}
        self._last: dict[str, int] = {}
        """Last version by the first 12 digits of an aggregate's id, as references name it."""
        self._unnamed: set[bytes] = set()
        self._bad_blobs: dict[str, str] = {}
        self._good: set[bytes] = set()

    def find(self, finding: str) -> None:
        """Note something bad."""
        if len(self.report.findings) < MOST_FINDINGS:
            self.report.findings.append(finding)

    def blobs(self) -> None:
        """Every blob is what its digest says."""
        for digest in self._log.store.blob_digests():
            self.report.blobs += 1
            stored = self._log.store.read_blob(digest)
            try:
                unpack(digest, stored or b"")
            except BlobError as error:
                self._bad_blobs[digest] = str(error).partition(";")[0]
            else:
                self._good.add(_short(digest))
        self._unnamed = set(self._good)

    def events(self) -> None:
        """Every event is whole, follows the one before it, and names what is there."""
        for stored in self._log.store.stream(None):
            self.report.events += 1
            for problem in self._problems(stored):
                self.find(f"{self._place(stored)}: {problem}")
            self.position = stored.id
        digest = hashlib.sha256()
        for originator, (version, seal) in sorted(self._heads.items()):
            digest.update(f"{originator.hex} {version} {seal}\n".encode())
        self.report.head = digest.hexdigest()

    def end(self) -> None:
        """Nothing is missing at the end; blobs that no event names are bad or odd."""
        given = self._log.store.positions_given()
        if given > self.position:
            lost = f"position {given}" if given == self.position + 1 else f"positions {self.position + 1} to {given}"
            self.find(f"the end of the log: the events at {lost} were recorded and are gone")
        for digest, problem in self._bad_blobs.items():
            self.find(f"{problem} (blob {digest})")
        if self._unnamed:
            self.report.notes.append(
                f"{len(self._unnamed)} blobs are named by no event: an interrupted step leaves such, removed events too"
            )

    def _problems(self, stored: Notification) -> Iterator[str]:
        if stored.id != self.position + 1:
            gone = stored.id - self.position - 1
            yield f"{gone} events before it are gone" if gone > 0 else "it is out of order"
        originator = stored.originator_id
        assert isinstance(originator, UUID)
        version, head = self._heads.get(originator, (0, ""))
        if stored.originator_version != version + 1:
            yield f"its aggregate's version {version + 1} was to come, and this is version {stored.originator_version}"
        broken = broken_seal(stored, head)
        if broken is not None:
            yield broken
        self._heads[originator] = (stored.originator_version, stored.state[-66:-2].decode(errors="replace"))
        self._last[originator.hex[:12]] = stored.originator_version
        try:
            event = self._log.mapper.to_domain_event(stored)
        except UnreadableEventError as error:
            yield str(error).partition(";")[0]
            return
        assert isinstance(event, Event)
        self._names.learn(event)
        yield from self._named(event)

    def _named(self, event: Event) -> Iterator[str]:
        for digest in event.blob_digests():
            if digest in self._bad_blobs:
                yield f"it names a bad blob: {self._bad_blobs.pop(digest)}"
            elif _short(digest) not in self._good:
                yield f"it names blob {digest[:12]}, which is not in the store"
            self._unnamed.discard(_short(digest))
        for reference in event.references():
            prefix, _, version = reference.partition(":")
            if REFERENCE.fullmatch(reference) and int(version) > self._last.get(prefix, 0):
                yield f"it names the event {reference}, which is not in the store before it"
        if isinstance(event, Forked):
            parent = self._log.event(UUID(event.parent_id), event.parent_version)
            if parent is None or parent.seal != event.parent_digest:
                yield "it continues an aggregate whose history is not what it was then"

    def _place(self, stored: Notification) -> str:
        assert isinstance(stored.originator_id, UUID)
        name = self._names.of(stored.originator_id, stored.topic)
        try:
            event = self._log.mapper.to_domain_event(stored)
            what = told(event) if isinstance(event, Event) else stored.topic
        except UnreadableEventError:
            what = stored.topic
        return f"position {stored.id}, event {stored.originator_version} of {name} ({what})"


def _short(digest: str) -> bytes:
    """Half of a digest's memory: 16 bytes tell a store's blobs apart."""
    whole = len(digest) == 64 and all(character in "0123456789abcdef" for character in digest)
    return bytes.fromhex(digest)[:16] if whole else digest.encode()  # a damaged one is never found
