"""What a toolchain says of a failure, normalized so that the same trouble has the same words, and a fingerprint."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from ..events.knowledge import RuleKind
from ..hardware.outcome import Outcome
from .tokens import own_names

KIND_OF: Mapping[Outcome, RuleKind] = {
    Outcome.BUILD_FAILED: "compile-error",
    Outcome.BUILD_CRASHED: "compiler-crash",
    Outcome.BUILD_HUNG: "compiler-hang",
    Outcome.BAD_SYMBOLS: "link-refusal",
    Outcome.LOAD_FAILED: "link-refusal",
    Outcome.CRASHED: "run-time-trap",
    Outcome.HUNG: "run-time-trap",
    Outcome.OUT_OF_BOUNDS: "run-time-trap",
    Outcome.FORBIDDEN_CALL: "run-time-trap",
    Outcome.INPUT_MODIFIED: "run-time-trap",
    Outcome.WRONG_VALUE: "wrong-value",
    Outcome.NOT_FINITE: "wrong-value",
    Outcome.NOT_REPEATABLE: "wrong-value",
}
"""Which kind of rule an outcome can give; an outcome that is not named gives none."""
BUILD_TIME = frozenset({"compile-error", "compiler-crash", "compiler-hang", "link-refusal"})
"""Kinds that are about building; a build alone shows them, but for a refusal to load."""
LOADING = frozenset({Outcome.LOAD_FAILED})
"""Outcomes of a kind that is about building which only a run shows."""
RUN_TIME = frozenset({Outcome.NO_DEVICE})
"""Outcomes that say nothing about a source."""

_LINKER = re.compile(r"\bld(?:\.\w+)?:|undefined reference|collect2|relocation|multiple definition", re.IGNORECASE)
_MACHINE = re.compile(
    r"no space left|cannot allocate memory(?! in static tls)|virtual memory exhausted|out of memory|killed",
    re.IGNORECASE,
)
_ERROR = re.compile(r"\b(?:fatal error|error|internal compiler error)\s*:\s*(?P<text>.*)", re.IGNORECASE)
_CAUSE = re.compile(r"^\s*caused by:\s*(?P<text>.*)", re.IGNORECASE)
"""Goes on with the error before it: without its causes such a message says little more than where the compiler was."""
_OWNER = re.compile(r"^furiosa-opt:\s+[\w:<>]+?:\s+(?=(?:mir|visa|lir):)")
"""The kernel that a message is about: it comes again as the subject of the message, and says nothing of the trouble."""
_PLACE = re.compile(r"^(?:[\w./<>+-]*[./][\w./<>+-]*|<[\w -]+>):(?:\d+:)*(?:\d+:?)?\s*")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "`": "'"})


def is_about_machine(text: str) -> bool:
    """Whether a message is about the machine (memory, disk) and says nothing about the source."""
    return _MACHINE.search(text) is not None


def kind_of(outcome: Outcome, text: str) -> RuleKind | None:
    """The kind of rule that a failure can give; None when it says nothing about what the toolchain allows."""
    kind = KIND_OF.get(outcome)
    if kind is None or (kind != "compiler-hang" and is_about_machine(text)):
        return None
    if kind == "compile-error" and _LINKER.search(text) and not re.search(r":\d+:\d+: (?:fatal )?error", text):
        return "link-refusal"
    return kind


def error_lines(text: str) -> list[str]:
    """The messages that are errors, without place and prefix; all lines where none is marked as an error."""
    lines = [_PLACE.sub("", line.strip().translate(_QUOTES)) for line in text.splitlines() if line.strip()]
    errors: list[str] = []
    for line in lines:
        match, cause = _ERROR.search(line), _CAUSE.match(line)
        if cause is not None and errors:
            errors[-1] += f"; caused by: {cause.group('text')}"
        elif match is not None:
            errors.append(_OWNER.sub("", match.group("text")))
    return errors or lines


def normalized(text: str, names: frozenset[str] = frozenset()) -> str:
    """A message with paths, numbers, addresses and the source's own ``names`` replaced, in lower case, one space apart."""
    line = _PLACE.sub("", text.strip().translate(_QUOTES))
    line = re.sub(r"0x[0-9a-fA-F]+", "<address>", line)
    line = re.sub(r"(?<![\w<])(?:/[\w.+-]+)+", "<path>", line)
    order: dict[str, str] = {}

    def own(match: re.Match[str]) -> str:
        word = match.group()
        return order.setdefault(word, f"<{len(order) + 1}>") if word in names else word

    line = re.sub(r"[A-Za-z_]\w*", own, line)
    line = re.sub(r"(?<![\w<])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b", "<n>", line)
    # What a suggestion offers depends on what else is in the source.
    line = re.sub(r"; did you mean .*$", "", line)
    return " ".join(line.split()).lower()


def diagnose(kind: RuleKind, text: str, source: str) -> tuple[str, str]:
    """The first error of a failure, normalized, and its fingerprint (16 hex digits, over kind and message)."""
    messages = all_messages(kind, text, source)
    message = messages[0] if messages else "nothing was said"
    digest = hashlib.sha256(f"{kind}\0{message}".encode()).hexdigest()[:16]
    return message, digest


def all_messages(kind: RuleKind, text: str, source: str) -> tuple[str, ...]:
    """Every error of a failure, normalized, each once, in order."""
    if kind == "compiler-hang":
        return ("no end",)
    # When something cannot be linked, the name is the point, whoever chose it; and what is said of a run are our own words.
    names = own_names(source) if kind in ("compile-error", "compiler-crash") else frozenset[str]()
    lines = [normalized(line, names) for line in error_lines(text)]
    if kind in ("run-time-trap", "wrong-value"):
        # Which element, and by how much, is an accident; what stays is the words.
        lines = [" ".join(re.sub(r"\[[^\]]*\]|-?<n>", "", line).split()) for line in lines]
    return tuple(dict.fromkeys(line for line in lines if line))
