"""What must happen to a snippet: it builds, it is refused (and what is said), it yields a value, it costs so much.

In documentation a code block says so behind its language: ``builds``, ``refused``, ``refused="words of the diagnostic"``,
``yields="2 * x + i"`` (what ``y[i]`` must hold), ``costs="0.8..1.3 plain"`` (its time over that of the block with
``name=plain``). A block that says nothing is taken to build.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["builds", "refused", "yields", "costs"]
KINDS: tuple[Kind, ...] = ("builds", "refused", "yields", "costs")


class ExpectationError(ValueError):
    """An expectation that cannot be read. The message says what was expected instead."""


@dataclass(frozen=True)
class Expectation:
    """``text`` is the diagnostic's words, the expression, or ``low..high name``; ``name`` is what others call the block."""

    kind: Kind
    text: str = ""
    name: str = ""

    def as_dict(self) -> dict[str, str]:
        """Plain data for an event."""
        return {"kind": self.kind, "text": self.text, "name": self.name}

    @classmethod
    def from_dict(cls, data: Mapping[str, str]) -> Expectation:
        """The expectation in an event; raises ExpectationError."""
        kind = data.get("kind", "")
        for known in KINDS:
            if kind == known:
                return cls(known, data.get("text", ""), data.get("name", ""))
        raise ExpectationError(f"unknown expectation {kind!r}; known: {', '.join(KINDS)}")


def parse_info(info: str) -> tuple[str, Expectation | None]:
    """Language and expectation of a code block from what it is marked with; None where it says nothing.

    Raises ExpectationError for an expression or a cost that cannot be read.
    """
    try:
        words = shlex.split(info)
    except ValueError as error:
        raise ExpectationError(f"{info!r}: {error}") from error
    language = words[0].strip("{}.").lower() if words else ""
    kind: Kind | None = None
    text = name = ""
    for word in words[1:]:
        key, _, value = word.partition("=")
        if key == "name":
            name = value
        for known in KINDS:
            if key == known:
                kind, text = known, value
    if kind is None:
        return language, Expectation("builds", name=name) if name else None
    if kind == "yields":
        compile_expression(text)
    if kind == "costs":
        parse_cost(text)
    return language, Expectation(kind, text, name)


def parse_cost(text: str) -> tuple[float, float, str]:
    """``low..high name`` as numbers (ratios of times) and the name of the block compared with."""
    match = re.fullmatch(r"\s*([\d.]+?)\.\.([\d.]+)\s+(?:x\s+)?([\w-]+)\s*", text)
    if match is None:
        raise ExpectationError(f"a cost is written low..high name (0.8..1.3 plain), not {text!r}")
    low, high = float(match.group(1)), float(match.group(2))
    if not 0 < low <= high:
        raise ExpectationError(f"the bounds of {text!r} are not in order")
    return low, high, match.group(3)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "floor": np.floor,
    "rint": np.rint,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "where": np.where,
    "reversed": lambda x: x[::-1],
    "cumsum": np.cumsum,
    "sum": np.sum,
}
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less,
    ast.Gt: np.greater,
    ast.LtE: np.less_equal,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
}

Expression = Callable[[NDArray[Any]], NDArray[np.float64]]


def compile_expression(text: str) -> Callable[[NDArray[Any], Any], NDArray[np.float64]]:
    """An expression in ``x`` (the input vector), ``i`` (the index) and ``n`` (the length) as a function.

    The function takes the vector and the dtype to compute in, and gives float64. Only arithmetic, comparisons and the
    functions named here are understood; nothing is ever executed as Python. Raises ExpectationError.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ExpectationError(f"{text!r} is not an expression: {error.msg}") from error
    _check(tree)

    def evaluate(x: NDArray[Any], dtype: Any) -> NDArray[np.float64]:
        names = {"x": x.astype(dtype), "i": np.arange(x.size).astype(dtype), "n": dtype(x.size)}
        return np.broadcast_to(np.asarray(_value(tree, names, dtype), dtype=np.float64), x.shape).copy()

    return evaluate


def _check(node: ast.AST) -> None:
    match node:
        case ast.BinOp(op=op) if type(op) in _BINARY:
            _check(node.left)
            _check(node.right)
        case ast.UnaryOp(op=ast.USub()):
            _check(node.operand)
        case ast.Compare(ops=[op], comparators=[right]) if type(op) in _COMPARE:
            _check(node.left)
            _check(right)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            for argument in node.args:
                _check(argument)
        case ast.Name(id="x" | "i" | "n"):
            pass
        case ast.Constant(value=int() | float()):
            pass
        case _:
            known = ", ".join(_FUNCTIONS)
            raise ExpectationError(
                f"{ast.unparse(node)!r} is not understood; use x, i, n, numbers, + - * / % **, {known}"
            )


def _value(node: ast.AST, names: Mapping[str, Any], dtype: Any) -> Any:
    match node:
        case ast.BinOp():
            return _BINARY[type(node.op)](_value(node.left, names, dtype), _value(node.right, names, dtype))
        case ast.UnaryOp():
            return -_value(node.operand, names, dtype)
        case ast.Compare():
            right = _value(node.comparators[0], names, dtype)
            return _COMPARE[type(node.ops[0])](_value(node.left, names, dtype), right)
        case ast.Call(func=ast.Name(id=name)):
            return _FUNCTIONS[name](*(_value(argument, names, dtype) for argument in node.args))
        case ast.Name(id=name):
            return names[name]
        case ast.Constant(value=value):
            return dtype(value)
    raise AssertionError(f"{type(node).__name__} passed the check and has no value")
