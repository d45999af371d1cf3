"""The schedule that furiosa-tcc plots, and its makespan: which engine does what, from when to when, in cycles."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

_NAME = re.compile(r'^name: (.*?)(?: "(.*?)")?(?: (\w+))?$', re.MULTILINE)


class ScheduleError(ValueError):
    """A plot that is not understood. The message says what is missing."""


@dataclass(frozen=True)
class Instruction:
    """One instruction of a schedule. ``kind`` is what it is (``Move(Load)``, ``EinsumByDpe``, …), ``of`` what it is called.

    ``begin`` and ``end`` are cycles of the schedule; ``reads`` and ``writes`` are numbers of tensors.
    """

    engine: str
    kind: str
    of: str
    begin: int
    end: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    @property
    def cycles(self) -> int:
        """How long it takes."""
        return self.end - self.begin


def read_plot(text: str) -> tuple[Instruction, ...]:
    """The instructions of a plot that take time, in the order in which they begin. Raises ScheduleError."""
    try:
        listed = json.loads(text)["instructions"]
        found = [_instruction(each) for each in listed]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ScheduleError(f"the plot is not a schedule: {type(error).__name__} {error}") from error
    return tuple(sorted((each for each in found if each.cycles > 0), key=lambda each: (each.begin, each.end, each.of)))


def _instruction(each: Mapping[str, object]) -> Instruction:
    life, contexts = each["lifetime"], each["contexts"]
    assert isinstance(life, dict)
    assert isinstance(contexts, list)
    match = _NAME.search(str(each["description"]))
    kind, of = (match.group(1), match.group(2) or "") if match else ("unknown", "")
    tensors = [each[key] for key in ("input_tensors", "output_tensors")]
    reads, writes = (tuple(str(t) for t in group) for group in tensors if isinstance(group, list))
    return Instruction(str(contexts[0]), kind, of, int(life["begin"]), int(life["end"]), reads, writes)


def makespan(schedule: Sequence[Instruction]) -> int:
    """Cycles from the start to the end of the last instruction."""
    return max((each.end for each in schedule), default=0)


def stretched(schedule: Sequence[Instruction], cycles: Sequence[int]) -> tuple[Instruction, ...]:
    """The schedule with other durations, in the same order: each instruction waits for its engine and for what it reads.

    With the durations that it has, the makespan stays: nothing begins later than it did.
    """
    free: dict[str, int] = {}
    ready: dict[str, int] = {}
    made: list[Instruction] = []
    for each, took in zip(schedule, cycles, strict=True):
        begin = max([free.get(each.engine, 0), *(ready.get(tensor, 0) for tensor in each.reads)])
        end = begin + took
        free[each.engine] = end
        ready.update(dict.fromkeys(each.writes, end))
        made.append(replace(each, begin=begin, end=end))
    return tuple(made)


def busy(schedule: Sequence[Instruction]) -> dict[str, float]:
    """The share of the makespan for which each engine works, the busiest first."""
    total = makespan(schedule)
    sums: dict[str, int] = {}
    for each in schedule:
        sums[each.engine] = sums.get(each.engine, 0) + each.cycles
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    return {engine: spent / total for engine, spent in ordered} if total else {}


def longest(schedule: Sequence[Instruction], count: int = 3) -> tuple[Instruction, ...]:
    """The instructions that take longest."""
    return tuple(sorted(schedule, key=lambda each: (-each.cycles, each.begin))[:count])
