"""Cut Markdown and reStructuredText into sections of blocks, each with the lines that it stands on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..hardware.study import Document

BlockKind = Literal["text", "code", "table"]
SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".rst": "rst"}
"""Formats by the suffix of a document's name."""
DOCUMENT_LIMIT_BYTES = 4 << 20


class DocumentError(Exception):
    """A document cannot be read. The message names it and says why."""


@dataclass(frozen=True)
class Block:
    """A paragraph or list item (``text``), a block of code, or a table row by row with its header first.

    ``info`` is what code is marked with: its language and attributes. Lines count from 1, inclusive.
    """

    kind: BlockKind
    text: str
    first_line: int
    last_line: int
    info: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Section:
    """What stands under one heading, up to the next. ``heading`` is the path of headings, joined by `` > ``."""

    document: str
    heading: str
    first_line: int
    last_line: int
    text: str
    blocks: tuple[Block, ...]

    @property
    def digest(self) -> str:
        """16 hex digits over heading and text, without trailing space: what a claim's source is compared by."""
        lines = "\n".join(line.rstrip() for line in self.text.strip().splitlines())
        return hashlib.sha256(f"{self.document}\0{self.heading}\0{lines}".encode()).hexdigest()[:16]


def digest_of(document: Document) -> str:
    """16 hex digits over a document's text."""
    return hashlib.sha256(document.text.encode()).hexdigest()[:16]


def read_documents(paths: Sequence[Path]) -> list[Document]:
    """Read files and folders (their Markdown and reStructuredText, sorted); names are relative to what was given.

    Raises DocumentError for a path that is not there, is empty of documents, is not UTF-8 or is too large.
    """
    found: list[Document] = []
    for path in paths:
        if path.is_dir():
            files = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
            if not files:
                raise DocumentError(f"{path} holds no Markdown (.md) or reStructuredText (.rst) files")
            found += [_read(file, f"{path.resolve().name}/{file.relative_to(path).as_posix()}") for file in files]
        elif path.suffix.lower() in SUFFIXES:
            found.append(_read(path, path.name))
        else:
            raise DocumentError(f"{path}: expected a folder, or a file that ends in .md or .rst")
    return found


def _read(path: Path, name: str) -> Document:
    try:
        if path.stat().st_size > DOCUMENT_LIMIT_BYTES:
            raise DocumentError(f"{path} is larger than {DOCUMENT_LIMIT_BYTES >> 20} MiB")
        return Document(name, path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}") from error


def sections(document: Document) -> tuple[Section, ...]:
    """The sections of a document. Raises DocumentError for a format that is not known."""
    suffix = Path(document.name).suffix.lower()
    if suffix not in SUFFIXES:
        raise DocumentError(f"{document.name}: expected a name that ends in .md or .rst")
    if SUFFIXES[suffix] == "rst":
        from .rst import rst_parts

        parts = rst_parts(document.text)
    else:
        parts = list(_markdown_parts(document.text))
    return tuple(cut(document, parts))


Part = tuple[int, str, int, Block | None]
"""(level, heading, line, None) for a heading, (0, "", line, block) for a block."""


def cut(document: Document, parts: Sequence[Part]) -> Iterator[Section]:
    """Sections from headings and blocks in their order."""
    lines = document.text.splitlines()
    path: list[str] = []
    levels: list[int] = []
    start, blocks = 1, list[Block]()
    for level, heading, line, block in parts:
        if block is not None:
            blocks.append(block)
            continue
        if blocks:
            yield _section(document, path, start, line - 1, lines, blocks)
        while levels and levels[-1] >= level:
            levels.pop()
            path.pop()
        levels.append(level)
        path.append(heading)
        start, blocks = line, []
    if blocks:
        yield _section(document, path, start, len(lines), lines, blocks)


def _section(
    document: Document, path: Sequence[str], first: int, last: int, lines: Sequence[str], blocks: Sequence[Block]
) -> Section:
    text = "\n".join(lines[first - 1 : last])
    return Section(document.name, " > ".join(path), first, max(first, last), text, tuple(blocks))


def _markdown_parts(text: str) -> Iterator[Part]:
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        first, last = (token.map[0] + 1, token.map[1]) if token.map else (0, 0)
        if token.type == "heading_open":
            yield int(token.tag[1:]), plain(tokens[index + 1]), first, None
        elif token.type in ("fence", "code_block"):
            yield 0, "", first, Block("code", token.content, first, last, token.info.strip())
        elif token.type == "paragraph_open":
            yield 0, "", first, Block("text", plain(tokens[index + 1]), first, last)
        elif token.type == "table_open":
            end = next(i for i in range(index, len(tokens)) if tokens[i].type == "table_close")
            rows = _rows(tokens[index:end])
            yield 0, "", first, Block("table", "", first, last, rows=rows)
            index = end
        index += 1


def plain(inline: Token) -> str:
    """The text of an inline token, in one line, with code in back quotes."""
    words = []
    for child in inline.children or ():
        if child.type == "code_inline":
            words.append(f"`{child.content}`")
        elif child.type in ("softbreak", "hardbreak"):
            words.append(" ")
        elif child.type in ("text", "html_inline"):
            words.append(child.content)
    return "".join(words).strip()


def _rows(tokens: Sequence[Token]) -> tuple[tuple[str, ...], ...]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(plain(token))
    return tuple(tuple(row) for row in rows)
