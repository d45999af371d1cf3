"""Tables of values as C initializers."""

from __future__ import annotations

_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def _f8(code: int) -> float:
    exponent, mantissa = code >> 3 & 15, code & 7
    size = mantissa * 2.0**-9 if exponent == 0 else (8 + mantissa) * 2.0 ** (exponent - 10)
    return -size if code & 128 else size


def _f4(code: int) -> float:
    return -_E2M1[code & 7] if code & 8 else _E2M1[code]


def _literal(value: float) -> str:
    return f"{value!r}f"


def f8_values() -> str:
    """The values of all 256 f8e4m3 codes; the two NaN codes, which never occur, go on as numbers do."""
    rows = (", ".join(_literal(_f8(code)) for code in range(at, at + 8)) for at in range(0, 256, 8))
    return "".join(f"    {row},\n" for row in rows)


def f4_pairs() -> str:
    """The two values of all 256 bytes of packed e2m1, the low nibble first."""
    pairs = [f"{{{_literal(_f4(byte & 15))}, {_literal(_f4(byte >> 4))}}}" for byte in range(256)]
    return "".join("    " + ", ".join(pairs[at : at + 4]) + ",\n" for at in range(0, 256, 4))
