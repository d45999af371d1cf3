"""The screen of a source before any compiler: files that it may bring, and what device code has no use for.

A design is compiled into the program that launches it. What runs before ``main``, reads the build machine, or starts
something there is refused by its name; the sandbox holds for what slips through.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from ....kernels.spec import KernelSpec
from ...outcome import Outcome
from ...target import CheckReport
from .bundle import MAIN, BundleError, split_bundle


@dataclass(frozen=True)
class Rule:
    """A construct that no device code needs, and why it is refused."""

    name: str
    pattern: re.Pattern[str]
    why: str


RULES: tuple[Rule, ...] = (
    Rule(
        "no-load-time-code",
        re.compile(r"\blink_section\b|\bctor\b|\.init_array"),
        "code that runs before the program that launches it",
    ),
    Rule(
        "no-foreign-symbols",
        re.compile(r"\bno_mangle\b|\bexport_name\b|\bextern\s+\"|\blink\s*\(|\bglobal_asm\s*!|\basm\s*!"),
        "symbols and assembly of the host program",
    ),
    Rule(
        "no-build-machine",
        re.compile(
            r"\b(?:include|include_str|include_bytes|env|option_env)\s*(?:!|as\b)|#!?\[\s*path\b|\bcfg_attr\b[^\]]*\bpath\b"
        ),
        "contents of the machine that builds",
    ),
    Rule(
        "no-host-calls",
        re.compile(
            r"\bstd\s*::\s*(?:\{[^;]*\b)?(?:process|fs|net|env|os|thread)\b|\bstd\s*::\s*(?:\{[^;]*)?\*|\b(?:std|core)\s+as\b"
            r"|\bextern\s+crate\s+(?!furiosa_)|\blibc\s*::"
        ),
        "the host's processes, files, threads and network",
    ),
    Rule(
        "no-own-output",
        re.compile(r"\be?print(?:ln)?\s*!|\bdbg\s*!|\bio\s*::\s*stdout\b"),
        "lines in the log of readings",
    ),
)
_PIECE = re.compile(
    r"""(?P<string>r(?P<hashes>\#*)".*?"(?P=hashes)|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^\\'])')"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)""",
    re.DOTALL,
)
"""Strings and comments, whichever begins first: what looks like a comment within a string hides nothing."""


def review(spec: KernelSpec, module: str, source: str) -> CheckReport:
    """Refuse a source by its files and by :data:`RULES`; comments do not count."""
    begun = time.perf_counter()
    problem = _problem(spec, module, source)
    outcome = Outcome.VETOED if problem else Outcome.OK
    return CheckReport(outcome, problem, time.perf_counter() - begun)


def without_comments(text: str) -> str:
    """The code with its strings, each comment a space; lines stay where they are. Of nested comments the end is left."""

    def keep(match: re.Match[str]) -> str:
        found = match.group()
        return found if match.group("comment") is None else " " + "\n" * found.count("\n")

    return _PIECE.sub(keep, text)


def _problem(spec: KernelSpec, module: str, source: str) -> str:
    try:
        files = split_bundle(source)
    except BundleError as error:
        return f"source-files: {error}"
    for path, text in files.items():
        code = without_comments(text)
        for rule in RULES:
            # Strings are looked at too: an attribute's value is one.
            found = rule.pattern.search(code)
            if found:
                line = code[: found.start()].count("\n") + 1
                return f"{rule.name}: {path}, near line {line}: {found.group().strip()}: {rule.why}"
    if MAIN in files:
        code = without_comments(files[MAIN])
        if not re.search(rf"\bfn\s+{re.escape(spec.name)}\b", code):
            return f"entry: {MAIN} has no function {spec.name} (as {module}::{spec.name})"
        if "#[device" not in code:
            return f"entry: {MAIN} has no #[device] function"
    return ""
