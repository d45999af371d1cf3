"""Microbenchmarks of the chip, run like designs: by a worker, timed by the conductor, with the flags of a design.

A streaming probe folds all that it reads into a result that is compared with what it must be: the work that was timed
was done. Conditions name footprint, threads and what the reading rests on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...kernels.spec import Argument, Expected, Inputs, KernelSpec, Tolerance
from ..target import Probe, TargetError
from .contract import prototype
from .floor import READ_SPAN, compile_trusted, quartile_spread
from .loading import Loader
from .placed import Buffers, lay_weights, reading_slots
from .protocol import Status
from .workers import Conductor, LoadError

if TYPE_CHECKING:
    from .target import CpuTarget

READINGS = 9
STREAMED_PER_CALL_BYTES = 64 << 20
"""A probe of a cache reads it again and again until about so much was read."""
REGIONS_PER_CALL = 64
MEMORY_FACTOR = 2
"""The memory probe's footprint, in last-level caches."""
_TIMEOUT_SECONDS = 20.0


def _spec(footprint: int) -> KernelSpec:
    """A stand-in kernel: ``bytes`` of weights in, two words out."""

    def nothing(_inputs: Inputs) -> Expected:
        return {"out": np.zeros(2)}

    def weights(rng: np.random.Generator) -> Inputs:
        return {"w": np.resize(rng.integers(0, 256, 1 << 20, dtype=np.uint8), footprint)}

    return KernelSpec(
        name="probe",
        summary="reads memory",
        dimensions={"footprint": footprint},
        arguments=(
            Argument("w", "f4e2m1x2", (footprint,), role="weight"),
            Argument("out", "i32", (2,), "out"),
        ),
        tolerance=Tolerance(0.0, 0.0),
        reference=nothing,
        rounded=nothing,
        draw_weights=weights,
        draw_activations=lambda _rng, _family: {},
        families=("any",),
        streamed=("w",),
    )


_OMP = """#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_thread_num() 0
#endif
"""


def stream_source(spec: KernelSpec, threads: int, span: int, repeat: int, streams: int, ahead: int) -> str:
    """C that reads ``span`` bytes per thread ``repeat`` times (an odd number) and leaves the xor of all words in ``out``."""
    return f"""#include "kernel.h"
#include <stddef.h>
#define STREAMS {streams}
#define AHEAD {ahead}
{_OMP}{READ_SPAN}
{prototype(spec)} {{
  uint64_t total = 0;
#pragma omp parallel num_threads({threads}) reduction(^ : total)
  {{
    const char *p = (const char *)w + (size_t){span}u * omp_get_thread_num();
    for (int r = 0; r < {repeat}; r++) {{
      total ^= read_span(p, {span}u);
      __asm__ volatile("" : "+r"(p) : : "memory");
    }}
  }}
  out[0] = (int32_t)(uint32_t)total;
  out[1] = (int32_t)(uint32_t)(total >> 32);
}}
"""


def region_source(spec: KernelSpec, threads: int) -> str:
    """C that opens an empty parallel region again and again."""
    return f"""#include "kernel.h"
{_OMP}
{prototype(spec)} {{
  for (int r = 0; r < {REGIONS_PER_CALL}; r++) {{
#pragma omp parallel num_threads({threads})
    __asm__ volatile("" : : "r"(r) : "memory");
  }}
  out[0] = out[1] = 1;
}}
"""


def empty_source(spec: KernelSpec) -> str:
    """C that does next to nothing."""
    return f'#include "kernel.h"\n{prototype(spec)} {{\n  out[0] = out[1] = 1;\n}}\n'


@dataclass
class Stand:
    """Everything that a probe is run on."""

    target: CpuTarget
    spec: KernelSpec
    loader: Loader
    conductor: Conductor
    buffers: Buffers
    content: np.ndarray[tuple[int], np.dtype[np.uint64]]

    def compile(self, source: str) -> bytes:
        """The artifact of a probe's source. Raises TargetError."""
        return compile_trusted(self.target.compiler, self.spec, source)

    def seconds(
        self, source: str | bytes, calls: int = 1, readings: int = READINGS
    ) -> tuple[list[float], tuple[int, int]]:
        """Seconds of each reading of a source (or of its artifact), and what ``out`` holds after the last.

        Each reading is one call that is not timed and ``calls`` that are.

        Raises TargetError when it cannot be run.
        """
        try:
            design = self.compile(source) if isinstance(source, str) else source
            worker = self.loader.load(design, self.buffers)
        except LoadError as failure:
            raise TargetError(f"a probe could not be loaded: {failure}") from failure
        try:
            self.conductor.add(0, worker)
            seconds = []
            for _ in range(readings):
                reading = self.conductor.read(0, 0, 1, calls, _TIMEOUT_SECONDS)
                if reading.status is not Status.OK:
                    raise TargetError(f"a probe could not be read: {reading.status.name}")
                seconds.append(reading.seconds / calls)
        finally:
            worker.close()
        out = self.buffers.view(calls % len(self.buffers.slots), "out")
        return seconds, (int(out[0]), int(out[1]))

    def stream(self, name: str, threads: int, span: int, shapes: Sequence[tuple[int, int]]) -> Probe:
        """Bandwidth of reading ``span`` bytes per thread, the best of several (streams, prefetch distance)."""
        repeat = max(1, STREAMED_PER_CALL_BYTES // (span * threads)) | 1
        words = self.content[: span * threads // 8]
        xor = int(np.bitwise_xor.reduce(words))
        expected = tuple(int(v) for v in np.array([xor], dtype=np.uint64).view(np.int32))
        best: tuple[float, list[float], tuple[int, int], bool] | None = None
        for streams, ahead in shapes:
            source = stream_source(self.spec, threads, span, repeat, streams, ahead)
            seconds, out = self.seconds(source)
            rates = [span * threads * repeat / s / 1e9 for s in seconds]
            found = float(np.median(rates)), rates, (streams, ahead), out == expected
            if best is None or found[0] > best[0]:
                best = found
        assert best is not None
        return Probe(
            name=f"bandwidth.{name}",
            question=f"How fast do {threads} threads read {span * threads} bytes that lie in {name.split('.')[0]}?",
            value=best[0],
            unit="GB/s",
            spread=quartile_spread(best[1]),
            repeats=READINGS,
            conditions={
                "threads": str(threads),
                "footprint_bytes": str(span * threads),
                "streams": str(best[2][0]),
                "prefetch_bytes": str(best[2][1]),
                "work_shown": "yes" if best[3] else "no",
                "rests_on": "chip",
            },
        )


def _timing(name: str, question: str, seconds: list[float], rests_on: str, **conditions: str) -> Probe:
    value = float(np.median(seconds))
    shown = {**conditions, "rests_on": rests_on}
    return Probe(name, question, value, "s", quartile_spread(seconds), len(seconds), shown)


def timer_resolution() -> Probe:
    """The smallest step of the conductor's clock that this process can see."""
    clock = time.CLOCK_MONOTONIC_RAW
    steps = []
    for _ in range(READINGS):
        stamps = [time.clock_gettime_ns(clock) for _ in range(2000)]
        steps.append(min(b - a for a, b in pairwise(stamps) if b > a) * 1e-9)
    return _timing("timer.step", "What is the smallest difference that the clock shows?", steps, "chip")


def _levels(target: CpuTarget) -> Iterator[tuple[str, int]]:
    """Name and bytes per thread of each footprint: half a cache, so that it stays there."""
    machine, threads = target.machine, target.threads
    yield "l1", machine.l1_bytes // 2 // 4096 * 4096
    yield "l2", machine.l2_bytes // 2 // 4096 * 4096
    yield "llc", machine.llc_bytes // 2 // threads // 4096 * 4096


def measure_probes(target: CpuTarget) -> list[Probe]:
    """Read every probe. Takes some seconds and holds the device. Raises TargetError when one cannot be run."""
    from .probes_units import prefetch_probe, unit_probes  # they use the stand that is defined here

    machine, threads = target.machine, target.threads
    footprint = max(MEMORY_FACTOR * machine.llc_bytes, STREAMED_PER_CALL_BYTES)
    footprint = footprint // (64 * threads * 4096) * (64 * threads * 4096) or footprint
    spec = _spec(footprint)
    with ExitStack() as stack:
        stack.enter_context(target.lease())
        weights = lay_weights(spec, 1, np.random.SeedSequence(0))
        stack.callback(weights.region.close)
        loader = Loader(target.jail, target.helpers.worker.read_bytes(), spec, weights, threads)
        conductor = Conductor(target.helpers.conductor)
        stack.callback(conductor.close)
        buffers = Buffers(spec, *reading_slots(spec, 1, 1))
        stack.callback(buffers.close)
        content = np.ascontiguousarray(spec.draw_weights(np.random.default_rng(np.random.SeedSequence(0)))["w"])
        stand = Stand(target, spec, loader, conductor, buffers, content.view(np.uint64))
        counts = sorted({1, threads})
        memory = ((4, 0), (4, 1024), (2, 4096))
        probes = [stand.stream(f"memory.{n}", n, footprint // n // 64 * 64, memory) for n in counts]
        probes += [stand.stream(f"{name}.{threads}", threads, span, ((4, 0),)) for name, span in _levels(target)]
        probes += [*unit_probes(stand), prefetch_probe(stand, threads, footprint // threads // 64 * 64)]
        region, _ = stand.seconds(region_source(spec, threads))
        empty, _ = stand.seconds(empty_source(spec))
    regions = [value / REGIONS_PER_CALL for value in region]
    probes.append(
        _timing(
            f"region.start.{threads}",
            f"How long does it take to start and end a parallel region of {threads} threads that are awake?",
            regions,
            "runtime",
            threads=str(threads),
        )
    )
    probes.append(_timing("handover", "How long is a reading of one call that does nothing?", empty, "runtime"))
    probes.append(timer_resolution())
    return probes
