"""Translates the scalar operations of a dump into Python, block by block: what decides branches, copies and waits.

A TPU's scalar core runs the loops of a kernel, computes addresses, and starts and awaits copies; vector work only takes
bundles. So a kernel's timeline can be followed by running its scalar code alone. Values are 32-bit words; registers and
predicates live in one list, by physical register, which is what makes the loops' phi operations do nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .dump import DumpError, Listing, Operation, branch_target

WORD = 0xFFFFFFFF
_SIGN = 0x80000000
REGISTERS = 256
"""Length of the list of registers: scalars, from 128 on predicates, and last whether a branch is taken."""
_TAKEN = REGISTERS - 1
_VALUE = re.compile(r"%[sp]\w*_[sp]\d+|%[sp]\w+|%\w+")
_ALLOCATION = re.compile(r"#allocation\d+\w*")
_NUMBER = re.compile(r"\$?(-?(?:0x[0-9a-f]+|\d+))")
_MEMORY = re.compile(r"^\[smem:\[(?P<address>.*?)\]\](?P<value>[^\]]*)$")
_SELECT = re.compile(r"^\((!?)(%\w+),\s*([^)]+)\),\s*(.*)$")
_BINARY = {
    "sadd": "({0} + {1}) & W",
    "ssub": "({0} - {1}) & W",
    "smul": "({0} * {1}) & W",
    "sand": "{0} & {1}",
    "sor": "{0} | {1}",
    "sxor": "{0} ^ {1}",
    "sshll": "({0} << ({1} & 31)) & W",
    "sshrl": "{0} >> ({1} & 31)",
    "por": "{0} | {1}",
    "pand": "{0} & {1}",
    "pxor": "{0} ^ {1}",
    "pnand": "({0} & {1}) ^ 1",
    "pnor": "({0} | {1}) ^ 1",
}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BASES = 0x10000
"""Distance between the addresses that allocations are given: they only have to be told apart."""

Step = Callable[[list[int], dict[int, int]], bool]
"""A block: works on registers and scalar memory, and says whether its branch is taken."""


@dataclass(frozen=True)
class Event:
    """What a block does at one of its bundles besides computing: a copy, a wait, a flag set, or a call.

    ``kind`` is ``copy``, ``wait``, ``add``, ``set`` or ``call``. ``values`` are expressions over registers ``R`` and scalar
    memory ``M``, compiled: whether it happens, then what it needs.
    """

    at: int
    kind: str
    name: str
    values: Callable[[list[int], dict[int, int]], tuple[int, ...]]


@dataclass(frozen=True)
class Block:
    """A straight run of bundles ``start`` up to ``end``, its events, and what computes its registers.

    ``pieces`` are the computations between events: as many as events and one more. The last says whether the branch is
    taken, to ``target``; otherwise control goes on at ``end``.
    """

    start: int
    end: int
    events: tuple[Event, ...]
    pieces: tuple[Step, ...]
    target: int | None
    pure: bool
    """No events and no scalar memory: running it again changes registers alone."""
    assumed: bool
    """Its branch rests on a value that the dump does not tell: on data, or on memory that the program has not written."""


def register(value: str) -> int | None:
    """Place of a value's register in the list: scalars first, then predicates; None for a value without one."""
    match = re.search(r"_([sp])(\d+)$", value) or re.fullmatch(r"%([sp])(\d+)", value)
    if match is None:
        return None
    return int(match[2]) + (0 if match[1] == "s" else 128)


class Translator:
    """Makes the blocks of one listing. ``number`` tells its allocations from those of other listings."""

    _temporary: dict[str, str]
    _stores: bool
    _in_place: set[str]

    def __init__(self, listing: Listing, number: int, delay_slots: int, loop_slots: int) -> None:
        self.listing, self.number = listing, number
        self.delay, self.loop_delay = delay_slots, loop_slots
        self.allocations: dict[str, int] = {}
        self.unknown: set[str] = set()
        self._needed = self._closure()

    def blocks(self) -> dict[int, Block]:
        """Every block by its first bundle."""
        size = len(self.listing.bundles)
        branches: dict[int, Operation] = {}
        delays: dict[int, int] = {}
        leaders = {0}
        for place, bundle in enumerate(self.listing.bundles):
            for operation in bundle.operations:
                if operation.name.startswith("sbr"):
                    region = branch_target(operation)
                    target = self.listing.starts.get(region) if region is not None else None
                    if target is None:
                        continue
                    branches[place] = operation
                    delays[place] = self.loop_delay if target <= place else self.delay
                    leaders |= {target, min(place + 1 + delays[place], size)}
        order = sorted(leader for leader in leaders if leader < size)
        found: dict[int, Block] = {}
        for start, end in zip(order, [*order[1:], size], strict=True):
            # A branch sits as many bundles before the end of its block as it has delay slots.
            at = next((at for at in range(start, end) if at in branches and at + 1 + delays[at] == end), None)
            if at is None and end == size:
                at = next((at for at in range(start, end) if at in branches), None)
            found[start] = self._block(start, end, None if at is None else (at, branches[at]))
        return found

    def _block(self, start: int, end: int, branch: tuple[int, Operation] | None) -> Block:
        lines: list[str] = []
        pieces: list[Step] = []
        events: list[Event] = []
        memory = False
        for place in range(start, end):
            emitted = self._bundle(place)
            memory = memory or any("M[" in line or "M.get" in line for line in emitted)
            made = {operation.dest for operation in self.listing.bundles[place].operations if operation.dest}
            before: list[Event] = []
            after: list[Event] = []
            for event, used in self._events(place):
                (after if made.intersection(used) else before).append(event)
            for event in before:  # a bundle reads what held before it
                pieces.append(_compiled(lines, "False"))
                lines = []
                events.append(event)
            if branch is not None and place == branch[0]:
                lines.append(f"R[{_TAKEN}] = int(bool({self._guard(branch[1]) or '1'}))")
            lines += emitted
            for event in after:
                pieces.append(_compiled(lines, "False"))
                lines = []
                events.append(event)
        target = None
        if branch is not None:
            region = branch_target(branch[1])
            target = self.listing.starts.get(region) if region is not None else None
        pieces.append(_compiled(lines, f"bool(R[{_TAKEN}])" if branch is not None else "False"))
        assumed = branch is not None and branch[1].predicate in self.unknown
        return Block(start, end, tuple(events), tuple(pieces), target, not events and not memory, assumed)

    def _bundle(self, place: int) -> list[str]:
        """Statements of one bundle: every operation reads what held before it, but for what renames a value in place."""
        wanted = [
            operation
            for operation in self.listing.bundles[place].operations
            if (operation.dest in self._needed and register(operation.dest) is not None)
            or (operation.name.startswith("sst") and self._stores)
        ]
        wanted = [operation for operation in wanted if not operation.name.startswith(("sphi", "inlined_call"))]
        lines: list[str] = []
        late: list[str] = []
        alone = len(wanted) == 1
        for number, operation in enumerate(_sorted(wanted)):
            expression = self._expression(operation)
            happens = self._guard(operation)
            if operation.name.startswith("sst"):
                lines.append(f"if {happens}: {expression}" if happens else expression)
                continue
            name = f"R[{register(operation.dest)}]" if alone else f"v{number}_{_plain(operation.dest)}"
            old = f"R[{register(operation.dest)}]"
            # A scalar that is not made keeps what its register held; a predicate that is not made is false.
            kept = "0" if operation.dest.startswith("%p") else old
            value = f"({expression}) if {happens} else {kept}" if happens else expression
            lines.append(f"{name} = {value}")
            if not alone:
                self._temporary[operation.dest] = name
                late.append(f"{old} = {name}")
        self._temporary.clear()
        return lines + late

    def _events(self, place: int) -> list[tuple[Event, list[str]]]:
        found: list[tuple[Event, list[str]]] = []
        for operation in self.listing.bundles[place].operations:
            kind = _kind(operation.name)
            if not kind:
                continue
            happens = self._guard(operation) or "1"
            parts = [happens]
            if kind == "copy":
                parts.append(self._term(operation.arguments.get("size_in_granules", "0")))
                parts.append(self._term(operation.arguments.get("dst_syncflagno", "0")))
                source = operation.arguments.get("src_syncflagno")
                parts.append(self._term(source) if source else "0")
            elif kind in ("wait", "add", "set"):
                pieces = [piece.strip() for piece in operation.rest.split(",") if piece.strip()]
                parts.append(self._term(pieces[0]) if pieces else "0")
                parts.append(self._term(pieces[1]) if len(pieces) > 1 else "0")
            code = f"lambda R, M: ({', '.join(f'int({part})' for part in parts)},)"
            values = eval(code, {"W": WORD, "S": _SIGN})  # noqa: S307  (text that this module wrote)
            name = operation.arguments.get("calls", operation.name)
            found.append((Event(place, kind, name, values), _uses(operation)))
        return found

    def _guard(self, operation: Operation) -> str:
        if not operation.predicate:
            return ""
        value = self._term(operation.predicate)
        return f"not {value}" if operation.negated else value

    def _term(self, text: str) -> str:
        """An operand as an expression: a value, a number, an allocation, or a sum of them in brackets."""
        text = text.strip()
        negated = text.startswith("!")
        terms: list[str] = []
        body = text.lstrip("!").removeprefix("[smem:").strip("[]")
        for part in body.split("+"):
            part = part.strip().strip("[]")
            if part.startswith("%"):
                if part in self._temporary:
                    terms.append(self._temporary[part])
                    continue
                place = register(part)
                terms.append("0" if place is None else f"R[{place}]")
            elif _ALLOCATION.match(part):
                base = self.allocations.setdefault(part, (self.number << 24) + (len(self.allocations) + 1) * _BASES)
                terms.append(str(base & WORD))
            else:
                number = _NUMBER.search(part)
                terms.append(str(int(number[1], 0) & WORD) if number else "0")
        if negated:
            return f"({terms[0]} ^ 1)"
        return terms[0] if len(terms) == 1 else "((" + " + ".join(terms) + ") & W)"

    def _expression(self, operation: Operation) -> str:
        """The value of an operation. Raises DumpError for one that is known and reads otherwise than it does here."""
        try:
            return self._known(operation)
        except IndexError:
            said = f"{operation.name} {operation.rest}"[:120]
            raise DumpError(f"{self.listing.name}: an operation that cannot be read: {said!r}") from None

    def _known(self, operation: Operation) -> str:
        """``0`` for an operation that is not known, which is what memory and data are taken to hold."""
        name, rest = operation.name, operation.rest
        head = name.split(".")[0]
        if name.startswith("smov") or name.startswith("pmov"):
            chosen = _SELECT.match(rest)
            if chosen:
                guard = self._term(chosen[2])
                no, yes = self._term(chosen[3]), self._term(chosen[4])
                return f"({no} if {guard} else {yes})" if chosen[1] else f"({yes} if {guard} else {no})"
            return self._term(rest)
        operands = [part.strip() for part in rest.split(",") if part.strip()]
        if head in ("sld", "sst"):
            match = _MEMORY.match(rest)
            if match is None:
                return "0"
            place = self._term(match["address"])
            return f"M.get({place}, 0)" if head == "sld" else f"M[{place}] = {self._term(match['value'])}"
        if head == "scalar_select":
            named = operation.arguments
            parts = [named.get(part, "0") for part in ("predicate", "on_true", "on_false")]
            guard, yes, no = (self._term(part) for part in parts)
            return f"({yes} if {guard} else {no})"
        if head == "pneg":
            return f"({self._term(operands[0])} ^ 1)"
        if head in ("int_to_ptr", "scalar_lea"):
            shown = [part.split("[resolvable")[0].split(" [#")[0].strip() or part for part in operands]
            shown = (
                [re.sub(r"^\[resolvable:\S+\]\s*", "", part) for part in operands] if head == "int_to_ptr" else shown
            )
            return "(" + " + ".join(self._term(part) for part in shown) + ") & W"
        if operation.dest in self._in_place:
            return "1"
        if head == "scmp" and len(operands) == 2:
            kind = name.split(".")
            left, right = (self._term(part) for part in operands)
            if "s32" in kind:
                left, right = f"({left} ^ S)", f"({right} ^ S)"
            return f"int({left} {_COMPARE[kind[1]]} {right})" if kind[1] in _COMPARE else "0"
        if head == "sc" and len(operands) == 2:
            left, right = (self._term(part) for part in operands)
            return f"int({left} + {right} > W)"
        if head in ("smin", "smax") and len(operands) == 2:
            left, right = (self._term(part) for part in operands)
            return f"({head[1:]}({left} ^ S, {right} ^ S) ^ S)" if "s32" in name else f"{head[1:]}({left}, {right})"
        if head == "sshra" and len(operands) == 2:
            left, right = (self._term(part) for part in operands)
            return f"((({left} ^ S) - S) >> ({right} & 31)) & W"
        if head in _BINARY and len(operands) == 2 and ".f32" not in name:
            return _BINARY[head].format(*(self._term(part) for part in operands))
        return "0"

    def _closure(self) -> set[str]:
        """The values that branches, copies and waits rest on, and which of them rest on what the dump does not tell."""
        self._temporary = {}
        self._stores = False
        makers: dict[str, Operation] = {}
        roots: list[str] = []
        stores: list[Operation] = []
        for bundle in self.listing.bundles:
            for operation in bundle.operations:
                if operation.dest:
                    makers[operation.dest] = operation
                if operation.name.startswith("sst"):
                    stores.append(operation)
                elif operation.name.startswith("sbr") or _kind(operation.name):
                    roots += _uses(operation)
        # An inout argument is donated: where XLA asks whether a result lies where its argument does, it does.
        self._in_place = {
            value
            for value, maker in makers.items()
            if maker.name.startswith("scmp.eq")
            and any(makers[used].name == "scalar_parameter_address" for used in _uses(maker) if used in makers)
        }
        needed: set[str] = set()
        while roots:
            value = roots.pop()
            if value in needed:
                continue
            needed.add(value)
            maker = makers.get(value)
            if maker is None:
                continue
            roots += _uses(maker)
            if maker.name.startswith("sld") and not self._stores:
                self._stores = True
                roots += [used for store in stores for used in _uses(store)]
        spills = {_address(store) for store in stores}
        for value in needed:
            maker = makers.get(value)
            if maker is not None and _untold(maker, spills):
                self.unknown.add(value)
        grown = True
        while grown:
            grown = False
            for value in needed - self.unknown - self._in_place:
                maker = makers.get(value)
                if maker is not None and any(used in self.unknown for used in _uses(maker)):
                    self.unknown.add(value)
                    grown = True
        return needed


def _plain(value: str) -> str:
    return re.sub(r"\W", "", value)


def _sorted(operations: Sequence[Operation]) -> list[Operation]:
    """Operations of a bundle, each after those of the bundle whose results it names."""
    left = list(operations)
    done: list[Operation] = []
    waiting = {operation.dest for operation in left if operation.dest}
    while left:
        ready = [o for o in left if not any(used in waiting and used != o.dest for used in _uses(o))]
        ready = ready or left[:1]
        for operation in ready:
            done.append(operation)
            left.remove(operation)
            waiting.discard(operation.dest)
    return done


def _kind(name: str) -> str:
    """What an operation does to the timeline; empty when nothing."""
    if name.startswith("dma.") and "wait" not in name:
        return "copy"
    if name.startswith(("dma.done.wait", "vwait.ge")):
        return "wait"
    if name.startswith("vsyncadd"):
        return "add"
    if name.startswith("vsyncpa"):
        return "set"
    return "call" if name == "inlined_call" else ""


def _uses(operation: Operation) -> list[str]:
    named = " ".join(value for key, value in operation.arguments.items() if key != "calls")
    found = _VALUE.findall(f"{operation.rest} {named}")
    return [*found, operation.predicate] if operation.predicate else found


def _address(operation: Operation) -> str:
    match = _MEMORY.match(operation.rest)
    return match["address"] if match else ""


def _untold(maker: Operation, spills: set[str]) -> bool:
    """Whether an operation brings a value that is not in the dump: from memory, from vectors, from floating point."""
    if maker.name.startswith("sld"):
        return _address(maker) not in spills
    return maker.name.startswith(("spop", "vtos", "sfloat")) or ".f32" in maker.name


def _compiled(lines: Sequence[str], result: str) -> Step:
    body = "".join(f"    {line}\n" for line in lines)
    text = f"def step(R, M):\n    taken = False\n{body}    return {result}\n"
    scope: dict[str, object] = {"W": WORD, "S": _SIGN}
    exec(text, scope)  # noqa: S102  (text that this module wrote, from registers and numbers alone)
    return scope["step"]  # type: ignore[return-value]  # the function that was just made
