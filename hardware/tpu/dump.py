"""Reads the compiler's dump of a program: its bundles, with the operations that decide where control goes and what is
copied, and how much of each unit every bundle uses.

The text is the compiler's; nothing in it comes from a candidate but sizes and names, whose letters are limited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

UNIT_NAMES = {
    "MATMUL": "matrix unit",
    "MATPUSH": "matrix unit, weights",
    "MXU": "matrix unit",
    "XLU": "cross-lane unit",
    "VALU": "vector unit",
    "VPOP": "result queues",
    "EUP": "transcendental unit",
    "VLOAD": "vector loads",
    "VLOAD:FILL": "refilled spills",
    "VSTORE": "vector stores",
    "VSTORE:SPILL": "spills",
    "SALU": "scalar unit",
}
"""The units that versions of the compiler count, and what people call them."""
TOP = "TLP"
"""What the dump calls the program itself, which calls every operation of the graph."""
_COMMENT = re.compile(r"/\*((?:(?!/\*|\*/).)*)\*/", re.DOTALL)
_NESTING = 4
"""How deeply comments of the dump lie in one another, at most."""
_ARGUMENT = re.compile(r"/\*(\w+)=\*/")
_BUNDLE = re.compile(
    r"^\s*(?:0x)?(?P<place>[0-9a-f]+)\s+(?P<mark>LH|LB|LE|PB|PF|CT)?\s*:\s*(?P<depth>>*)\s*\{(?P<body>.*)\}(?P<tail>[^}]*)$"
)
_OPERATION = re.compile(r"^(?:(?P<dest>%[\w.]+)\s*=\s*)?(?P<name>[a-z][\w.-]*)\s*(?P<rest>.*)$")
_PREDICATE = re.compile(r"\((?P<no>!?)%(?P<name>p\w+)\)")
_REGION = re.compile(r"(?P<what>Start/End empty|Start|End)(?: empty)? region (?P<number>\d+)")
_TARGET = re.compile(r"\$region(\d+)|region = (\d+)")
_CALLED = re.compile(r"%?(?P<name>[\w.<>-]+)(?:\s*=|\s*$)")
_FILE = re.compile(
    r"^\d+-(?P<module>.+?)-(?P<number>\d+)-(?P<what>final_bundles|final_hlo-static-per-bundle-utilization)\.txt$"
)


class DumpError(Exception):
    """A dump that is not there, not whole, or not what this reader knows."""


@dataclass(frozen=True)
class Operation:
    """One operation of a bundle. ``dest`` and the names in ``rest`` are values, each with its register as a suffix.

    ``predicate`` is the value that decides whether it happens, with ``negated``; ``arguments`` are named in the dump.
    """

    name: str
    dest: str
    rest: str
    predicate: str = ""
    negated: bool = False
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Bundle:
    """What is issued in one cycle: the operations that matter here. ``depth`` is how many loops it is in."""

    operations: tuple[Operation, ...]
    depth: int
    calls: str = ""
    """The operation of the graph that runs here, by name."""


@dataclass(frozen=True)
class Use:
    """How many operations of each unit a bundle can issue, and how many each bundle does; units by the compiler's names."""

    names: tuple[str, ...]
    capacity: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Listing:
    """The bundles of one module, where its regions begin and end (by number), and use of the units per bundle."""

    name: str
    bundles: tuple[Bundle, ...]
    starts: Mapping[int, int]
    ends: Mapping[int, int]
    units: Use | None = None


def _interesting(name: str) -> bool:
    """Scalar and predicate operations, copies, waits, branches and calls; vector work only counts as a bundle."""
    return name.startswith(
        ("s", "p", "dma", "vsync", "vwait", "inlined_call", "int_to_ptr", "reloc")
    ) and not name.startswith(("sfence", "shalt", "simm"))


def _operation(text: str, called: str) -> Operation | None:
    match = _OPERATION.match(text.strip())
    if match is None:
        return None
    name, rest = match["name"], match["rest"].strip()
    if not _interesting(name):
        return None
    arguments: dict[str, str] = {}
    if "\x01" in rest:
        for part in re.finditer(r"\x01(\w+)\x02\s*([^,\x01]+)", rest):
            arguments[part[1]] = part[2].strip()
        rest = re.sub(r"\x01\w+\x02", "", rest)
    predicate, negated = "", False
    found = _PREDICATE.search(rest)
    if found is not None:
        predicate, negated = "%" + found["name"], bool(found["no"])
        rest = (rest[: found.start()] + rest[found.end() :]).strip().lstrip(",").strip()
    if called:
        arguments["calls"] = called
    return Operation(name, match["dest"] or "", rest, predicate, negated, arguments)


def _kept(match: re.Match[str]) -> str:
    """A comment, or what is kept of it: regions, and which operation of the graph is called."""
    text = match[1].strip()
    if _REGION.search(text) and "\n" not in text:
        return "\x03" + " :: ".join(found[0] for found in _REGION.finditer(text)) + "\x04"
    if "\n" not in text and _CALLED.match(text):
        return f"\x05{text[:200]}\x06"
    return ""


def parse_bundles(name: str, text: str) -> Listing:
    """The bundles of one module's dump. Raises DumpError for a text that is none."""
    bundles: list[Bundle] = []
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    head = text.find("control target key end")
    named = _ARGUMENT.sub("\x01\\1\x02", text[text.find("\n", head) + 1 :] if head >= 0 else text)
    body = named
    for _ in range(_NESTING):
        body, found_comments = _COMMENT.subn(_kept, body)
        if not found_comments:
            break
    for line in body.splitlines():
        if not line.strip():
            continue
        match = _BUNDLE.match(line)
        if match is None:
            continue
        place = int(match["place"], 16)
        if place != len(bundles):
            raise DumpError(f"{name}: bundle {len(bundles):#x} is missing, {place:#x} stands in its place")
        operations: list[Operation] = []
        calls = ""
        for piece in match["body"].split(";;"):
            called = ""
            plain = piece
            if "inlined_call" in piece and "inlined_call_operand" not in piece:
                mark = re.search(r"\x05([^\x06]*)\x06", piece)
                inner = _CALLED.match(mark[1].strip()) if mark else None
                called = inner["name"] if inner else "?"
                calls = called
            plain = re.sub(r"[\x03\x05][^\x04\x06]*[\x04\x06]", "", plain)
            operation = _operation(plain, called)
            if operation is not None:
                operations.append(operation)
        for found in _REGION.finditer(match["tail"]):
            number = int(found["number"])
            if found["what"] != "End":
                starts[number] = place
            if found["what"] != "Start":
                ends[number] = place
        bundles.append(Bundle(tuple(operations), len(match["depth"]), calls))
    if not bundles:
        raise DumpError(f"{name}: the dump has no bundles")
    return Listing(name, tuple(bundles), starts, ends)


def parse_use(text: str) -> Use:
    """The table of the units' use. Raises DumpError for a text that is none, or has units that are not known here."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    try:
        place = next(i for i, line in enumerate(lines) if "VALU" in line)
        names = tuple(part.strip() for part in lines[place].split(","))
        capacity = tuple(int(part) for part in lines[place + 1].split())
        rows = tuple(tuple(int(part) for part in line.split()) for line in lines[place + 3 :])
    except (StopIteration, IndexError, ValueError) as error:
        raise DumpError(f"the table of the units' use cannot be read: {error}") from None
    unknown = set(names) - UNIT_NAMES.keys()
    if unknown or len(capacity) != len(names) or any(len(row) != len(names) for row in rows):
        raise DumpError(f"the table of the units' use has other units: {', '.join(names)}")
    return Use(names, capacity, rows)


def branch_target(operation: Operation) -> int | None:
    """The region that a branch goes to; None for a branch that names none."""
    match = _TARGET.search(operation.rest)
    return int(match[1] or match[2]) if match is not None else None


def read_dump(folder: Path) -> dict[str, Listing]:
    """Every module of the dump in ``folder`` by name, the latest of each. Raises DumpError when the program is missing."""
    found: dict[tuple[str, str], Path] = {}
    for path in sorted(folder.iterdir()):
        match = _FILE.match(path.name)
        if match is not None:
            found[match["module"], match["what"]] = path
    listings: dict[str, Listing] = {}
    for (module, what), path in found.items():
        if what != "final_bundles" or module.startswith("<"):
            continue
        listing = parse_bundles(module, path.read_text(encoding="utf-8", errors="replace"))
        table = found.get((module, "final_hlo-static-per-bundle-utilization"))
        if table is not None:
            use = parse_use(table.read_text(encoding="utf-8", errors="replace"))
            if len(use.rows) == len(listing.bundles):
                listing = replace(listing, units=use)
        listings[module] = listing
    if TOP not in listings:
        raise DumpError("the compiler's dump has no program")
    return listings
