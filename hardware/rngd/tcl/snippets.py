"""Short pieces of TCL as designs: programs of a toy kernel, and the small programs that the probes are made of."""

from __future__ import annotations

import re

from ....kernels.spec import KernelSpec
from ...snippets import snippet_kernel

LENGTH = 65536
"""Elements of the vectors ``x`` and ``y`` of a snippet."""
ENTRY = "snippet"
_HEAD = f"def {ENTRY}(N: Axis = {LENGTH}, x: [N]/f32) -> [N]/f32:\n"
_DOUBLE = """    y: [N]/f32 = tk.Elementwise(
        %0 = read(x)
        %1 = ve.exec(%0 * f2.0)
        write.to([N]/f32)
    )
"""


def snippet_spec() -> KernelSpec:
    """The kernel that snippets stand in for: y[N] from x[N], float32; its own values are y = 2 x."""
    return snippet_kernel(ENTRY, "N", LENGTH, {"rngd": f"{_HEAD}{_DOUBLE}    return y\n"})


def complete(snippet: str) -> tuple[str, ...]:
    """Whole sources that a snippet of TCL may be meant as: itself, the body of the entry, one tensor operation of it."""
    text = "\n".join(line.rstrip() for line in snippet.strip("\n").splitlines()) + "\n"
    if re.search(r"(?m)^def \w+\(", text):
        return (text,)
    indented = "".join(f"    {line}\n" if line.strip() else "\n" for line in text.splitlines())
    if re.search(r"(?m)^\s*return \w+", text):
        return (f"{_HEAD}{indented}",)
    named = re.findall(r"(?m)^([A-Za-z_]\w*): \[", text)
    if named:
        return (f"{_HEAD}{indented}    return {named[-1]}\n",)
    inner = "".join(f"        {line.strip()}\n" for line in text.splitlines() if line.strip())
    write = "" if "write.to" in text else "        write.to([N]/f32)\n"
    return tuple(
        f"{_HEAD}    y: [N]/f32 = tk.{tactic}(\n{inner}{write}    )\n    return y\n"
        for tactic in ("Elementwise", "TensorOperation")
    )


def streaming_program(rows: int, columns: int, dtype: str) -> str:
    """A program that moves a matrix in and as little else as possible: the sum of each row, which is one pass."""
    cast = "" if dtype in ("f32",) else ", typecast_to=f32"
    return (
        f"def probe(N: Axis = {rows}, K: Axis = {columns}, w: [N, K]/{dtype}) -> [N]/f32:\n"
        f"    y: [N]/f32 = tk.ReduceByVe(\n        %0 = read(w{cast})\n        %1 = ve.exec(+ t[K] %0)\n"
        "        write.to([N]/f32)\n    )\n    return y\n"
    )


def contraction_program(rows: int, columns: int, dtype: str, tokens: int = 1) -> str:
    """A matrix times vectors by the contraction engine: both operands of ``dtype``."""
    return (
        f"def probe(M: Axis = {tokens}, N: Axis = {rows}, K: Axis = {columns}, x: [M, K]/{dtype}, w: [N, K]/{dtype})"
        " -> [M, N]/bf16:\n    y: [M, N]/bf16 = tk.EinsumByDpe(\n        %0 = read(x)\n        %1 = read(w)\n"
        "        %2 = dpe.exec(%0, %1 -> [M, N])\n        write.to([M, N]/bf16)\n    )\n    return y\n"
    )
