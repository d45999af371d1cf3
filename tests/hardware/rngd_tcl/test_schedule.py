"""Schedules: read from plots, taken again with other durations, and summed up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.rngd.tcl.schedule import (
    Instruction,
    ScheduleError,
    busy,
    longest,
    makespan,
    read_plot,
    stretched,
)

ENGINES = ("DmaEngine", "MainContext")


@st.composite
def schedules(draw: st.DrawFn) -> tuple[Instruction, ...]:
    """Schedules in which nothing waits without need: each instruction follows its engine and what it reads."""
    free = dict.fromkeys(ENGINES, 0)
    ready: dict[str, int] = {}
    made = []
    for number in range(draw(st.integers(1, 12))):
        engine = draw(st.sampled_from(ENGINES))
        reads = tuple(draw(st.sets(st.sampled_from(sorted(ready)), max_size=2))) if ready else ()
        begin = max([free[engine], *(ready[tensor] for tensor in reads)])
        end = begin + draw(st.integers(1, 1000))
        made.append(Instruction(engine, "Move(Load)", f"t{number}", begin, end, reads, (f"t{number}",)))
        free[engine] = ready[f"t{number}"] = end
    return tuple(made)


@given(schedules())
def test_with_its_own_durations_a_schedule_stays(schedule: tuple[Instruction, ...]) -> None:
    assert stretched(schedule, [each.cycles for each in schedule]) == schedule


@given(schedules(), st.integers(0, 11), st.integers(0, 5000))
def test_a_longer_instruction_never_makes_it_shorter(schedule: tuple[Instruction, ...], which: int, more: int) -> None:
    cycles = [each.cycles for each in schedule]
    cycles[which % len(cycles)] += more
    after = stretched(schedule, cycles)
    assert makespan(schedule) <= makespan(after) <= makespan(schedule) + more


@given(schedules())
def test_shares_are_of_the_whole(schedule: tuple[Instruction, ...]) -> None:
    shares = busy(schedule)
    assert all(0 < share <= 1 for share in shares.values())
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert longest(schedule)[0].cycles == max(each.cycles for each in schedule)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_anything_else_than_a_plot_is_refused(content: object) -> None:
    with pytest.raises(ScheduleError):
        read_plot(json.dumps({"instructions": [content]}))


def test_an_empty_schedule_takes_no_time() -> None:
    assert makespan(()) == 0
    assert busy(()) == {}
    assert read_plot('{"instructions": []}') == ()
