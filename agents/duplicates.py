"""Near-duplicates: the same source under other names and spacing, or the same mechanism from the same parent."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

_COMMENTS = {"c": re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL), "python": re.compile(r"#[^\n]*")}
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|[A-Za-z_]\w*|\d[\w.]*|\S')
_LOCAL = re.compile(
    r"\b(?:int|float|double|long|short|char|unsigned|size_t|u?int\d+_t|__m\d+[id]?)\b[\s*]+(?:restrict\s+)?([A-Za-z_]\w*)"
)
_COMMON = frozenset(
    ("a", "an", "and", "the", "of", "for", "in", "on", "to", "with", "by", "use", "uses", "into", "from")
)


def shape_digest(source: str, language: str = "c") -> str:
    """A digest (sha256 hex) of a source that ignores comments, spacing and, in C-like text, names of local variables.

    Local names become numbers in the order in which they appear; names that are declared nowhere in the text (intrinsics,
    arguments' macros) stay. It is a screen: two sources that agree are taken for one. ``language`` is that of
    :data:`.answer.LANGUAGES`; in Python indentation is part of the text.
    """
    if language == "python":
        text = _COMMENTS["python"].sub("", source)
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        return hashlib.sha256("\n".join(lines).encode(errors="replace")).hexdigest()
    text = _COMMENTS["c"].sub(" ", source)
    local = {match.group(1) for match in _LOCAL.finditer(text)}
    numbers: dict[str, str] = {}
    words = []
    for token in _TOKEN.findall(text):
        words.append(numbers.setdefault(token, f"${len(numbers)}") if token in local else token)
    return hashlib.sha256(" ".join(words).encode(errors="replace")).hexdigest()


def mechanism_key(mechanism: str) -> frozenset[str]:
    """The words that a mechanism is made of, without endings that only grammar asks for."""
    words = re.findall(r"[a-z0-9]+", mechanism.lower())
    return frozenset(re.sub(r"(?<=\w{3})(?:ing|ed|es|s)$", "", word) for word in words if word not in _COMMON)


def same_mechanism(one: str, other: str) -> bool:
    """Whether two mechanisms are worded alike: at least 80 % of their words in common, and the same numbers."""
    a, b = mechanism_key(one), mechanism_key(other)
    if not a or not b:
        return False
    digits = frozenset(word for word in a if word.isdigit()), frozenset(word for word in b if word.isdigit())
    return digits[0] == digits[1] and len(a & b) >= 0.8 * len(a | b)


@dataclass(frozen=True)
class Earlier:
    """A design that a new one may repeat. ``mechanism`` counts only where ``decided``: a failed build proves nothing."""

    design: str
    parent: str | None
    source: str
    mechanism: str
    decided: bool


def repeated(source: str, parent: str, mechanism: str, earlier: Iterable[Earlier], language: str = "c") -> str | None:
    """Why a proposal is a near-duplicate, naming the earlier design; None when it is new."""
    shape = shape_digest(source, language)
    for each in earlier:
        if shape_digest(each.source, language) == shape:
            return f"the same source as {each.design} but for names and spacing"
        if each.decided and each.parent == parent and same_mechanism(mechanism, each.mechanism):
            return f"the same mechanism as {each.design}, from the same parent {parent}: {each.mechanism}"
    return None
