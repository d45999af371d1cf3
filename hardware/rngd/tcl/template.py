"""Programs with sizes left open: TCL has no macros, so that a text for several sizes has them filled in beforehand.

``${A}`` stands for a dimension of the kernel or a number; ``${A*B}``, ``${A/B}``, ``${A-B}`` and ``${A+B}`` are worked out.
A quotient that is no whole number is written as a decimal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...target import TargetError

_OPEN = re.compile(r"\$\{\s*(\w+)\s*(?:([-+*/])\s*(\w+)\s*)?\}", re.ASCII)


def filled(text: str, dimensions: Mapping[str, int]) -> str:
    """The text with everything filled in. Raises TargetError for a name that is no dimension."""

    def value(word: str) -> int:
        if word.isdigit():
            return int(word)
        if word not in dimensions:
            raise TargetError(f"a program asks for the dimension {word}, which its kernel has not")
        return dimensions[word]

    def one(match: re.Match[str]) -> str:
        left, sign, right = match.groups()
        if sign is None:
            return str(value(left))
        a, b = value(left), value(right)
        if sign == "/":
            return str(a // b) if b and a % b == 0 else repr(a / b)
        return str(a * b if sign == "*" else a - b if sign == "-" else a + b)

    return _OPEN.sub(one, text)
