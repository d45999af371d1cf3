"""What the compiler tells of a chip without one: how many cycles it schedules for what decoding weights is made of, what a
step of a grid costs, and how much memory a kernel may take.

Every rate is the difference between two kernels that do the same to one and to two pieces of work, so that what both need
besides cancels. They are schedules, not measurements: no stall that the compiler does not foresee is in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...kernels.spec import Argument, Expected, Inputs, KernelSpec, Tolerance
from ..outcome import Outcome
from ..target import Probe
from .chips import Chip
from .estimate import kept

if TYPE_CHECKING:
    from .target import TpuTarget

ENTRY = "probe"
ROWS = 1024
LANES = 128
"""The smaller piece of work: so many rows of a register's width."""
_HEAD = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""
_CALL = """
def probe(x, w):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x, w)
"""
_FOLD = "    y[...] = jnp.sum(({0}).reshape(-1, 8, 128), axis=0)\n"
_VMEM_STEP = 1 << 20


@dataclass(frozen=True)
class Work:
    """A kernel over ``w``, ROWS rows or twice as many, of which every byte is read.

    ``body`` is the kernel's body over references ``x`` (bf16 [8, 128]), ``w`` and ``y`` (f32 [8, 128]). ``most`` is the
    largest plausible rate in bytes of ``w`` for one cycle.
    """

    name: str
    question: str
    dtype: str
    body: str
    most: float


WORKS = (
    Work(
        "vmem_read_rate",
        "how fast are f32 weights read from VMEM and summed?",
        "f32",
        _FOLD.format("w[...]"),
        3 * 4096.0,
    ),
    Work(
        "bf16_unpack_rate",
        "how fast are bf16 weights widened to f32 and summed?",
        "bf16",
        _FOLD.format("w[...].astype(jnp.float32)"),
        3 * 4096.0,
    ),
    Work(
        "f8_decode_rate",
        "how fast are f8 weights converted to f32 and summed?",
        "f8e4m3",
        _FOLD.format("w[...].astype(jnp.float32)"),
        3 * 4096.0,
    ),
    Work(
        "f4_bits_decode_rate",
        "how fast are packed f4 weights decoded by operations on bits, and summed?",
        "f4e2m1x2",
        "    b = w[...].astype(jnp.int32)\n"
        "    def f(c):\n"
        "        m = (c & 7) << 22\n"
        "        v = lax.bitcast_convert_type(m, jnp.float32) * jnp.float32(2.0 ** 126)\n"
        "        return jnp.where((c & 8) != 0, -v, v)\n" + _FOLD.format("f(b & 15) + f(b >> 4)"),
        3 * 4096.0,
    ),
    Work(
        "exp_rate",
        "how fast are f32 values exponentiated?",
        "f32",
        _FOLD.format("jnp.exp(w[...])"),
        3 * 4096.0,
    ),
    Work(
        "lane_sum_rate",
        "how fast are f32 values summed along the lanes?",
        "f32",
        "    y[...] = jnp.broadcast_to(jnp.sum(jnp.sum(w[...], axis=1, keepdims=True)), (8, 128))\n",
        3 * 4096.0,
    ),
    Work(
        "mxu_bf16_weights_rate",
        "how fast do bf16 weights pass through the matrix units, for products with 8 rows?",
        "bf16",
        "    acc = jnp.zeros((8, 128), jnp.float32)\n"
        "    for k in range(w.shape[0] // 128):\n"
        "        acc = acc + jnp.dot(x[...], w[k * 128:(k + 1) * 128, :], preferred_element_type=jnp.float32)\n"
        "    y[...] = acc\n",
        4 * 4096.0,
    ),
)
"""Every rate that is asked for."""

_STEPS = """
def kernel(w, y):
    y[...] = w[0:8, :]

def probe(x, w):
    return pl.pallas_call(
        kernel,
        grid=({0},),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i * 0, 0)),
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )(w)
"""
_SCRATCH = """
def kernel(x, w, y, s):
    def fill(i, carry):
        s[pl.ds(i * 8, 8), :] = w[0:8, :]
        return carry

    lax.fori_loop(0, {0} // 8, fill, 0)
    y[...] = jnp.zeros((8, 128), jnp.float32)
    def add(i, carry):
        y[...] += s[pl.ds(i * 8, 8), :]
        return carry

    lax.fori_loop(0, {0} // 8, add, 0)

def probe(x, w):
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes=[pltpu.VMEM(({0}, 128), jnp.float32)],
    )(x, w)
"""


def _zero(_inputs: Inputs) -> Expected:
    return {"y": np.zeros((8, LANES))}


def probe_spec(dtype: str, rows: int) -> KernelSpec:
    """The kernel that probes stand in for: ``y`` [8, 128] from ``x`` [8, 128] and ``w`` [rows, 128]. It is never run."""
    arguments = (
        Argument("x", "bf16", (8, LANES)),
        Argument("w", dtype, (rows, LANES), role="weight"),
        Argument("y", "f32", (8, LANES), "out"),
    )
    nothing: Inputs = {}
    return KernelSpec(
        name=ENTRY,
        summary="a probe",
        dimensions={},
        arguments=arguments,
        tolerance=Tolerance(1.0, 1.0),
        reference=_zero,
        rounded=_zero,
        draw_weights=lambda _rng: nothing,
        draw_activations=lambda _rng, _family: nothing,
        families=("none",),
        streamed=("w",),
    )


def _busy(target: TpuTarget, spec: KernelSpec, source: str) -> tuple[float, str]:
    """Seconds that a probe's bundles take; NaN and the reason when it does not build."""
    made = target.build(spec, _HEAD + source)
    summary = kept(made)
    if not made.ok or summary is None:
        return math.nan, made.diagnostics.splitlines()[0] if made.diagnostics else made.outcome.value
    return sum(part.busy_seconds for part in summary.parts), ""


def _conditions(chip: Chip, refused: str = "") -> dict[str, str]:
    told = {"by": "the compiler's schedule, not measured", "chip": chip.name, "clock_hz": f"{chip.clock_hz:.4g}"}
    return {**told, "refused": refused[:300]} if refused else told


def rate(target: TpuTarget, work: Work) -> Probe:
    """Bytes of weights in a second; 0, with the compiler's words, where it refuses the kernel."""
    source = f"def kernel(x, w, y):\n{work.body}{_CALL}"
    seconds = []
    for rows in (ROWS, 2 * ROWS):
        busy, refused = _busy(target, probe_spec(work.dtype, rows), source)
        if refused:
            return Probe(work.name, work.question, 0.0, "B/s", 0.0, 1, _conditions(target.chip, refused))
        seconds.append(busy)
    size = probe_spec(work.dtype, ROWS).argument("w").bytes
    value = size / (seconds[1] - seconds[0]) if seconds[1] > seconds[0] else math.inf
    plausible = 0.0 < value <= work.most * target.chip.clock_hz
    conditions = {**_conditions(target.chip), "bytes": str(size), "plausible": "yes" if plausible else "no"}
    return Probe(work.name, work.question, value if plausible else 0.0, "B/s", 0.0, 2, conditions)


def step_overhead(target: TpuTarget) -> Probe:
    """Seconds of bundles in one step of a grid whose kernel copies one register."""
    name, question = "grid_step_seconds", "what does one step of a grid cost besides its work?"
    seconds = []
    for steps in (16, 32):
        busy, refused = _busy(target, probe_spec("f32", ROWS), _STEPS.format(steps))
        if refused:
            return Probe(name, question, 0.0, "s", 0.0, 1, _conditions(target.chip, refused))
        seconds.append(busy)
    value = (seconds[1] - seconds[0]) / 16
    plausible = 0.0 < value < 1e-5
    conditions = {**_conditions(target.chip), "plausible": "yes" if plausible else "no"}
    return Probe(name, question, value, "s", 0.0, 2, conditions)


def vmem_limit(target: TpuTarget) -> Probe:
    """The largest scratch (bytes) that compiles without asking for more, to one MiB, found by halving."""
    low, high = 0, target.chip.vmem_bytes // _VMEM_STEP + 1
    spec = probe_spec("f32", ROWS)
    said = ""
    while high - low > 1:
        middle = (low + high) // 2
        made = target.build(spec, _HEAD + _SCRATCH.format(middle * _VMEM_STEP // (4 * LANES)))
        if made.outcome is Outcome.OK:
            low = middle
        else:
            high, said = middle, made.diagnostics.splitlines()[0] if made.diagnostics else ""
    question = "how much VMEM may a kernel's scratch take by default?"
    plausible = 0 < low * _VMEM_STEP <= target.chip.vmem_bytes
    conditions = {**_conditions(target.chip), "refused_above": said[:300], "plausible": "yes" if plausible else "no"}
    return Probe("vmem_default_bytes", question, float(low * _VMEM_STEP), "B", float(_VMEM_STEP) / 2, 1, conditions)


def published(chip: Chip) -> Probe:
    """The bandwidth that estimates and floors use: published, so that it stands beside what was asked of the compiler."""
    conditions = {"by": "published, not measured", "chip": chip.name, "source": chip.source}
    question = "how fast does one core read the chip's memory?"
    return Probe("hbm_core_rate", question, chip.core_bytes_per_second, "B/s", 0.0, 1, conditions)


def measure_probes(target: TpuTarget) -> Sequence[Probe]:
    """Every probe, in order; about twenty compilations."""
    return [published(target.chip), *(rate(target, work) for work in WORKS), step_overhead(target), vmem_limit(target)]
