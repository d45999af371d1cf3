"""From two witnesses to a pattern to veto by: a ladder of token patterns, from general to special."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from ..events.knowledge import RuleKind
from .tokens import NAME, NUMBER, Token, generalized, is_special, joined, matches, tokenize

Pattern = tuple[tuple[str, ...], ...]
"""Runs of tokens that must all stand in a source."""
CONTEXT = 2
"""Tokens on each side that a more special rung takes in."""
SHORTEST = 8
"""A run without a word of the language must have so many tokens, word for word, to say anything."""
_OWN = re.compile(r"<\d+>")
"""In a message: a name that the source chose itself."""


def ladder(failing: str, passing: str, kind: RuleKind, message: str) -> tuple[Pattern, ...]:
    """Patterns that match the failing witness and not the passing one, from general to special; perhaps none.

    First the reserved names in the difference, then the difference with names and numbers left open, then with its
    surroundings, then word for word. For a refusal to link, the name that the toolchain complains of is as telling as a
    reserved one. Failures at run time are only matched word for word: another source with the same shape may be right.
    Where the message is about the source's own names (a typing error, say), nothing but a reserved name is general.
    """
    tokens, other = tokenize(failing), tokenize(passing)
    spans = _differences(tokens, other)
    if not spans:
        return ()
    complained = _words(message) if kind == "link-refusal" else frozenset()

    def telling(token: Token) -> bool:
        return is_special(generalized(token)) or (token.kind == "name" and token.text.lower() in complained)

    def open_form(token: Token) -> str:
        return token.text if telling(token) and token.kind != "word" else generalized(token)

    reserved = dict.fromkeys(open_form(t) for a, b in spans for t in tokens[a:b] if telling(t))
    wide = [(max(0, a - CONTEXT), min(len(tokens), b + CONTEXT)) for a, b in spans]
    rungs: list[Pattern] = [
        tuple((word,) for word in reserved),
        tuple(tuple(map(open_form, tokens[a:b])) for a, b in spans),
        tuple(tuple(map(open_form, tokens[a:b])) for a, b in wide),
        tuple(tuple(_as_written(t) for t in tokens[a:b]) for a, b in wide),
    ]
    if kind in ("run-time-trap", "wrong-value"):
        rungs = rungs[3:]
    elif _OWN.search(message):
        rungs = rungs[:1]
    found: list[Pattern] = []
    for rung in rungs:
        useful = tuple(run for run in rung if _says_something(run, complained))
        if useful and useful not in found and matches(useful, tokens) and not matches(useful, other):
            found.append(useful)
    return tuple(found)


def rung_that_spares(rungs: Sequence[Pattern], level: int, good: Iterable[Sequence[Token]]) -> int:
    """The first rung from ``level`` on that matches none of the token lists in ``good``; ``len(rungs)`` when none does."""
    spared = list(good)
    while level < len(rungs) and any(matches(rungs[level], tokens) for tokens in spared):
        level += 1
    return level


def in_words(pattern: Pattern) -> str:
    """A pattern for a person."""
    return " and ".join(f"`{joined(run)}`" for run in pattern) or "nothing special enough to veto by"


def _as_written(token: Token) -> str:
    return generalized(token) if token.kind == "word" else token.text


def _says_something(run: Sequence[str], complained: frozenset[str]) -> bool:
    if any(is_special(word) or word.lower() in complained for word in run):
        return True
    if "#pragma" in run or any(word.startswith("#") for word in run):
        return len(run) > 1
    return len(run) >= SHORTEST and NAME not in run and NUMBER not in run


def _words(message: str) -> frozenset[str]:
    return frozenset(token.text for token in tokenize(message.replace("'", " ")) if token.kind == "name")


def _differences(tokens: Sequence[Token], other: Sequence[Token]) -> list[tuple[int, int]]:
    """Spans of ``tokens`` that ``other`` does not have in their place."""
    matcher = difflib.SequenceMatcher(None, [t.text for t in tokens], [t.text for t in other], autojunk=False)
    return [(a, b) for tag, a, b, _, _ in matcher.get_opcodes() if tag in ("delete", "replace")]
