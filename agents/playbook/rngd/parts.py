"""The parts that the decode kernels are made of: norms, products with stored weights, activation functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt

from .writer import Tensor, Writer, number

EPSILON = 1e-6
"""Added to the mean square in every RMSNorm of the model."""
F8_RANGE = 240.0
"""To what the largest element of an activation is scaled before it is taken apart into f8: the next power of two would
leave no room for what rounding adds below 448, the largest f8."""


def rms_norm(
    w: Writer, name: str, x: Tensor, weight: Tensor | None, dtype: str, passes: str, add: Tensor | None = None
) -> Tensor:
    """``x * rsqrt(mean(x**2) + epsilon) * weight (+ add)`` over the last axis of ``x``.

    ``passes`` is ``one`` (the sum and what follows in a single pass), or ``two`` (the sum of squares by itself).
    """
    axis = x.axes[-1]
    mean = [f"{{b}} * {number(1.0 / w.axes[axis])}", f"{{c}} + {number(EPSILON)}", "sqrt {d}"]
    more = [each for each in (weight, add) if each is not None]
    if passes == "one":
        body = ["{0} * {0}", f"+ t[{axis}] {{a}}", *mean, "{0} / {e}"]
        if weight is not None:
            body.append("{f} * {1}")
        if add is not None:
            body.append(f"{{{chr(ord('a') + len(body) - 1)}}} + {{{len(more)}}}")
        return w.operation(name, x.axes, dtype, "ReduceByVe", (x, *more), body)
    squares = ["{0} * {0}", f"+ t[{axis}] {{a}}", *mean]
    root = w.operation(f"{name}_rms", x.axes[:-1], "f32", "ReduceByVe", (x,), squares)
    body = ["{0} / {1}"]
    if weight is not None:
        body.append("{a} * {2}")
    if add is not None:
        body.append(f"{{{chr(ord('a') + len(body) - 1)}}} + {{{len(more) + 1}}}")
    return w.operation(name, x.axes, dtype, "Elementwise", (x, root, *more), body)


def taken_apart(w: Writer, name: str, x: Tensor) -> tuple[Tensor, Tensor]:
    """An activation as two f8 vectors that add up to it, [TWO, K], and the f32 factor that undoes their scaling.

    A bf16 number has 8 significant bits, and two f8 numbers of 4 bits hold them. The scale is the largest magnitude, so that
    only elements far below it lose bits, and those do not show in a sum.
    """
    axis = x.axes[-1]
    two, one = w.axis("TWO", 2), w.axis("ONE", 1)
    largest = w.operation(f"{name}_max", (), "f32", "ReduceByVe", (x,), ["abs_f {0}", f"max_f t[{axis}] {{a}}"])
    body = ["{0} / {1}", f"{{a}} * {number(F8_RANGE)}"]
    scaled = w.operation(f"{name}_scaled", x.axes, "f32", "Elementwise", (x, largest), body)
    high = w.operation(f"{name}_high", x.axes, "f8_e4", "Elementwise", (x, largest), body)
    low = w.operation(f"{name}_low", x.axes, "f8_e4", "Interleaving", (scaled, high), ["{0} - {1}"])
    halves = [w.reshape(f"{each.name}_row", each, (one, axis)) for each in (high, low)]
    factor = w.operation(f"{name}_factor", (), "f32", "Elementwise", (largest,), [f"{{0}} * {number(1.0 / F8_RANGE)}"])
    return w.concat(f"{name}_halves", halves, (two, axis)), factor


def chunk_axis(w: Writer, rows: str, chunks: int) -> str:
    """The axis of one of ``chunks`` equal parts of ``rows``."""
    return rows if chunks == 1 else w.axis(f"{rows}_{chunks}", w.axes[rows] // chunks)


def f8_product(
    w: Writer, name: str, x: Tensor, matrix: Tensor, scale: Tensor, levers: Mapping[str, str | int]
) -> Tensor:
    """``(matrix @ x) * scale`` as f32 [rows]: f8 weights [rows, columns], a bf16 activation [columns]."""
    return _in_chunks(w, name, matrix, scale, levers, lambda label, m, s: _f8_rows(w, label, x, m, s, levers))


def _f8_rows(w: Writer, name: str, x: Tensor, matrix: Tensor, scale: Tensor, levers: Mapping[str, str | int]) -> Tensor:
    flat, dtype = matrix.axes[0], str(levers["between"])
    width = int(levers["row_axis"])
    rows: tuple[str, ...] = (flat,)
    if width and w.axes[flat] > width and w.axes[flat] % width == 0:
        rows = (w.axis(f"{flat}_OUTER", w.axes[flat] // width), w.axis("ROW_INNER", width))
        matrix = w.reshape(f"{name}_matrix", matrix, (*rows, matrix.axes[1]))
        scale = w.reshape(f"{name}_factors", scale, rows)
    if levers["scale"] == "epilogue":
        return w.reshape(f"{name}_whole", _f8_pass(w, name, x, matrix, (scale,), dtype, levers), (flat,))
    bare = _f8_pass(w, f"{name}_bare", x, matrix, (), "f32", levers)
    product = w.operation(name, rows, dtype, "Interleaving", (bare, scale), ["{0} * {1}"])
    return w.reshape(f"{name}_whole", product, (flat,))


def _f8_pass(
    w: Writer,
    name: str,
    x: Tensor,
    matrix: Tensor,
    factors: tuple[Tensor, ...],
    dtype: str,
    levers: Mapping[str, str | int],
) -> Tensor:
    """The product by the engine of the levers, times ``factors`` (over the rows, or single numbers) in the same pass."""
    *rows, columns = matrix.axes
    engine = levers["engine"]
    if engine == "vector":
        first = levers["stream"] == "activation"
        reads = (x, matrix, *factors) if first else (matrix, x, *factors)
        body = _times(["{0} * {1}", f"+ t[{columns}] {{a}}"], len(factors))
        return w.operation(name, rows, dtype, "EinsumByVe" if first else "ReduceByVe", reads, body)
    if engine == "widen":
        wide = w.operation(f"{name}_wide", matrix.axes, "bf16", "Elementwise", (matrix,), [])
        body = _times([f"{{0}}, {{1}} -> [{', '.join(rows)}]"], len(factors))
        return w.operation(name, rows, dtype, "EinsumByDpe", (x, wide, *factors), body)
    halves, factor = _halves(w, x)
    factors, two = (*factors, factor), halves.axes[0]
    if levers["halves"] == "together":
        body = _times([f"{{0}}, {{1}} -> [{', '.join(rows)}]"], len(factors))
        return w.operation(name, rows, dtype, "EinsumByDpe", (halves, matrix, *factors), body)
    body = _times([f"{{0}}, {{1}} -> [{', '.join((two, *rows))}]"], len(factors))
    both = w.operation(f"{name}_both", (two, *rows), "f32", "EinsumByDpe", (halves, matrix, *factors), body)
    return w.operation(name, rows, dtype, "ReduceByVe", (both,), [f"+ t[{two}] {{0}}"])


def _times(body: list[str], factors: int) -> list[str]:
    """``body`` and multiplications of its last result by what is read after the two operands."""
    for index in range(factors):
        body.append(f"{{{chr(ord('a') + len(body) - 1)}}} * {{{index + 2}}}")
    return body


def _halves(w: Writer, x: Tensor) -> tuple[Tensor, Tensor]:
    """An activation taken apart: once, however many products it goes into."""
    if x.name not in w.apart:
        w.apart[x.name] = taken_apart(w, x.name, x)
    return w.apart[x.name]


def f4_product(
    w: Writer, name: str, x: Tensor, packed: Tensor, scales: Tensor, total: Tensor, levers: Mapping[str, str | int]
) -> Tensor:
    """``(values * scales) @ x * total`` as f32 [rows]: NVFP4 weights, a bf16 activation [columns].

    ``packed`` is u8 [rows, columns/2], ``scales`` f8 [rows, columns/16], ``total`` f32 [].
    """
    columns = x.axes[-1]
    group, blocks = w.axis("GROUP", 16), scales.axes[1]

    def part(label: str, bytes_: Tensor, scale: Tensor) -> Tensor:
        rows = bytes_.axes[0]
        values = w.graph(f"{label}_values", (rows, columns), "f4_e2", f"transmute({bytes_.name})")
        grouped = w.reshape(f"{label}_groups", values, (rows, blocks, group))
        if levers["engine"] == "vector":
            activation = w.reshape(f"{x.name}_groups", x, (blocks, group))
            body = ["{0} * {1}", "{a} * {2}", f"+ t[{blocks} {group}] {{b}}", "{c} * {3}"]
            # f4 has to be the operand that streams: the compiler panics when it lowers a pass that reads it second.
            reads = (grouped, activation, scale, total)
            return w.operation(label, (rows,), "f32", "ReduceByVe", reads, body)
        wide = w.operation(f"{label}_wide", grouped.axes, "bf16", "Elementwise", (grouped, scale), ["{0} * {1}"])
        flat = w.reshape(f"{label}_flat", wide, (rows, columns))
        body = [f"{{0}}, {{1}} -> [{rows}]", "{a} * {2}"]
        return w.operation(label, (rows,), "f32", "EinsumByDpe", (x, flat, total), body)

    return _in_chunks(w, name, packed, scales, levers, part)


def _in_chunks(
    w: Writer,
    name: str,
    matrix: Tensor,
    scale: Tensor,
    levers: Mapping[str, str | int],
    part: Callable[[str, Tensor, Tensor], Tensor],
) -> Tensor:
    """The rows of a product in equal parts, so that one is worked on while the next is moved in."""
    chunks = int(levers["chunks"])
    rows = matrix.axes[0]
    if chunks == 1:
        return part(name, matrix, scale)
    axis = chunk_axis(w, rows, chunks)
    done = []
    for index in range(chunks):
        start = index * w.axes[axis]
        label = f"{name}_{index}"
        weights = w.rows(f"{label}_weights", matrix, axis, start)
        done.append(part(label, weights, w.rows(f"{label}_scales", scale, axis, start)))
    return w.concat(name, done, (rows,))


def gated_gelu(w: Writer, name: str, gate: Tensor, up: Tensor) -> Tensor:
    """``gelu_tanh(gate) * up`` as bf16: the tanh approximation (Hendrycks and Gimpel, 2016)."""
    body = [
        "{0} * {0}",
        f"{{a}} * {number(0.044715)}",
        f"{{b}} + {number(1.0)}",
        "{c} * {0}",
        f"{{d}} * {number(sqrt(2.0 / pi))}",
        "tanh {e}",
        f"{{f}} + {number(1.0)}",
        "{g} * {0}",
        f"{{h}} * {number(0.5)}",
        "{i} * {1}",
    ]
    return w.operation(name, gate.axes, "bf16", "Elementwise", (gate, up), body)
