"""Snapshots of aggregates: a cache beside the log, believed only as far as the log bears it out."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from .base import Aggregate


@dataclass(frozen=True)
class AggregateState:
    """The guarded state of an aggregate at a version; ``head`` is the digest of the event of that version."""

    version: int
    head: str
    state: dict[str, Any]


def snapshot_name(aggregate: Aggregate) -> str:
    """The name that an aggregate's snapshot is stored under."""
    return f"aggregate/{aggregate.KIND}/{aggregate.id.hex}"


def snapshot_of(aggregate: Aggregate) -> bytes:
    """The snapshot of an aggregate, in its stored form."""
    content = {
        "schema": aggregate.STATE_SCHEMA,
        "version": aggregate.version,
        "head": aggregate.head,
        "state": aggregate.state(),
    }
    return packed(content)


def restored(aggregate: Aggregate, content: bytes) -> AggregateState | None:
    """The state in a snapshot, or None when it is damaged or of another schema."""
    found = unpacked(content)
    if found is None or found.get("schema") != aggregate.STATE_SCHEMA:
        return None
    return AggregateState(found["version"], found["head"], found["state"])


def packed(content: dict[str, Any]) -> bytes:
    """Compressed JSON behind a checksum."""
    # Keys are not sorted: the order of what was folded is part of it.
    data = zlib.compress(json.dumps(content, separators=(",", ":"), allow_nan=False).encode(), 1)
    return zlib.crc32(data).to_bytes(4) + data


def unpacked(stored: bytes) -> dict[str, Any] | None:
    """What :func:`packed` stored, or None when it is damaged: a cache may be lost."""
    if zlib.crc32(stored[4:]).to_bytes(4) != stored[:4]:
        return None
    found: dict[str, Any] = json.loads(zlib.decompress(stored[4:]))
    return found
