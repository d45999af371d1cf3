"""Documents become sections, sections claims; a change of a section touches just its claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernelwright.hardware.study import Document
from kernelwright.knowledge.claims import claims_of, sentences
from kernelwright.knowledge.documents import DocumentError, read_documents, sections
from kernelwright.knowledge.expectation import Expectation, ExpectationError, compile_expression, parse_cost, parse_info

MARKDOWN = """# Guide

A vector must be aligned. This sentence binds nobody.

## Limits

| limit | value |
|---|---|
| arguments | at most 24 |
| colour | blue |

Loops may not be nested:

```c
for (;;) for (;;);
```

A sum is written so:

```c yields="x + 1" name=sum
y[0] = x[0] + 1;
```

```python
print("not ours")
```
"""
RST = """
Guide
=====

A vector *must* be ``aligned``.

Limits
------

.. code-block:: c

   int a;

========= ===========
limit     value
========= ===========
arguments at most 24
========= ===========
"""


def test_sections_have_headings_lines_and_blocks() -> None:
    first, second = sections(Document("guide.md", MARKDOWN))
    assert (first.heading, first.first_line, first.last_line) == ("Guide", 1, 4)
    assert second.heading == "Guide > Limits"
    assert [block.kind for block in second.blocks] == ["table", "text", "code", "text", "code", "code"]
    lines = MARKDOWN.splitlines()
    block = second.blocks[2]
    assert lines[block.first_line - 1] == "```c"
    assert lines[block.last_line - 1] == "```"


def test_the_same_is_read_from_restructured_text() -> None:
    first, second = sections(Document("guide.rst", RST))
    assert (first.heading, second.heading) == ("Guide", "Guide > Limits")
    assert [block.kind for block in second.blocks] == ["code", "table"]
    assert second.blocks[0].info == "c"
    assert RST.splitlines()[second.blocks[0].first_line - 1].strip() == "int a;"
    assert second.blocks[1].rows == (("limit", "value"), ("arguments", "at most 24"))
    assert [c.sentence for c in claims_of(first, ("c",))] == ["A vector must be `aligned`."]


def test_claims_are_binding_sentences_limits_and_snippets() -> None:
    made = [claim for section in sections(Document("guide.md", MARKDOWN)) for claim in claims_of(section, ("c",))]
    assert [claim.sentence for claim in made] == [
        "A vector must be aligned.",
        "limit arguments: value at most 24.",
        "Loops may not be nested",
        "A sum is written so",
    ]
    assert made[2].expectation == Expectation("refused")
    assert made[3].expectation == Expectation("yields", "x + 1", "sum")
    assert all(claim.snippet is None for claim in made[:2])
    assert len({claim.id for claim in made}) == len(made)


def test_a_change_of_one_section_keeps_the_claims_of_the_others() -> None:
    def ids(text: str) -> set[str]:
        return {c.id for s in sections(Document("guide.md", text)) for c in claims_of(s, ("c",))}

    before, after = ids(MARKDOWN), ids(MARKDOWN.replace("at most 24", "at most 32"))
    kept = before & after
    assert kept == {c.id for c in claims_of(sections(Document("guide.md", MARKDOWN))[0], ("c",))}
    # What stands above moves lines, and changes nothing else.
    assert ids("Preface.\n\n" + MARKDOWN) == before


def test_sentences_survive_abbreviations_and_code() -> None:
    assert sentences("Use it, e.g. Twice. `x` is next! And (so) on.") == [
        "Use it, e.g. Twice.",
        "`x` is next!",
        "And (so) on.",
    ]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt", b"x", "ends in .md or .rst"),
        ("a.md", b"\xff\xfe", "not UTF-8"),
        ("missing.md", None, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DocumentError, match=says):
        read_documents([path])


def test_a_folder_gives_its_documents_by_relative_name(tmp_path: Path) -> None:
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "b.md").write_text("# B\n\nIt must.\n")
    (tmp_path / "docs" / "deep" / "a.rst").write_text("A\n=\n\nIt must.\n")
    (tmp_path / "empty").mkdir()
    assert [d.name for d in read_documents([tmp_path / "docs"])] == ["docs/b.md", "docs/deep/a.rst"]
    with pytest.raises(DocumentError, match="holds no Markdown"):
        read_documents([tmp_path / "empty"])


def test_expressions_compute_and_refuse_what_is_no_arithmetic() -> None:
    x = np.array([1.0, 4.0, 9.0], np.float32)
    assert compile_expression("sqrt(x) + i * 2 - n")(x, np.float64).tolist() == [-2.0, 1.0, 4.0]
    assert compile_expression("where(x > 2, 1, 0)")(x, np.float32).tolist() == [0.0, 1.0, 1.0]
    assert compile_expression("sum(x)")(x, np.float64).tolist() == [14.0, 14.0, 14.0]
    for text in ("__import__('os')", "x.dtype", "open('f')", "lambda: 1", "x[0]", "1 if x else 2", "y", "'a'", "x ="):
        with pytest.raises(ExpectationError):
            compile_expression(text)


def test_markings_of_code_blocks() -> None:
    assert parse_info("c") == ("c", None)
    assert parse_info('c refused="no such thing"') == ("c", Expectation("refused", "no such thing"))
    assert parse_info("{.c} builds name=a") == ("c", Expectation("builds", "", "a"))
    assert parse_cost("0.8..1.3 plain") == (0.8, 1.3, "plain")
    for info in ('c yields="open(1)"', 'c costs="fast"', 'c costs="3..1 plain"', 'c refused="'):
        with pytest.raises(ExpectationError):
            parse_info(info)
