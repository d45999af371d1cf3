"""Pairs of designs of which one is better by argument: the estimate has to say so.

All compute ``y[8, N] = x[8, K] w[N, K]^T`` or something of that size; values are not compared, so that a design may leave
out what its argument does not need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from kernelwright.kernels.spec import Argument, Expected, Inputs, KernelSpec, Tolerance

N, K = 4096, 1024
_HEAD = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""
_DOT = "lax.dot_general({0}, {1}, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)"
_PLAIN = "    y[...] = " + _DOT.format("x[...]", "w[...]") + "\n"


def product(dtype: str = "bf16") -> KernelSpec:
    """The kernel that the pairs stand in for."""
    nothing: Inputs = {}

    def zero(_inputs: Inputs) -> Expected:
        return {"y": np.zeros((8, N))}

    return KernelSpec(
        name="product",
        summary="a product of eight rows with a matrix",
        dimensions={"N": N, "K": K},
        arguments=(
            Argument("x", "bf16", (8, K)),
            Argument("w", dtype, (N, K), role="weight"),
            Argument("y", "f32", (8, N), "out"),
        ),
        tolerance=Tolerance(1.0, 1.0),
        reference=zero,
        rounded=zero,
        draw_weights=lambda _rng: nothing,
        draw_activations=lambda _rng, _family: nothing,
        families=("none",),
        streamed=("w",),
    )


def gridded(
    body: str, rows: int = 512, *, mode: str = "", scratch: str = "", call: str = "(x, w)", first: str = ""
) -> str:
    """A design over a grid of blocks of ``rows`` rows of the matrix, with a kernel's ``body``."""
    names = "x, w, y" + (", s" if scratch else "")
    extra = f"        scratch_shapes=[{scratch}],\n" if scratch else ""
    return f"""{_HEAD}
def kernel({names}):
{body}
def product(x, w):
{first}    return pl.pallas_call(
        kernel,
        grid=(N // {rows},),
        in_specs=[
            pl.BlockSpec((8, K), lambda i: (0, 0)),
            pl.BlockSpec(({rows}, K), lambda i: (i, 0){mode}),
        ],
        out_specs=pl.BlockSpec((8, {rows}), lambda i: (0, i)),
        out_shape=jax.ShapeDtypeStruct((8, N), jnp.float32),
{extra}    ){call}
"""


def manual(body: str, buffers: int) -> str:
    """A design that copies blocks of 512 rows itself, into ``buffers`` buffers."""
    return f"""{_HEAD}
def kernel(x, w, y, b, sem):
    def copy(i):
        return pltpu.make_async_copy(w.at[pl.ds(i * 512, 512), :], b.at[i % {buffers}], sem.at[i % {buffers}])
{body}
def product(x, w):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM), pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
        out_shape=jax.ShapeDtypeStruct((8, N), jnp.float32),
        scratch_shapes=[pltpu.VMEM(({buffers}, 512, K), w.dtype), pltpu.SemaphoreType.DMA(({buffers},))],
    )(x, w)
"""


def over(grid: str, w_map: str, block: str, y_map: str, y_block: str, body: str) -> str:
    """A design over a grid of its own."""
    return f"""{_HEAD}
def kernel(x, w, y):
{body}
def product(x, w):
    return pl.pallas_call(
        kernel,
        grid={grid},
        in_specs=[pl.BlockSpec((8, K), lambda *_: (0, 0)), pl.BlockSpec({block}, {w_map})],
        out_specs=pl.BlockSpec({y_block}, {y_map}),
        out_shape=jax.ShapeDtypeStruct((8, N), jnp.float32),
    )(x, w)
"""


@dataclass(frozen=True)
class Pair:
    """A better and a worse design, and why. ``types`` are of the matrix, ``chips`` what each is compiled for."""

    why: str
    better: str
    worse: str
    types: tuple[str, str] = ("bf16", "bf16")
    chips: tuple[str, str] = ("v5e", "v5e")


_TURN = "        y[:, pl.ds(i * 512, 512)] = " + _DOT.format("x[...]", "b[i % {0}]") + "\n        return c\n"
_DRIVE = "    lax.fori_loop(0, 8, turn, 0)\n"
_SEQUENTIAL = "    def turn(i, c):\n        copy(i).start()\n        copy(i).wait()\n" + _TURN.format(1) + _DRIVE
_AHEAD = (
    "    copy(0).start()\n    def turn(i, c):\n        @pl.when(i < 7)\n        def ahead():\n"
    "            copy(i + 1).start()\n        copy(i).wait()\n" + _TURN.format(2) + _DRIVE
)
_PIECES = (
    "    k = pl.program_id(1)\n    @pl.when(k == 0)\n    def clear():\n        y[...] = jnp.zeros_like(y)\n    y[...] += "
    + _DOT.format("x[:, pl.ds(pl.multiple_of(k * 128, 128), 128)]", "w[...]")
    + "\n"
)
_FEW = "    y[...] = jnp.zeros_like(y)\n    def turn(i, c):\n        y[:, 0:128] += x[:, 0:128].astype(jnp.float32)\n        return c\n"
_BLOCK = "lambda i: (i, 0)"
_HALF = over("(N // 512,)", _BLOCK, "(512, K)", "lambda i: (0, i)", "(8, 512)", _PLAIN)
PLAIN = gridded(_PLAIN)
PAIRS: dict[str, Pair] = {
    "bytes": Pair("f32 weights are twice the bytes of bf16", PLAIN, gridded(_PLAIN.replace("w[...]", "w[...].astype(jnp.bfloat16)")), ("bf16", "f32")),
    "f8": Pair("f8 weights are half the bytes, and converting them keeps up", gridded(_PLAIN.replace("w[...]", "w[...].astype(jnp.bfloat16)")), PLAIN, ("f8e4m3", "bf16")),
    "twice": Pair(
        "the weights pass by twice",
        PLAIN,
        over("(2, N // 512)", "lambda r, i: (i, 0)", "(512, K)", "lambda r, i: (0, i)", "(8, 512)", _PLAIN),
    ),
    "buffers": Pair("one buffer: a copy waits for the work, and the work for the copy", PLAIN, gridded(_PLAIN, mode=", pipeline_mode=pl.Buffered(1)")),
    "tiny blocks": Pair(
        "each step of a grid costs its own",
        PLAIN,
        over("(N // 128, K // 128)", "lambda i, k: (i, k)", "(128, 128)", "lambda i, k: (0, i)", "(8, 128)", _PIECES),
    ),
    "first block": Pair("nothing is overlapped with the copy of the one block", PLAIN, gridded(_PLAIN, 4096)),
    "wasted copy": Pair("the block is copied to scratch first", PLAIN, gridded("    s[...] = w[...]\n" + _PLAIN.replace("w[...]", "s[...]"), scratch="pltpu.VMEM((512, K), jnp.bfloat16)")),
    "copy outside": Pair("the matrix is copied by XLA before the kernel", PLAIN, gridded(_PLAIN, first="    w = jnp.abs(w)\n")),
    "cast outside": Pair("the matrix is widened by XLA before the kernel", PLAIN, gridded(_PLAIN.replace("w[...]", "w[...].astype(jnp.bfloat16)"), first="    w = w.astype(jnp.float32)\n")),
    "work after": Pair("the result goes through XLA once more", PLAIN, PLAIN.replace("    return pl.pallas_call(", "    y = pl.pallas_call(") + "    return jnp.tanh(y.reshape(N, 8)).reshape(8, N)\n"),
    "two kernels": Pair("the result is written and read once more", PLAIN, PLAIN.replace("    return pl.pallas_call(", "    y = pl.pallas_call(") + "    def again(a, b):\n        b[...] = a[...] * 2.0\n    return pl.pallas_call(again, out_shape=jax.ShapeDtypeStruct((8, N), jnp.float32))(y)\n"),
    "manual ahead": Pair("the next copy runs while the last block is worked on", manual(_AHEAD, 2), manual(_SEQUENTIAL, 1)),
    "vector unit": Pair(
        "the vector unit does eight times what the matrix unit does at once",
        PLAIN,
        gridded("    wf = w[...].astype(jnp.float32)\n    for r in range(8):\n        y[r, :] = jnp.sum(wf * x[r:r + 1, :].astype(jnp.float32), axis=1)\n"),
    ),
    "precision": Pair("a product in f32 takes several passes", PLAIN, gridded("    y[...] = lax.dot_general(x[...].astype(jnp.float32), w[...].astype(jnp.float32), (((1,), (1,)), ((), ())), precision=lax.Precision.HIGHEST, preferred_element_type=jnp.float32)\n")),
    "work twice": Pair("everything is computed twice", PLAIN, gridded("    z = " + _DOT.format("x[...] + x[...]", "w[...]") + "\n" + _PLAIN.replace("y[...] = ", "y[...] = z + "))),
    "exponentials": Pair("an exponential of every weight", PLAIN, gridded(_PLAIN.replace("w[...]", "jnp.exp(w[...].astype(jnp.float32)).astype(jnp.bfloat16)"))),
    "rolled lanes": Pair("every weight goes through the cross-lane unit", PLAIN, gridded(_PLAIN.replace("w[...]", "pltpu.roll(w[...].astype(jnp.float32), 3, 1).astype(jnp.bfloat16)"))),
    "half": Pair(
        "half of the matrix is never read",
        over("(N // 512,)", "lambda i: (i // 2, 0)", "(512, K)", "lambda i: (0, i)", "(8, 512)", _PLAIN),
        _HALF,
    ),
    "grid order": Pair(
        "the inner dimension keeps the block of weights",
        over("(N // 512, 2)", "lambda i, r: (i, 0)", "(512, K)", "lambda i, r: (0, i)", "(8, 512)", _PLAIN),
        over("(2, N // 512)", "lambda r, i: (i, 0)", "(512, K)", "lambda r, i: (0, i)", "(8, 512)", _PLAIN),
    ),
    "turns": Pair("twice as many turns of the same loop", gridded(_FEW + "    lax.fori_loop(0, 2000, turn, 0)\n"), gridded(_FEW + "    lax.fori_loop(0, 4000, turn, 0)\n")),
    "unrolled": Pair("a turn of a loop costs its own", gridded(_FEW + "    lax.fori_loop(0, 2000, turn, 0, unroll=8)\n"), gridded(_FEW + "    lax.fori_loop(0, 2000, turn, 0)\n")),
    "spills": Pair(
        "more live values than registers: they are spilled and filled",
        gridded("    y[...] = jnp.sum(w[...].astype(jnp.float32).reshape(64, 8, K), axis=0)[:, 0:512]\n"),
        gridded(
            "    parts = [w[i * 8:(i + 1) * 8, :].astype(jnp.float32) for i in range(64)]\n"
            "    total = parts[0]\n    for p in parts[1:]:\n        total = total + p\n"
            "    for p in reversed(parts):\n        total = total * 1.5 + p * total\n"
            "    y[...] = total[:, 0:512]\n"
        ),
    ),
    "chip": Pair("twice the bandwidth", PLAIN, PLAIN, chips=("v6e", "v5e")),
    "older chip": Pair("a share of the bandwidth, and a slower clock", PLAIN, PLAIN, chips=("v5e", "v4")),
}  # fmt: skip
"""By a word: better, worse, and the argument."""
