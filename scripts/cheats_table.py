"""Write the table of cheats in docs/explanation/trust.md from the first lines of tests/hardware/cheats/*.c.

``python scripts/cheats_table.py`` rewrites the page; with ``--check`` it says whether the page is up to date (exit 1: not).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs" / "explanation" / "trust.md"
CHEATS = TOP / "tests" / "hardware" / "cheats"
BEGIN, END = "<!-- cheats: begin -->\n", "<!-- cheats: end -->\n"


def table() -> str:
    """The table, in Markdown: what each design does, and where it is stopped with which outcome."""
    lines = ["| design | what it does | stopped |\n", "|---|---|---|\n"]
    for path in sorted(CHEATS.glob("*.c")):
        text = path.read_text()
        does = re.search(r"^/\* does: (.+) \*/$", text, re.MULTILINE)
        caught = re.findall(r"^/\* caught: (\w+) ([\w-]+) \*/$", text, re.MULTILINE)
        if does is None or not caught:
            raise SystemExit(f"{path.name} does not say what it does and what catches it")
        where = "; ".join(f"{stage}: `{outcome}`" for stage, outcome in caught)
        lines.append(f"| `{path.stem}` | {does[1]} | {where} |\n")
    return "".join(lines)


def main() -> int:
    """Rewrite the page, or check it."""
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    made = before + BEGIN + "\n" + table() + "\n" + END + after
    if "--check" in sys.argv[1:]:
        return 0 if made == page else 1
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
