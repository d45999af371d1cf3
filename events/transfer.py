"""Moving a run between stores: one line of JSON for each blob and event, each line sealed with the one before it.

An export of a fork holds what it shares with its ancestors too.

Knowledge bases and devices stay behind. They belong to a store: many runs write to one knowledge base, its items rest on
readings of those runs, which would not be there, and two stores have two histories of it, which cannot be joined. A run
answers for itself without: its requests, which are blobs, hold what each specialist was shown. Taken up elsewhere it
studies and probes anew, for the chip and the toolchain there. A whole store moves as its file, or by the server's dump.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from eventsourcing.persistence import StoredEvent

from .base import Event, aggregate_id, canonical
from .blobs import BlobError, digest_of, pack
from .failures import LogError, explained
from .log import EventLog
from .mapper import UnreadableEventError, broken_seal
from .store import Row, row_of
from .views.load import segments

FORMAT = "kernelwright-run/1"


class ImportRefusedError(Exception):
    """An export that is not whole, or that contradicts the store. The message names the line."""


@dataclass(frozen=True)
class Imported:
    """What an import brought."""

    run: str
    events: int
    new_events: int
    blobs: int


def export_run(log: EventLog, run: str) -> Iterator[str]:
    """The lines of a run's export, without line ends; equal for equal runs, whatever store they lie in.

    Raises UnknownRunError, and BlobError when a blob is missing or damaged.
    """
    sealer = _Sealer()
    yield sealer.line({"format": FORMAT, "run": run})
    events = 0
    known: set[str] = set()
    for segment in segments(log, run):
        limits = segment.limits
        answers = (aggregate_id("answers", segment.run),) if limits is None else ()
        for recorded in log.stream([*segment.originators, *answers]):
            event = recorded.event
            if limits is not None and event.originator_version > limits.get(event.originator_id, 0):
                continue
            for digest in event.blob_digests():
                if digest not in known:
                    known.add(digest)
                    content = base64.b64encode(log.blobs.get(digest)).decode()
                    yield sealer.line({"blob": digest, "content": content})
            events += 1
            place = [event.originator_id.hex, event.originator_version]
            yield sealer.line({"event": place, "topic": event.TOPIC, "state": event.stored.decode()})
    yield sealer.line({"end": {"events": events, "blobs": len(known)}})


def import_run(log: EventLog, lines: Iterable[str]) -> Imported:
    """Record an export in one save; what the store has already is left as it is.

    Raises ImportRefusedError (nothing is recorded then) and LogError.
    """
    reader = _Reader(log)
    for number, line in enumerate(lines, 1):
        reader.take(number, line)
    return reader.finish()


class _Sealer:
    """Gives each line a seal over it and all before it."""

    def __init__(self) -> None:
        self._last = ""

    def seal(self, content: dict[str, Any]) -> str:
        """The seal (16 hex digits) of the next line."""
        self._last = hashlib.sha256((self._last + canonical(content)).encode()).hexdigest()[:16]
        return self._last

    def line(self, content: dict[str, Any]) -> str:
        """The next line."""
        return canonical({**content, "seal": self.seal(content)})


@dataclass
class _Reader:
    """Reads the lines of an export, refusing the first one that is not what was written."""

    log: EventLog
    run: str = ""
    number: int = 0
    ended: bool = False
    events: int = 0
    new: list[Row] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    heads: dict[UUID, tuple[int, str]] = field(default_factory=dict)
    sealer: _Sealer = field(default_factory=_Sealer)

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        self.number = number
        if self.ended:
            raise self._refusal("there is something after the end")
        try:
            content = json.loads(line)
        except ValueError as error:
            raise self._refusal(f"it is not JSON ({error}): cut off or edited") from error
        if not isinstance(content, dict) or not isinstance(content.get("seal"), str):
            raise self._refusal("it has no seal")
        seal = content.pop("seal")
        if number == 1 and content.get("format") != FORMAT:
            raise self._refusal(f"this is no export of a run, or one of a newer version; this one reads {FORMAT}")
        if seal != self.sealer.seal(content) or line.rstrip("\n") != canonical({**content, "seal": seal}):
            raise self._refusal("it is not as it was written: edited, or a line before it is missing")
        if number == 1:
            self.run = str(content["run"])
        elif "blob" in content:
            self._blob(content)
        elif "event" in content:
            self._event(content)
        elif content.get("end") == {"events": self.events, "blobs": len(self.blobs)}:
            self.ended = True
        else:
            raise self._refusal("it is of no kind that an export has, or the counts at its end are not right")

    def _blob(self, content: dict[str, Any]) -> None:
        data = base64.b64decode(content["content"], validate=True)
        if digest_of(data) != content["blob"]:
            raise self._refusal(f"the blob {content['blob'][:12]} is not what its digest says")
        self.blobs[content["blob"]] = pack(data)

    def _event(self, content: dict[str, Any]) -> None:
        originator, version = UUID(content["event"][0]), int(content["event"][1])
        stored = StoredEvent(originator, version, content["topic"], content["state"].encode())
        last, head = self.heads.get(originator, (0, ""))
        problem = "a version is missing before it" if version != last + 1 else broken_seal(stored, head)
        if problem is not None:
            raise self._refusal(f"event {version} of {originator.hex[:12]}: {problem}")
        try:
            event = self.log.mapper.to_domain_event(stored)
        except UnreadableEventError as error:
            raise self._refusal(str(error)) from error
        assert isinstance(event, Event)
        missing = [digest for digest in event.blob_digests() if digest not in self.blobs]
        if missing:
            raise self._refusal(f"event {event.ref} names blob {missing[0][:12]}, which is not in the export before it")
        self.heads[originator] = (version, event.seal)
        self.events += 1
        here = self.log.event(originator, version)
        if here is None:
            self.new.append(row_of(stored))
        elif here.seal != event.seal:
            raise self._refusal(f"the store has another event {event.ref}: a run of that name with another history")

    def finish(self) -> Imported:
        """Record what is new."""
        if not self.ended:
            raise self._refusal("the export ends here, before its last line: it is cut off")
        self._extends()
        with explained(self.log.where):
            if self.new:
                self.log.store.append(self.new, self.blobs)
        return Imported(self.run, self.events, len(self.new), len(self.blobs))

    def _extends(self) -> None:
        """The store must not have gone on where the export has new events for another aggregate of the run."""
        moved = {originator for originator, *_ in self.new}
        for originator in moved:
            version = self.heads[originator][0]
            if self.log.event(originator, version + 1) is not None:
                raise self._refusal("the store has gone on with this run in another way")

    def _refusal(self, problem: str) -> ImportRefusedError:
        return ImportRefusedError(f"line {self.number}: {problem}")


__all__ = ["FORMAT", "BlobError", "ImportRefusedError", "Imported", "LogError", "export_run", "import_run"]
