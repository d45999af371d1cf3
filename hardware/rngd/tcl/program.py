"""A TCL program as far as this package has to understand it: its axes, its arguments, and what each statement reads.

The grammar is the vendor's; only what its compiler takes as well is accepted here, and much of that is not. What is
needed of it: to hold a design to its kernel's signature, to know how many elements the vector engine works on, and to take
a program apart for learning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

MAX_STATEMENTS = 400
"""The largest number of statements that is looked at."""

_AXIS = re.compile(r"([A-Z]\w*): Axis = (.+)", re.ASCII)
_TENSOR = re.compile(r"([A-Za-z_]\w*): \[([\w, ]*)\]/(\w+)", re.ASCII)
_RESULT = re.compile(r"\[([\w, ]*)\]/(\w+)", re.ASCII)
_HEAD = re.compile(r"def ([A-Za-z_]\w*)\((.*)\) -> (.+):", re.ASCII)
_STATEMENT = re.compile(r"([A-Za-z_]\w*): \[([\w, ]*)\]/(\w+) = (.+)", re.ASCII)
_TACTIC = re.compile(r"tk\.([A-Za-z]\w*)\(", re.ASCII)
_READ = re.compile(r"%(\d+) = read\(\s*([A-Za-z_]\w*)\s*([,)].*)", re.ASCII)
_CALL = re.compile(r"([a-z_]\w*)\((.*)\)", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PRODUCT = re.compile(r"\(?\s*([A-Z]\w*|\d+)\s*([*/])\s*([A-Z]\w*|\d+)\s*\)?", re.ASCII)


class ProgramError(ValueError):
    """A text that is no program of the kind that is understood here. The message begins with its line."""


@dataclass(frozen=True)
class Tensor:
    """A named tensor: its axes by name, outermost first, and its element type in TCL's spelling."""

    name: str
    axes: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Statement:
    """One statement: ``result`` from ``operation``, which is a tactic of a tensor operation, or a graph operation.

    ``reads`` are the tensors that it reads, in order. ``body`` are the lines of a tensor operation, without indentation.
    """

    result: Tensor
    operation: str
    reads: tuple[str, ...]
    body: tuple[str, ...]
    line: int

    @property
    def is_tensor_operation(self) -> bool:
        """Whether it is a pass of the tensor unit (``tk.…``), not a view or a move."""
        return bool(self.body)


@dataclass(frozen=True)
class Program:
    """A function of TCL. ``returned`` is the name of the tensor that it returns."""

    name: str
    axes: Mapping[str, int]
    arguments: tuple[Tensor, ...]
    result: Tensor
    statements: tuple[Statement, ...]
    returned: str

    def tensor(self, name: str) -> Tensor | None:
        """The argument or the result of a statement called ``name``."""
        for tensor in (*self.arguments, *(each.result for each in self.statements)):
            if tensor.name == name:
                return tensor
        return None

    def elements(self, axes: tuple[str, ...]) -> int:
        """How many elements a tensor over ``axes`` has."""
        return prod(self.axes[axis] for axis in axes)

    def worked_on(self, statement: Statement) -> int:
        """Elements of the largest tensor that a tensor operation handles: over all axes that it reads or writes."""
        axes = dict.fromkeys(statement.result.axes)
        for name in statement.reads:
            tensor = self.tensor(name)
            axes.update(dict.fromkeys(tensor.axes if tensor is not None else ()))
        return self.elements(tuple(axes))


def without_comments(text: str) -> str:
    """The program without comments, trailing blanks and empty lines: what identifies it."""
    lines = (re.sub(r"#.*", "", line).rstrip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines if line)


def parse(text: str) -> Program:
    """Take a program apart. Raises ProgramError for anything that is not understood."""
    lines = [(number, re.sub(r"#.*", "", line).strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line]
    while lines and lines[0][1].startswith("@"):
        lines.pop(0)  # configuration of the compiler: no part of what is computed
    head, number, rest = _head(lines)
    match = _HEAD.fullmatch(head)
    if match is None:
        raise ProgramError(f"line {number}: expected `def NAME(AXIS: Axis = SIZE, …, ARGUMENT: [AXES]/TYPE, …) -> …:`")
    name, listed, result = match.groups()
    axes, arguments = _signature(listed, number)
    returns = _RESULT.fullmatch(result.strip())
    if returns is None:
        raise ProgramError(f"line {number}: one result is expected, as [AXES]/TYPE, not {result.strip()!r}")
    statements, returned = _body(rest, axes)
    result_tensor = Tensor("", _axes(returns.group(1), axes, number), returns.group(2))
    return Program(name, axes, arguments, result_tensor, statements, returned)


def _head(lines: list[tuple[int, str]]) -> tuple[str, int, list[tuple[int, str]]]:
    """The head of the function on one line, the number of its first line, and the lines after it."""
    if not lines or not lines[0][1].startswith("def "):
        raise ProgramError("line 1: a program begins with `def`")
    head = ""
    for index, (_, line) in enumerate(lines):
        head = f"{head} {line}".strip()
        if line.endswith(":"):
            return re.sub(r"\(\s+", "(", re.sub(r"\s+\)", ")", head)), lines[0][0], lines[index + 1 :]
    raise ProgramError(f"line {lines[0][0]}: the head of the function does not end with `:`")


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [part for part in (*parts, current.strip()) if part]


def _signature(listed: str, number: int) -> tuple[dict[str, int], tuple[Tensor, ...]]:
    axes: dict[str, int] = {}
    arguments: list[Tensor] = []
    for part in _split(listed):
        axis, tensor = _AXIS.fullmatch(part), _TENSOR.fullmatch(part)
        if axis is not None:
            if axis.group(1) in axes:
                raise ProgramError(f"line {number}: axis {axis.group(1)} is declared twice")
            axes[axis.group(1)] = _size(axis.group(2), axes, number)
        elif tensor is not None:
            name, over, dtype = tensor.groups()
            if any(each.name == name for each in arguments):
                raise ProgramError(f"line {number}: argument {name} is declared twice")
            arguments.append(Tensor(name, _axes(over, axes, number), dtype))
        else:
            raise ProgramError(f"line {number}: {part!r} is neither an axis with its size nor a tensor")
    return axes, tuple(arguments)


def _size(text: str, axes: Mapping[str, int], number: int) -> int:
    product = _PRODUCT.fullmatch(text.strip())

    def value(word: str) -> int:
        if word.isdigit() and len(word) < 12:
            return int(word)
        if word not in axes:
            raise ProgramError(f"line {number}: {text.strip()!r} is no size: {word} is not an axis declared before")
        return axes[word]

    if product is None:
        size = value(text.strip())
    else:
        left, sign, right = value(product.group(1)), product.group(2), value(product.group(3))
        if sign == "/" and (right == 0 or left % right):
            raise ProgramError(f"line {number}: {text.strip()!r} is no whole number")
        size = left * right if sign == "*" else left // right
    if size < 1:
        raise ProgramError(f"line {number}: an axis has at least one element, not {size}")
    return size


def _axes(text: str, axes: Mapping[str, int], number: int) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in names:
        if name not in axes:
            raise ProgramError(f"line {number}: axis {name} is not declared")
    return names


def _body(lines: list[tuple[int, str]], axes: dict[str, int]) -> tuple[tuple[Statement, ...], str]:
    statements: list[Statement] = []
    index = 0
    while index < len(lines):
        number, line = lines[index]
        if line.startswith("return "):
            returned = line.removeprefix("return ").strip()
            if not _NAME.fullmatch(returned):
                raise ProgramError(f"line {number}: one tensor is returned by its name, not {returned!r}")
            if index + 1 < len(lines):
                raise ProgramError(f"line {lines[index + 1][0]}: nothing may follow the return")
            return tuple(statements), returned
        declared = _AXIS.fullmatch(line)
        if declared is not None:
            axes[declared.group(1)] = _size(declared.group(2), axes, number)
            index += 1
            continue
        statement, index = _statement(lines, index, axes)
        statements.append(statement)
        if len(statements) > MAX_STATEMENTS:
            raise ProgramError(f"line {number}: more than {MAX_STATEMENTS} statements")
    raise ProgramError("line 1: the function returns nothing")


def _statement(lines: list[tuple[int, str]], index: int, axes: Mapping[str, int]) -> tuple[Statement, int]:
    number, line = lines[index]
    match = _STATEMENT.fullmatch(line)
    if match is None:
        raise ProgramError(f"line {number}: expected `NAME: [AXES]/TYPE = …`, not {line!r}")
    name, over, dtype, right = match.groups()
    result = Tensor(name, _axes(over, axes, number), dtype)
    tactic = _TACTIC.fullmatch(right)
    if tactic is not None:
        body, after = _operation(lines, index + 1)
        reads = tuple(m.group(2) for m in map(_READ.fullmatch, body) if m is not None)
        return Statement(result, tactic.group(1), reads, body, number), after
    call = _CALL.fullmatch(right)
    if call is None:
        raise ProgramError(f"line {number}: {right!r} is neither a tensor operation nor a graph operation")
    words = re.findall(r"(?<![\w.])([a-z_]\w*)(?!\w|\s*=)", call.group(2), re.ASCII)
    return Statement(result, call.group(1), tuple(words), (), number), index + 1


def _operation(lines: list[tuple[int, str]], index: int) -> tuple[tuple[str, ...], int]:
    """The lines inside ``tk.…( … )``, each instruction on one line, and the index after the closing bracket."""
    body: list[str] = []
    depth, current, begun = 1, "", lines[index][0] if index < len(lines) else 0
    while index < len(lines):
        _, line = lines[index]
        depth += sum(line.count(c) for c in "([{") - sum(line.count(c) for c in ")]}")
        index += 1
        if depth <= 0:
            if line != ")" or current:
                raise ProgramError(f"line {lines[index - 1][0]}: a tensor operation ends with `)` on a line of its own")
            return tuple(body), index
        current = f"{current} {line}".strip()
        if depth == 1:
            body.append(re.sub(r"\(\s+", "(", re.sub(r",?\s+\)", ")", current)))
            current = ""
    raise ProgramError(f"line {begun}: a tensor operation is not closed")
