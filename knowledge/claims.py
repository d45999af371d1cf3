"""The playbook's librarian: sections of documentation into claims, without a model.

It takes what can be checked and what binds: code blocks, rows of tables of limits, and sentences with must, must not, may
not, at most, at least, only, never. A claim is one sentence; what it says about a code block becomes checkable.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .documents import Block, Section
from .expectation import Expectation, ExpectationError, parse_info

BINDING = re.compile(
    r"\b(?:must|may not|cannot|can not|at most|at least|never|always|only|not allowed|forbidden|refused|required|"
    r"illegal|undefined|exactly|no more than|limit(?:ed)?)\b",
    re.IGNORECASE,
)
"""Words of a sentence that binds."""
REFUSES = re.compile(
    r"\b(?:refuse[sd]?|illegal|error|does not (?:compile|build)|not (?:compile|build|allowed)|must not|may not|cannot|"
    r"never|forbidden|invalid|reject(?:s|ed)?|wrong)\b",
    re.IGNORECASE,
)
"""Words before a code block by which it is taken as an example of what is refused."""
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|vs|etc|fig|sec|no|approx)\.$", re.IGNORECASE)
LONGEST_SENTENCE = 400
"""Characters; a longer one is text, not a claim."""


@dataclass(frozen=True)
class Claim:
    """A claim before it is recorded: one sentence, where it stands, and what can be checked of it."""

    sentence: str
    document: str
    heading: str
    first_line: int
    last_line: int
    section: str
    snippet: str | None = None
    expectation: Expectation | None = None

    @property
    def id(self) -> str:
        """Follows from the section's text and from what is said: equal claims have equal ids."""
        expect = self.expectation.as_dict() if self.expectation else {}
        parts = [self.section, self.sentence, self.snippet or "", *(f"{k}={v}" for k, v in sorted(expect.items()))]
        return "c-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph."""
    pieces = re.split(r"(?<=[.!?])\s+(?=[A-Z`\d*\"'(_])", " ".join(text.split()))
    found: list[str] = []
    for piece in pieces:
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    return [sentence for sentence in found if sentence]


def claims_of(section: Section, languages: Sequence[str]) -> tuple[Claim, ...]:
    """The claims of a section. Code in one of ``languages`` is checkable; other code is passed over.

    A code block belongs to the last sentence before it. Each claim is made once.
    """
    found: dict[str, Claim] = {}
    for claim in _claims(section, languages):
        found.setdefault(claim.id, claim)
    # A sentence that has a snippet needs no second, bare claim.
    told = {claim.sentence for claim in found.values() if claim.snippet is not None}
    return tuple(c for c in found.values() if c.snippet is not None or c.sentence not in told)


def _claims(section: Section, languages: Sequence[str]) -> Iterator[Claim]:
    before: Block | None = None
    for block in section.blocks:
        if block.kind == "code":
            claim = _code(section, block, before, languages)
            if claim is not None:
                yield claim
            continue
        if block.kind == "table":
            for number, sentence in enumerate(_limits(block), 1):
                line = min(block.first_line + 1 + number, block.last_line)
                yield _bare(section, sentence, line, line)
        else:
            for sentence in sentences(block.text):
                if BINDING.search(sentence) and len(sentence) <= LONGEST_SENTENCE and not sentence.endswith(":"):
                    yield _bare(section, sentence, block.first_line, block.last_line)
        before = block


def _bare(section: Section, sentence: str, first: int, last: int) -> Claim:
    return Claim(sentence, section.document, section.heading, first, last, section.digest)


def _code(section: Section, block: Block, before: Block | None, languages: Sequence[str]) -> Claim | None:
    try:
        language, expectation = parse_info(block.info)
    except ExpectationError:
        # What is asked for cannot be read, so the block is no claim; the sentences around it still are.
        return None
    if language not in languages or not block.text.strip():
        return None
    said = sentences(before.text) if before is not None and before.kind == "text" else []
    sentence = said[-1].rstrip(":") if said else f"{section.heading or section.document}: this code works as shown"
    if expectation is None:
        kind = "refused" if said and REFUSES.search(said[-1]) else "builds"
        expectation = Expectation("refused" if kind == "refused" else "builds")
    first = before.first_line if said and before is not None else block.first_line
    return Claim(
        sentence,
        section.document,
        section.heading,
        first,
        block.last_line,
        section.digest,
        block.text,
        expectation,
    )


def _limits(table: Block) -> Iterator[str]:
    """One sentence for each row of a table that holds a number."""
    if len(table.rows) < 2:
        return
    header, *rows = table.rows
    for row in rows:
        if len(row) == len(header) and any(re.search(r"\d", cell) for cell in row[1:]):
            rest = ", ".join(f"{name} {cell}" for name, cell in zip(header[1:], row[1:], strict=True) if cell)
            yield f"{header[0]} {row[0]}: {rest}."
