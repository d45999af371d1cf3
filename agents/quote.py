"""Quoting: text that others wrote goes into a prompt as data, in marks that it cannot imitate."""

from __future__ import annotations

import hashlib

LIMIT_BYTES = 24 << 10
"""A quoted text beyond this is cut in the middle, with a note."""


def cut(text: str, limit_bytes: int = LIMIT_BYTES) -> str:
    """``text``, without its middle where it is longer than ``limit_bytes``."""
    data = text.encode(errors="replace")
    if len(data) <= limit_bytes:
        return text
    half = limit_bytes // 2
    head, tail = data[:half].decode(errors="ignore"), data[-half:].decode(errors="ignore")
    return f"{head}\n[... {len(data) - 2 * half} bytes left out ...]\n{tail}"


def quoted(name: str, text: str, limit_bytes: int = LIMIT_BYTES) -> str:
    """``text`` between marks that carry its own digest.

    No text can hold its own digest, so none can close its quotation; equal texts are quoted equally, which keeps prompts
    a function of the log. Control characters but tab and newline are shown as escapes.
    """
    shown = cut(text.replace("\r\n", "\n"), limit_bytes)
    shown = printable(shown)
    mark = hashlib.sha256(shown.encode(errors="replace")).hexdigest()[:16]
    label = one_line(name)
    return f'<data mark="{mark}" name="{label}">\n{shown}\n</data mark="{mark}">'


def printable(text: str) -> str:
    """``text`` with control characters but tab and newline as escapes: none can steer a terminal or hide from a reader."""
    return "".join(c if c in "\t\n" or c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def one_line(text: str, limit: int = 200) -> str:
    """``text`` on one line, without what could be taken for a mark, cut to ``limit`` characters."""
    flat = " ".join(text.split()).replace("<", "(").replace(">", ")").replace('"', "'").replace("`", "'")
    flat = "".join(c for c in flat if c.isprintable())
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."
