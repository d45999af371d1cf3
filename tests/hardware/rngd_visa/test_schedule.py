"""Schedules: what is read, what is refused with a reason, and what follows for the Analyst."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.rngd.visa.analysis import bottleneck, busy, describe, gaps, longest, spent
from kernelwright.hardware.rngd.visa.schedule import ScheduleError, parse_schedule

CONTEXTS = ("DmaEngine", "MainContext", "SubContext", "VectorEngine", "PeCore")
times = st.tuples(st.integers(0, 10_000), st.integers(0, 5_000)).map(lambda t: {"begin": t[0], "end": t[0] + t[1]})
nodes = st.fixed_dictionaries(
    {
        "index": st.one_of(st.integers(0, 99), st.text(max_size=5)),
        "tpe": st.sampled_from(("DmaLoad", "DmaStore", "Main", "Sub", "Core", "NewKind")),
        "contexts": st.lists(st.sampled_from(CONTEXTS), max_size=3),
        "lifetime": times,
        "input_tensors": st.one_of(st.none(), st.lists(st.integers(0, 9), max_size=3)),
    },
    optional={
        "description": st.one_of(st.none(), st.text(max_size=40), st.just("x\n  --> src/a.rs:12:3\n")),
        "util": st.one_of(st.none(), st.just({"efficiency": 0.5, "unheard_of": {}})),
        "unheard_of": st.integers(),
    },
)
raw_nodes: st.SearchStrategy[list[Any]] = st.lists(nodes, min_size=1, max_size=30)
dumps = raw_nodes.filter(lambda found: any(node["lifetime"]["end"] for node in found))


@given(dumps)
def test_whatever_is_read_adds_up(raw: list[dict[str, Any]]) -> None:
    schedule = parse_schedule(json.dumps({"title": "k", "instructions": raw, "unheard_of": 1}))
    makespan = schedule.makespan
    assert makespan == max(node["lifetime"]["end"] for node in raw)
    assert len(schedule.nodes) == len(raw)
    for each in busy(schedule):
        worked = set[int]()
        for node in raw:
            if each.context in node["contexts"]:
                worked |= set(range(node["lifetime"]["begin"], node["lifetime"]["end"]))
        assert each.cycles == len(worked) <= makespan
        idle = gaps(schedule, each.context, 1)
        assert each.cycles + sum(gap.cycles for gap in idle) == makespan
    lengths = [node.cycles for node in longest(schedule, 99)]
    assert lengths == sorted(lengths, reverse=True)
    total = sum(node["lifetime"]["end"] - node["lifetime"]["begin"] for node in raw)
    assert sum(line.cycles for line in spent(schedule, 999)) == total
    assert f"makespan {makespan}" in describe(schedule)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)))  # fmt: skip
def test_what_is_no_schedule_is_refused(value: Any) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(json.dumps({"instructions": value} if not isinstance(value, list) else value))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"title": "half a sched', "JSON"),
        ("{}", "instructions: Field required"),
        ('{"instructions": []}', "no instructions"),
        ('{"instructions": [{"index": 1, "lifetime": {"begin": 5, "end": 4}}]}', "ends before it begins"),
        ('{"instructions": [{"index": 1, "lifetime": {"begin": 0, "end": 0}}]}', "no instruction takes any time"),
        ('{"instructions": [{"index": 1, "lifetime": {"begin": 0, "end": -4}}]}', "instructions.0.lifetime.end"),
        ('{"instructions": [{"index": 1, "lifetime": {"begin": 0, "end": NaN}}]}', "instructions"),
        ('{"instructions": [{"index": 1}]}', "instructions.0.lifetime: Field required"),
    ],
)
def test_the_reason_names_the_place(text: str, why: str) -> None:
    with pytest.raises(ScheduleError, match=r"(?i)not a schedule") as caught:
        parse_schedule(text)
    assert why.lower() in str(caught.value).lower()


def test_a_bound_by_memory_is_told_with_its_line() -> None:
    raw = [
        {"index": 0, "tpe": "DmaLoad", "contexts": ["DmaEngine"], "lifetime": {"begin": 0, "end": 700},
         "description": "to_dm\n  --> src/device/projection.rs:93:17\n"},
        {"index": 1, "tpe": "Main", "contexts": ["MainContext"], "lifetime": {"begin": 700, "end": 1000}},
    ]  # fmt: skip
    schedule = parse_schedule(json.dumps({"instructions": raw}))
    assert bottleneck(schedule) == "DMA"
    assert longest(schedule, 1)[0].place == "src/device/projection.rs:93:17"
    (gap,) = gaps(schedule, "MainContext")
    assert (gap.begin, gap.end, gap.before) == (0, 700, "1")
    assert "busy 700 cycles, 70.0 %" in describe(schedule)
