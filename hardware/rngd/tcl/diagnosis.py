"""What furiosa-tcc means by what it says: one line for a failure, out of pages of intermediate representation."""

from __future__ import annotations

import re

_PANIC = re.compile(r"panicked at (\S+?):\d+:\d+:\s*\n(.*?)(?:\nstack backtrace|\nnote:|\Z)", re.DOTALL)
_PARSE = re.compile(r"(parse error|failed to parse input)[:\s].*?(Nom\(\w+\)|unexpected input)", re.DOTALL)
_TABLE = re.compile(r"^\s*[+|]")
_IMMEDIATE = re.compile(r"\bT\d+\b")


def has_crashed(said: str) -> bool:
    """Whether the compiler fell over itself, instead of refusing the program."""
    return "panicked at" in said or "internal compiler error" in said.lower()


def essence(said: str) -> str:
    """The message of a failure in one line: where a panic was, or the last thing said of a program that is refused."""
    panic = _PANIC.search(said)
    if panic is not None:
        place = panic.group(1).rsplit("/", 1)[-1]
        return f"panicked at {place}: {' '.join(panic.group(2).split())}"
    parse = _PARSE.search(said)
    if parse is not None:
        return f"{parse.group(1)}: {parse.group(2)}"
    lines = [line.strip() for line in said.splitlines() if line.strip() and not _TABLE.match(line)]
    if not lines:
        return "nothing was said"
    # Many messages end a long description of the operation: what is wrong stands after its last colon.
    last = lines[-1].removeprefix("failed to evaluate TCL:").lstrip(": ")
    if "total bytes" in last or last.startswith("write.to("):
        last = re.split(r"total bytes: \d+: |\)\): ", last)[-1]
    kind = re.search(r"^inner: kind: (\w+)", said, re.MULTILINE)
    if kind is not None and kind.group(1) not in last:
        last = f"{kind.group(1)}: {last}"
    return _IMMEDIATE.sub("a tensor", last)


def told(said: str, limit: int) -> str:
    """The diagnostics of a failed build: the message as an error, then what was said, cut at ``limit`` characters."""
    return f"error: {essence(said)}\n\n{said[:limit]}"
