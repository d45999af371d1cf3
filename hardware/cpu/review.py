"""Screen a source by the contract alone, before any compiler: cheap, and with the line that broke the rule.

This is a screen, not the wall: what it misses is caught after preprocessing (:mod:`.build`), in the artifact
(:mod:`.symbols`), or by the sandbox.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from ...kernels.spec import KernelSpec
from ..outcome import Outcome
from ..target import CheckReport
from .contract import ALLOWED_HEADERS, SOURCE_LIMIT_BYTES

_COMMENT_OR_STRING = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)
_INCLUDE = re.compile(r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(include(?:_next)?|import|embed)\b[ \t]*(.*)$", re.MULTILINE)
_HEADER = re.compile(r"""["<]([^">]*)[">]""")


@dataclass(frozen=True)
class Rule:
    """Something that a source may not contain, as a pattern over its text without comments and strings."""

    name: str
    pattern: re.Pattern[str]
    why: str


def _rule(name: str, pattern: str, why: str) -> Rule:
    return Rule(name, re.compile(pattern), why)


RULES = (
    _rule("no-assembly", r"\b(?:asm|__asm|__asm__)\b", "inline assembly escapes every other check"),
    _rule(
        "no-load-time-code",
        r"\b_*(?:constructor|destructor|ifunc|init_priority|section|cleanup)_*\b(?=\s*[,()])",
        "code that runs when the design is loaded or unloaded, or sections of its own",
    ),
    _rule(
        "no-optimize-override",
        r"#[ \t]*pragma[ \t]+(?:GCC|clang)[ \t]+(?:optimize|fp|push_options|pop_options|target|attribute|system_header)"
        r"|\b__?optimize(?:__)?\b|__attribute__\s*\(\(\s*(?:optimize|target)\b|_Pragma"
        r"|#[ \t]*pragma[ \t]+(?:STDC|float_control)",
        "flags are the target's: every design is compiled alike",
    ),
    _rule(
        "no-weak-or-alias", r"\b(?:weak|weakref|alias|visibility|dllexport)\b(?=[\s,()\"])", "one exported entry only"
    ),
    _rule("no-line-directive", r"(?m)^[ \t]*#[ \t]*(?:line\b|\d)", "it would hide where text came from"),
    _rule("no-trigraph-or-digraph", r"\?\?[=/'()!<>-]|%:", "another spelling of the preprocessor"),
    _rule(
        "no-float-state", r"\b_MM_SET_\w+|\b_mm_setcsr\b|\b__builtin_ia32_ldmxcsr\b", "the control state is not its own"
    ),
    _rule("no-clock", r"\b\w*rdtscp?\b|\b\w*readcyclecounter\b|\b\w*rdpmc\b", "a design holds no clock"),
)
"""Every rule of the screen, in the order that they are applied."""


def blank(source: str) -> str:
    """The source with comments and literals replaced by blanks of the same length, so that lines keep their numbers.

    The text of an ``#include`` line is kept.
    """

    def replace(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    return _COMMENT_OR_STRING.sub(replace, source)


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _violation(spec: KernelSpec, source: str) -> tuple[str, str, int] | None:
    """Rule, reason and line of the first violation found; None for a source that keeps to the contract."""
    if len(source.encode(errors="replace")) > SOURCE_LIMIT_BYTES:
        return "source-size", f"more than {SOURCE_LIMIT_BYTES} bytes", 1
    if "\0" in source:
        return "plain-text", "the source holds a NUL character", _line(source, source.index("\0"))
    joined = source.replace("\\\r\n", "\\\n")
    bare = blank(joined)
    # A rule must not be dodged by breaking a word with a continued line.
    continued = re.search(r"\w\\[ \t]*\n\w", bare)
    if continued:
        return "no-broken-words", "a word is continued on the next line", _line(bare, continued.start())
    for match in _INCLUDE.finditer(bare):
        # The literal itself was blanked: take it from the source at the same place.
        text = joined[match.start(2) : match.end(2)] if match.group(2).strip() == "" else match.group(2)
        line_end = joined.find("\n", match.start())
        full = joined[match.start() : line_end if line_end >= 0 else len(joined)]
        header = _HEADER.search(full)
        name = header.group(1).strip() if header else text.strip() or "nothing"
        if match.group(1) != "include" or header is None or name not in ALLOWED_HEADERS:
            return "allowed-headers", f"{match.group(1)} of {name!r}", _line(bare, match.start())
    for rule in RULES:
        found = rule.pattern.search(bare)
        if found:
            return rule.name, f"{found.group().strip()!r}: {rule.why}", _line(bare, found.start())
    if not re.search(rf"\b{re.escape(spec.name)}\s*\(", bare):
        return "entry", f"the entry {spec.name} is not defined", 1
    return None


def review(spec: KernelSpec, source: str) -> CheckReport:
    """Screen ``source`` by the contract of ``spec``: ``ok``, or ``vetoed`` with the rule, the reason and the line."""
    start = time.perf_counter()
    found = _violation(spec, source)
    seconds = time.perf_counter() - start
    if found is None:
        return CheckReport(Outcome.OK, "keeps to the contract", seconds)
    rule, reason, line = found
    return CheckReport(Outcome.VETOED, f"{rule}, line {line}: {reason}", seconds, {"rule": rule, "line": line})
