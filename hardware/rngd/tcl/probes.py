"""Questions put to the compiler's model of the chip, each answered by evaluating small programs.

Every answer is a schedule's, so it is exact and repeats; how far the model is from a chip, no toolchain without one tells.
"""

from __future__ import annotations

from dataclasses import replace

from ....kernels.spec import KernelSpec
from ...target import Probe, TargetError
from .build import Compilation, build, read_record
from .estimate import CLOCK_HZ
from .schedule import Instruction
from .snippets import contraction_program, snippet_spec, streaming_program

_SMALL, _LARGE = (4096, 3840), (16384, 3840)
_DTYPES = ("bf16", "f8_e4", "f4_e2", "f32")
_CLIFFS = (3712, 3800, 3840, 3841, 4096)
"""Numbers of rows around 3,840, which is 30 times 128: friendly ones and ones that are not."""


def measure_probes(tools: Compilation) -> tuple[Probe, ...]:
    """Everything that is asked of the model. Raises TargetError when the toolchain refuses a probe.

    A release that does not evaluate is asked that much alone: it is an answer that an upgrade makes stale.
    """
    asked = _Asked(tools)
    probes = [asked.estimates()]
    if not tools.tool.estimates:
        return tuple(probes)
    probes += [asked.streaming(dtype) for dtype in _DTYPES]
    probes.append(asked.start())
    probes.append(asked.vector_pass())
    probes += [asked.contraction(dtype) for dtype in ("bf16", "f8_e4")]
    probes += [asked.cliff(rows) for rows in _CLIFFS]
    probes += [asked.scaling(pes) for pes in (2, 4)]
    return tuple(probes)


def stream_bytes_per_cycle(tools: Compilation) -> float:
    """Bytes of f8 weights that the schedule moves in a cycle, without the cost of starting a transfer."""
    return _Asked(tools).streaming("f8_e4").value


class _Asked:
    def __init__(self, tools: Compilation) -> None:
        self.tools = replace(tools, binary=False)
        self._spec: KernelSpec = snippet_spec()

    def _schedule(self, program: str, tools: Compilation | None = None) -> tuple[int, tuple[Instruction, ...]]:
        built = build(tools or self.tools, self._spec, program)
        if built.path is None:
            raise TargetError(f"furiosa-tcc refused a probe: {built.diagnostics.splitlines()[0]}")
        record = read_record(built.path)
        assert record.cycles is not None
        return record.cycles, record.schedule

    def _probe(self, name: str, question: str, value: float, unit: str, **conditions: str) -> Probe:
        return Probe(name, question, value, unit, 0.0, 1, {"npu": self.tools.npu, "of": "the schedule", **conditions})

    def _load(self, shape: tuple[int, int], dtype: str) -> int:
        """Cycles of the longest transfer of a program that reads a matrix."""
        _, schedule = self._schedule(streaming_program(*shape, dtype))
        return max(each.cycles for each in schedule if each.kind == "Move(Load)")

    def estimates(self) -> Probe:
        """Whether there is a model to ask."""
        return self._probe(
            "model", "whether this release evaluates programs", float(self.tools.tool.estimates), "yes/no"
        )

    def streaming(self, dtype: str) -> Probe:
        """Bytes a cycle of a long transfer: the slope between two sizes."""
        bits = {"bf16": 16, "f8_e4": 8, "f4_e2": 4, "f32": 32}[dtype]
        small, large = (self._load(shape, dtype) for shape in (_SMALL, _LARGE))
        moved = (_LARGE[0] * _LARGE[1] - _SMALL[0] * _SMALL[1]) * bits / 8
        question = f"bytes of {dtype} weights moved in a cycle"
        return self._probe(f"stream.{dtype}", question, moved / (large - small), "B/cycle")

    def start(self) -> Probe:
        """What a transfer costs however little it moves."""
        return self._probe("start.dma", "cycles of the smallest transfer", self._load((8, 8), "bf16"), "cycles")

    def vector_pass(self) -> Probe:
        """How the model prices a pass of the vector engine over many elements."""
        _, schedule = self._schedule(streaming_program(*_LARGE, "f8_e4"))
        cycles = max(each.cycles for each in schedule if each.kind == "ReduceByVe")
        question = "elements a cycle by which the model prices a pass of the vector engine (its lanes take fewer)"
        return self._probe("price.vector_pass", question, _LARGE[0] * _LARGE[1] / cycles, "1/cycle")

    def contraction(self, dtype: str) -> Probe:
        """Multiplications a cycle of the contraction engine."""
        times = []
        for rows, columns in (_SMALL, _LARGE):
            _, schedule = self._schedule(contraction_program(rows, columns, dtype))
            times.append(sum(each.cycles for each in schedule if each.kind == "EinsumByDpe"))
        work = _LARGE[0] * _LARGE[1] - _SMALL[0] * _SMALL[1]
        question = f"multiplications of {dtype} in a cycle of a matrix times one vector"
        return self._probe(f"contract.{dtype}", question, work / max(times[1] - times[0], 1), "1/cycle")

    def cliff(self, rows: int) -> Probe:
        """Cycles of a bf16 GEMV with so many rows and 4,096 columns."""
        cycles, _ = self._schedule(contraction_program(rows, 4096, "bf16"))
        return self._probe(f"rows.{rows}", f"cycles of a bf16 matrix of {rows} x 4096 times a vector", cycles, "cycles")

    def scaling(self, pes: int) -> Probe:
        """How much faster the configured number of processing elements is than fewer."""
        program = contraction_program(3840, 4096, "bf16")
        mine, _ = self._schedule(program)
        other, _ = self._schedule(program, replace(self.tools, pes=pes))
        question = f"speed of {self.tools.pes} processing elements over that of {pes}, on a bf16 matrix times a vector"
        return self._probe(f"scaling.{pes}pe", question, other / mine, "times")


def seconds_to_stream(tools: Compilation, bytes_moved: int) -> float:
    """Seconds in which the schedule's transfers move so many bytes of weights."""
    return bytes_moved / stream_bytes_per_cycle(tools) / CLOCK_HZ
