"""Content-addressed blobs: sources, outputs of compilers, prompts and answers, compressed, verified when read."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable


class BlobError(Exception):
    """A blob is missing or not what its digest says."""


def digest_of(content: bytes) -> str:
    """The name of a blob: sha256 of its content, 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


def pack(content: bytes) -> bytes:
    """The stored form of a blob."""
    return zlib.compress(content, 6)


def unpack(digest: str, stored: bytes) -> bytes:
    """The content of a stored blob; raises BlobError when it is damaged."""
    try:
        content = zlib.decompress(stored)
    except zlib.error as error:
        raise BlobError(f"blob {digest[:12]} is damaged: {error}; run `kernelwright verify`") from error
    if digest_of(content) != digest:
        raise BlobError(f"blob {digest[:12]} is not what its digest says; run `kernelwright verify`")
    return content


class Blobs:
    """Blobs staged for the next save, over those that are stored."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._staged: dict[str, bytes] = {}

    def put(self, content: str | bytes) -> str:
        """Stage a blob; it is recorded by the next save. Returns its digest."""
        data = content.encode() if isinstance(content, str) else content
        digest = digest_of(data)
        self._staged[digest] = pack(data)
        return digest

    def get(self, digest: str) -> bytes:
        """The content of a blob; raises BlobError when there is none or it is damaged."""
        stored = self._staged.get(digest) or self._read(digest)
        if stored is None:
            raise BlobError(f"there is no blob {digest[:12]} in this store")
        return unpack(digest, stored)

    def text(self, digest: str) -> str:
        """The content of a blob as text; bytes that are not UTF-8 are shown as replacement characters."""
        return self.get(digest).decode(errors="replace")

    @property
    def staged(self) -> dict[str, bytes]:
        """What the next save has to write, in its stored form."""
        return dict(self._staged)

    def recorded(self) -> None:
        """Forget what was staged: it is in the store now, or not wanted after all."""
        self._staged.clear()
