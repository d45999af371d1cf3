"""Make a failing source small: delta debugging by lines and then by tokens, and the nearest source that passes.

The minimizing algorithm is ddmin (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
Transactions on Software Engineering 28(2), 2002). Every question costs a build, so questions are counted, never asked
twice, and end with the budget: a witness that is not quite the smallest is still a witness.
"""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from .tokens import Token, is_special, tokenize

Question = Callable[[str], bool]
"""Whether a source shows what is looked for (fails in the same way; passes). Asked of the toolchain."""
LONGEST_CUT = 24
"""Tokens; the longest run whose removal is tried to make a witness pass."""


class BudgetSpentError(Exception):
    """No more questions may be asked."""


class Asker:
    """Asks a question of sources, each once, at most ``tries`` of them and for at most so many seconds."""

    def __init__(self, question: Question, tries: int, seconds: float = inf) -> None:
        self._question = question
        self._answers: dict[str, bool] = {}
        self._end = time.monotonic() + seconds
        self.left = tries
        self.asked = 0

    def __call__(self, source: str) -> bool:
        """The answer for a source; raises BudgetSpentError when it would be one too many."""
        if source not in self._answers:
            if self.left <= 0 or time.monotonic() > self._end:
                raise BudgetSpentError
            self.left -= 1
            self.asked += 1
            self._answers[source] = self._question(source)
        return self._answers[source]


@dataclass(frozen=True)
class Reduced:
    """A smaller source that still shows it. ``minimal`` is False when the budget ended the search."""

    source: str
    tries: int
    minimal: bool


def ddmin(units: Sequence[str], shows: Callable[[Sequence[str]], bool]) -> Iterator[list[str]]:
    """Smaller and smaller lists of ``units`` that show it, the last one minimal: no single unit can be left out."""
    current = list(units)
    parts = 2
    while len(current) >= 2:
        size = max(1, len(current) // parts)
        chunks = [current[i : i + size] for i in range(0, len(current), size)]
        for index, chunk in enumerate(chunks):
            rest = [unit for k, each in enumerate(chunks) if k != index for unit in each]
            if len(chunks) > 2 and shows(chunk):
                current, parts = list(chunk), 2
                break
            if shows(rest):
                current, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                return
            parts = min(parts * 2, len(current))
            continue
        yield current


def reduce_source(
    source: str, fails: Question, tries: int, seconds: float = inf, keep: Question = lambda _source: True
) -> Reduced:
    """The smallest source found that fails as ``source`` does, which must fail itself.

    Only sources that ``keep`` lets pass are asked about: it says, from the text alone, what must not be lost.
    """
    asker = Asker(fails, tries, seconds)
    best = source
    try:
        for cut in (_lines, _pieces):
            changed = True
            while changed:
                changed = False
                for units in ddmin(cut(best), lambda units: keep("".join(units)) and asker("".join(units))):
                    smaller = "".join(units)
                    changed = changed or len(smaller) < len(best)
                    best = smaller
                changed = changed and cut is _pieces
    except BudgetSpentError:
        return Reduced(tidy(best), asker.asked, False)
    return Reduced(tidy(best), asker.asked, True)


def _lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def _pieces(source: str) -> list[str]:
    """Tokens with the space before them; a line with a directive is one piece, for it ends with its line."""
    pieces: list[str] = []
    for line in re.split(r"(?m)^(?=[ \t]*#)", source):
        if re.match(r"[ \t]*#", line):
            directive, newline, line = line.partition("\n")
            pieces.append(directive + newline)
        at = 0
        for token in tokenize(line):
            pieces.append(line[at : token.end])
            at = token.end
        if line[at:].strip() == "" and line[at:] and pieces:
            pieces[-1] += line[at:]
    return pieces


def tidy(source: str) -> str:
    """The source without blank lines and trailing space."""
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip()) + "\n"


def nearest_passing(failing: str, passes: Question, tries: int, seconds: float = inf) -> tuple[str | None, int]:
    """A source that passes and differs from ``failing`` in as short a run of tokens as the budget finds; and the tries.

    Runs with names that the toolchain reserves come first among those of the same length.
    """
    asker = Asker(passes, tries, seconds)
    tokens = tokenize(failing)
    try:
        for run in _cuts(tokens):
            candidate = tidy(failing[: run[0].start] + " " + failing[run[-1].end :])
            if asker(candidate):
                return candidate, asker.asked
    except BudgetSpentError:
        pass
    return None, asker.asked


def _cuts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Runs of tokens to cut out, short ones first; those that open and close brackets unevenly cannot help."""
    for length in range(1, min(LONGEST_CUT, len(tokens)) + 1):
        runs = [tokens[i : i + length] for i in range(len(tokens) - length + 1)]
        even = [run for run in runs if _even(run) and _whole(run, tokens)]
        yield from sorted(even, key=lambda run: not any(is_special(token.text) for token in run))


def _whole(run: Sequence[Token], tokens: Sequence[Token]) -> bool:
    """Whether a run leaves directives what they are: it holds none, and not the two words that say which pragma it is."""
    if any(token.kind == "directive" for token in run):
        return False
    at = tokens.index(run[0])
    return "#pragma" not in (token.text for token in tokens[max(0, at - 2) : at])


def _even(run: Sequence[Token]) -> bool:
    depth = 0
    for token in run:
        depth += token.text in ("(", "[", "{")
        depth -= token.text in (")", "]", "}")
        if depth < 0:
            return False
    return depth == 0


def reduce_change(
    passing: str, failing: str, fails: Question, tries: int, seconds: float = inf
) -> tuple[str, str, int]:
    """The smallest part of the change from ``passing`` to ``failing`` that still fails, as whole sources.

    Returns (failing, passing, tries): the two differ in what is left of the change. This is the reduction for failures
    at run time, where a smaller source would fail for any number of other reasons.
    """
    before, after = passing.splitlines(keepends=True), failing.splitlines(keepends=True)
    hunks = [
        op for op in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if op[0] != "equal"
    ]
    names = [str(index) for index in range(len(hunks))]

    def with_hunks(chosen: Sequence[str]) -> str:
        lines: list[str] = []
        at = 0
        for index, (_, b0, b1, a0, a1) in enumerate(hunks):
            lines += before[at:b0]
            lines += after[a0:a1] if str(index) in chosen else before[b0:b1]
            at = b1
        return "".join(lines + before[at:])

    asker = Asker(fails, tries, seconds)
    best: Sequence[str] = names
    try:
        for smaller in ddmin(names, lambda chosen: asker(with_hunks(chosen))):
            best = smaller
    except BudgetSpentError:
        pass
    return with_hunks(best), passing if len(best) == 1 else with_hunks(best[:-1]), asker.asked
