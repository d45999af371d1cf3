"""How the target and the programs inside talk: frames of a JSON header and a blob, over pipes."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

_LENGTHS = struct.Struct("<IQ")
HEADER_LIMIT_BYTES = 4 << 20
"""The largest header that is accepted: a longer one is a broken or hostile peer."""

Header = dict[str, Any]
"""A JSON object."""


class WireError(Exception):
    """The peer ended, or sent what is no frame."""


def _exactly(descriptor: int, count: int) -> bytes:
    parts = []
    while count:
        try:
            part = os.read(descriptor, min(count, 1 << 20))
        except ConnectionError as error:
            raise WireError(f"the peer ended: {error}") from error
        if not part:
            raise WireError("the peer ended")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send(descriptor: int, header: Header, blob: bytes = b"") -> None:
    """Write one frame. Raises WireError when nobody reads."""
    text = json.dumps(header, separators=(",", ":")).encode()
    view = memoryview(_LENGTHS.pack(len(text), len(blob)) + text + blob)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        raise WireError(f"the peer does not read: {error}") from error


def receive(descriptor: int, blob_limit_bytes: int = 1 << 30) -> tuple[Header, bytes]:
    """Read one frame. Raises WireError at the end of the stream and for a frame that cannot be right."""
    text_length, blob_length = _LENGTHS.unpack(_exactly(descriptor, _LENGTHS.size))
    if text_length > HEADER_LIMIT_BYTES or blob_length > blob_limit_bytes:
        raise WireError(f"a frame of {text_length} and {blob_length} bytes is too long")
    try:
        header = json.loads(_exactly(descriptor, text_length))
    except ValueError as error:
        raise WireError(f"a frame without a JSON header: {error}") from error
    if not isinstance(header, dict):
        raise WireError("a frame whose header is no object")
    return header, _exactly(descriptor, blob_length)
