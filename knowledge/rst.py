"""reStructuredText into headings and blocks, by docutils, with nothing of its file or raw inclusion."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes
from docutils.core import publish_doctree

from .documents import Block, Part

_SETTINGS = {
    "report_level": 5,  # what is malformed is read as well as it can be, silently
    "halt_level": 5,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "line_length_limit": 1_000_000,
    "doctitle_xform": False,
}


def rst_parts(text: str) -> list[Part]:
    """Headings and blocks of a document in their order, with lines from 1."""
    source = text.splitlines()
    document = publish_doctree(_marked_code(text), settings_overrides=_SETTINGS)
    return list(_walk(document, 0, _Lines(source)))


def _marked_code(text: str) -> str:
    """Sphinx's name for a code directive is not one that docutils knows; the number of lines stays."""
    return re.sub(r"^(\s*\.\. )(?:code-block|sourcecode)::", r"\1code::", text, flags=re.MULTILINE)


class _Lines:
    """Finds the lines that a node's text stands on: docutils knows only about where."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def find(self, text: str) -> tuple[int, int]:
        """First and last line (from 1) of ``text``, searched for from where the last one ended."""
        wanted = [line.strip() for line in text.strip().splitlines() if line.strip()] or [""]
        for first in range(self.at, len(self.lines)):
            if self._starts(wanted[0], first):
                last, seen = first, 0
                for index in range(first, len(self.lines)):
                    if seen < len(wanted) and self._starts(wanted[seen], index):
                        seen, last = seen + 1, index
                    if seen == len(wanted):
                        break
                self.at = last
                return first + 1, last + 1
        return min(self.at + 1, max(len(self.lines), 1)), min(self.at + 1, max(len(self.lines), 1))

    def _starts(self, wanted: str, index: int) -> bool:
        # Inline markup is gone from the node's text: compare words.
        words = re.findall(r"\w+", wanted)[:6]
        return words == re.findall(r"\w+", self.lines[index])[: len(words)] if words else False


def _walk(node: nodes.Node, depth: int, lines: _Lines) -> Iterator[Part]:
    for child in node.children:
        if isinstance(child, nodes.section):
            yield from _walk(child, depth + 1, lines)
        elif isinstance(child, nodes.title):
            first, _ = lines.find(child.astext())
            yield max(depth, 1), " ".join(child.astext().split()), first, None
        elif isinstance(child, nodes.literal_block):
            first, last = lines.find(child.astext())
            yield 0, "", first, Block("code", child.astext() + "\n", first, last, _info(child))
        elif isinstance(child, nodes.paragraph):
            first, last = lines.find(child.rawsource or child.astext())
            yield 0, "", first, Block("text", _plain(child), first, last)
        elif isinstance(child, nodes.table):
            rows = tuple(
                tuple(" ".join(_plain(entry).split()) for entry in row.findall(nodes.entry))
                for row in child.findall(nodes.row)
            )
            first, last = lines.find(child.astext())
            yield 0, "", first, Block("table", "", first, last, rows=rows)
        elif not isinstance(child, nodes.system_message | nodes.comment):
            yield from _walk(child, depth, lines)


def _info(block: nodes.literal_block) -> str:
    """The language and other classes of a code directive, as a fence in Markdown would name them.

    ``:class:`` holds words only, so attributes are written in ``:name:``, as in ``:name: yields="2 * x"``.
    """
    given: list[str] = block.get("classes", [])
    classes = [name for name in given if name != "code"]
    names: list[str] = block.get("names", [])
    return " ".join([*classes, *names])


def _plain(node: nodes.Node) -> str:
    """A node's text in one line, with literals in back quotes."""
    words = []
    for part in node.findall(nodes.Text):
        literal = isinstance(part.parent, nodes.literal)
        words.append(f"`{part.astext()}`" if literal else part.astext())
    return " ".join("".join(words).split())
