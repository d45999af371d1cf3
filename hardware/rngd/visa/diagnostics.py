"""What ``cargo furiosa-opt`` says of a kernel that it does not compile, whichever message format it was asked for.

An error is one line, ``error: furiosa-opt: KERNEL: STAGE: message``, and ``caused by:`` lines after it. STAGE is where the
compiler was: ``mir`` (Rust to virtual ISA), ``visa`` (virtual ISA to the low-level IR) or ``lir`` (that to the binary).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

Stage = Literal["mir", "visa", "lir", ""]
_ERROR = re.compile(
    r"^\s*error(?:\[\w+\])?:\s*furiosa-opt:\s*(?P<kernel>[\w:<>]+?):\s+(?:(?P<stage>mir|visa|lir):\s*)?(?P<text>.+?)\s*$"
)
_PLAIN = re.compile(r"^\s*error(?:\[\w+\])?:\s*(?P<text>.+?)\s*$")
_CAUSE = re.compile(r"^\s*caused by:\s*(?P<text>.*?)\s*$", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s+(?:\d+:\s*)?(?P<text>\S.*?)\s*$")
_PLACE = re.compile(r"^\s*-->\s*(?P<place>\S+:\d+(?::\d+)?)")
CRASH = re.compile(
    r"internal compiler error|thread '[^']*' (?:\(\d+\) )?panicked|rustc-ice|signal: \d+|SIGSEGV|SIGABRT", re.IGNORECASE
)
"""What shows that the compiler itself broke, whatever it was given."""
_SUMMARY = re.compile(r"could not compile|aborting due to|build failed|^\d+ previous errors?", re.IGNORECASE)
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True)
class Diagnostic:
    """One error. ``kernel`` and ``stage`` are empty for one of rustc or cargo; ``place`` is ``file:line:column``."""

    kernel: str
    stage: Stage
    message: str
    causes: tuple[str, ...]
    place: str

    @property
    def crash(self) -> bool:
        """Whether the compiler broke, rather than refused."""
        return any(CRASH.search(text) for text in (self.message, *self.causes))

    @property
    def headline(self) -> str:
        """Stage, message and causes in one line, without the kernel's name."""
        stage = f"{self.stage}: " if self.stage else ""
        return stage + "; caused by: ".join((self.message, *self.causes))


def readable(output: str) -> str:
    """The output as text: JSON messages replaced by what they render, artifacts and progress in JSON left out."""
    lines: list[str] = []
    for line in _ANSI.sub("", output).splitlines():
        message = _json(line)
        if message is None:
            lines.append(line.rstrip())
            continue
        inner = message.get("message")
        if message.get("reason") == "compiler-message" and isinstance(inner, dict):
            message = inner
        rendered = message.get("rendered")
        if isinstance(rendered, str) and rendered.strip():
            lines += _ANSI.sub("", rendered).rstrip().splitlines()
        elif isinstance(message.get("message"), str):
            level = message.get("level") or message.get("severity") or "error"
            lines.append(f"{level}: {message['message']}")
    return "\n".join(lines)


def _json(line: str) -> dict[str, Any] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def parse_diagnostics(output: str) -> tuple[Diagnostic, ...]:
    """The errors in a compiler's output, the kernel's own first; summaries (``could not compile``) are no errors."""
    found = [each for each in _errors(readable(output)) if not _SUMMARY.search(each.message)]
    return tuple(sorted(found, key=lambda each: not each.stage))


def _errors(text: str) -> Iterator[Diagnostic]:
    current: Diagnostic | None = None
    in_causes = False
    for line in text.splitlines():
        error = _ERROR.match(line) or _PLAIN.match(line)
        cause, place = _CAUSE.match(line), _PLACE.match(line)
        if error is not None:
            if current is not None:
                yield current
            names = error.groupdict()
            current = Diagnostic(names.get("kernel") or "", names.get("stage") or "", error.group("text"), (), "")  # type: ignore[arg-type]  # the pattern names the three stages
            in_causes = False
        elif current is None:
            continue
        elif cause is not None:
            in_causes = True
            current = _with_cause(current, cause.group("text"))
        elif place is not None:
            where = current.place or place.group("place")
            current = Diagnostic(current.kernel, current.stage, current.message, current.causes, where)
        elif in_causes and (more := _NUMBERED.match(line)):
            current = _with_cause(current, more.group("text"))
        else:
            in_causes = in_causes and not line.strip()
    if current is not None:
        yield current


def _with_cause(error: Diagnostic, cause: str) -> Diagnostic:
    causes = (*error.causes, cause) if cause else error.causes
    return Diagnostic(error.kernel, error.stage, error.message, causes, error.place)


def crashed(output: str) -> bool:
    """Whether the output shows that the compiler itself broke."""
    return CRASH.search(output) is not None
