"""The floor of a kernel: the time to read its streamed arguments once, measured like a design.

The reading kernel is C of ours, compiled with a design's flags and run by the same worker and conductor, with the same
threads, over the same rotating copies: what it leaves out is arithmetic. Several access patterns are tried, and the
fastest counts.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...kernels.spec import KernelSpec
from ..target import Probe, TargetError
from .contract import header, prototype
from .loading import Loader
from .placed import Buffers
from .protocol import Status
from .toolchain import Compiler, ask
from .workers import Conductor, LoadError, Worker

TRIAL_READINGS = 5
READINGS = 15
QUANTILE = 0.25
"""The floor is this quantile of the readings: neighbours on the host only ever make a reading longer."""
CALLS = 4
"""Calls in one reading."""
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class Pattern:
    """How a thread reads its part: in how many places at once, and how far ahead (bytes) it prefetches; 0: not."""

    streams: int
    ahead: int


PATTERNS = (Pattern(1, 0), Pattern(4, 0), Pattern(1, 1024), Pattern(4, 1024), Pattern(2, 4096), Pattern(8, 0))
"""What is tried."""

READ_SPAN = """
#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX__)
#define VECTOR 32
#else
#define VECTOR 16
#endif
#define PARTS (64 / VECTOR)
typedef uint64_t vector_t __attribute__((vector_size(VECTOR), aligned(8), may_alias));

/* The xor of all 64-bit words of `bytes` bytes, which must be a multiple of 8. */
static inline uint64_t read_span(const char *p, size_t bytes) {
  const size_t part = bytes / STREAMS / 64 * 64;
  vector_t sums[STREAMS][PARTS] = {{{0}}};
  for (size_t o = 0; o < part; o += 64) {
#pragma GCC unroll 16
    for (int s = 0; s < STREAMS; s++) {
      const char *line = p + s * part + o;
      if (AHEAD) __builtin_prefetch(line + AHEAD, 0, 3);
#pragma GCC unroll 4
      for (int v = 0; v < PARTS; v++) sums[s][v] ^= *(const vector_t *)(line + v * VECTOR);
    }
  }
  uint64_t sum = 0;
  for (int s = 0; s < STREAMS; s++)
    for (int v = 0; v < PARTS; v++)
      for (int i = 0; i < VECTOR / 8; i++) sum ^= sums[s][v][i];
  for (size_t o = part * STREAMS; o < bytes; o += 8) sum ^= *(const uint64_t *)(p + o);
  return sum;
}
"""
"""C that reads a span in ``STREAMS`` places at once, prefetching ``AHEAD`` bytes ahead, and folds it with xor."""

_READ_SHARE = """
static volatile uint64_t sink[4096];

static inline uint64_t read_share(const void *p, size_t bytes, size_t thread, size_t threads) {
  const size_t lines = bytes / 64, from = lines * thread / threads * 64;
  const size_t to = thread + 1 == threads ? bytes / 8 * 8 : lines * (thread + 1) / threads * 64;
  return read_span((const char *)p + from, to - from);
}
"""


def floor_source(spec: KernelSpec, pattern: Pattern) -> str:
    """C that reads every streamed argument of ``spec`` once and writes no argument."""
    reads = "\n".join(
        f"    sum ^= read_share({name}, {spec.argument(name).bytes}u, thread, threads);" for name in spec.streamed
    )
    return f"""#include "kernel.h"
#include <stddef.h>
#define STREAMS {pattern.streams}
#define AHEAD {pattern.ahead}
#ifdef _OPENMP
#include <omp.h>
#endif
{READ_SPAN}{_READ_SHARE}
{prototype(spec)} {{
#pragma omp parallel
  {{
    size_t thread = 0, threads = 1;
#ifdef _OPENMP
    thread = (size_t)omp_get_thread_num(), threads = (size_t)omp_get_num_threads();
#endif
    uint64_t sum = 0;
{reads}
    sink[(thread * 16) % 4096] = sum;
  }}
}}
"""


def compile_trusted(compiler: Compiler, spec: KernelSpec, source: str) -> bytes:
    """Compile C of ours with a design's flags, outside the sandbox. Raises TargetError with the compiler's words."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-own-") as name:
        folder = Path(name)
        (folder / "kernel.c").write_text(source)
        (folder / "kernel.h").write_text(header(spec))
        status, said = ask(compiler.command, *compiler.flags, "kernel.c", "-o", "kernel.so", "-lm", cwd=folder)
        if status != 0:
            raise TargetError(f"the compiler does not take the target's own kernel: {said[:500]}")
        return (folder / "kernel.so").read_bytes()


def _readings(conductor: Conductor, number: int, slots: int, count: int) -> list[float]:
    """Seconds for one call, for each of ``count`` readings in rotating slots."""
    calls = min(CALLS, slots - 1)
    seconds, turn = [], 0
    for _ in range(count):
        reading = conductor.read(number, turn % slots, 1, calls, _TIMEOUT_SECONDS)
        if reading.status is not Status.OK:
            raise TargetError(f"the floor could not be read: {reading.status.name}")
        seconds.append(reading.seconds / calls)
        turn += calls + 1
    return seconds


def quartile_spread(values: list[float]) -> float:
    """Half the interquartile range."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high - low) / 2


def measure_floor(loader: Loader, conductor: Conductor, buffers: Buffers, compiler: Compiler, number: int) -> Probe:
    """Read the floor in place ``number`` of the conductor. Raises TargetError when it cannot be read."""
    spec = loader.spec
    if not spec.streamed:
        raise TargetError(f"kernel {spec.name} names no streamed argument, so that it has no floor")
    workers: dict[Pattern, Worker] = {}
    try:
        seconds: dict[Pattern, list[float]] = {}
        for pattern in PATTERNS:
            design = compile_trusted(compiler, spec, floor_source(spec, pattern))
            workers[pattern] = loader.load(design, buffers)
            conductor.add(number, workers[pattern])
            seconds[pattern] = _readings(conductor, number, len(buffers.slots), TRIAL_READINGS)
        best = min(PATTERNS, key=lambda pattern: float(np.quantile(seconds[pattern], QUANTILE)))
        conductor.add(number, workers[best])
        values = _readings(conductor, number, len(buffers.slots), READINGS)
    except LoadError as failure:
        raise TargetError(f"the floor could not be read: {failure}") from failure
    finally:
        for worker in workers.values():
            worker.close()
        conductor.drop(number)
    value = float(np.quantile(values, QUANTILE))
    return Probe(
        name=f"floor.{spec.name}",
        question="How long does it take to read the kernel's streamed bytes once from where they lie?",
        value=value,
        unit="s",
        spread=quartile_spread(values),
        repeats=READINGS,
        conditions={
            "threads": str(loader.threads),
            "bytes": str(spec.streamed_bytes),
            "copies": str(loader.weights.copies),
            "quantile": f"{QUANTILE:g}",
            "streams": str(best.streams),
            "prefetch_bytes": str(best.ahead),
            "gigabytes_per_second": f"{spec.streamed_bytes / value / 1e9:.2f}",
        },
    )
