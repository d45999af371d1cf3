"""What the chip's probes say decides the playbook's first choices, where the physics says so, and nothing else does."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.agents.playbook.cpu.levers import KERNELS
from kernelwright.agents.playbook.cpu.outlook import MIXES, Outlook, weight_bytes
from kernelwright.agents.playbook.cpu.space import CpuSpace
from kernelwright.agents.playbook.space import Place, start
from kernelwright.agents.playbook.spaces import find_space
from kernelwright.agents.playbook.specialist import Playbook
from kernelwright.agents.port import Proposal, ProposeTask
from kernelwright.kernels.registry import kernel

AVX2 = dict.fromkeys(("__AVX2__", "__FMA__", "__F16C__"), "1")
ZEN3 = {
    "throughput.fma": 4.65,
    "throughput.convert": 2.91,
    "throughput.permute": 4.59,
    "throughput.gather": 0.315,
    "throughput.dot": 4.59,
    "prefetch.benefit": 1.2,
    "region.start.2": 1.1e-6,
    "bandwidth.memory.2": 42.0,
}
"""As one was measured: 10^9 instructions a second, seconds, GB/s."""
FULL = {"sliding_attention_output": {"HIDDEN": 3840, "HEADS": 16, "HEAD_DIM": 256}}


def space(name: str, probes: Mapping[str, float], dimensions: Mapping[str, int] | None = None) -> CpuSpace:
    found = find_space(Place("cpu", name, dimensions or {}, AVX2, probes))
    assert isinstance(found, CpuSpace)
    return found


def values(found: CpuSpace, name: str) -> tuple[str | int, ...]:
    return next(lever.values for lever in found.levers if lever.name == name)


def firsts(found: CpuSpace) -> list[str | int]:
    return [whole.design["decode"] for whole in found.wholes() if whole.first]


@pytest.mark.parametrize("name", KERNELS)
def test_without_probes_and_with_those_of_the_chip_that_it_was_tuned_on_the_order_is_that_of_promise(name: str) -> None:
    bare, known = space(name, {}), space(name, ZEN3)
    assert values(bare, "decode") == values(known, "decode")
    assert firsts(bare) == firsts(known)
    assert "table" not in firsts(known)


def test_where_gathers_are_quick_tables_come_first_and_are_tried_at_once() -> None:
    quick = {**ZEN3, "throughput.gather": 9.0}
    assert values(space("sliding_attention_output", quick), "decode")[0] == "table"
    assert "table" in firsts(space("sliding_attention_output", quick))


def test_where_dot_products_are_slow_and_fma_is_quick_fp4_is_widened_instead() -> None:
    assert values(space("decoder_feedforward", ZEN3), "decode")[0] == "planes"
    slow = {**ZEN3, "throughput.dot": 0.8}
    order = values(space("decoder_feedforward", slow), "decode")
    assert order[0] == "half"
    assert "planes" in firsts(space("decoder_feedforward", slow)), "still worth a trial"


def test_where_permutes_are_slow_what_looks_up_by_them_falls_behind() -> None:
    slow = {**ZEN3, "throughput.permute": 0.2, "throughput.gather": 2.0}
    order = values(space("decoder_feedforward", slow), "decode")
    assert order.index("half") > order.index("table"), "half takes twice the permutes, and gathers are quick here"


def test_prefetch_that_gains_nothing_is_left_out_early() -> None:
    assert values(space("sliding_attention_output", ZEN3), "prefetch")[-1] == "off"
    useless = space("sliding_attention_output", {**ZEN3, "prefetch.benefit": 0.95})
    assert values(useless, "prefetch")[:2] == (1024, "off")
    assert start(useless)["prefetch"] == 1024


def test_dear_regions_make_threads_stage_for_themselves() -> None:
    """A region of a microsecond is nothing beside a full matrix, and much beside one of a few kilobytes."""
    full = space("sliding_attention_output", ZEN3, FULL["sliding_attention_output"])
    small = space("sliding_attention_output", ZEN3, {"HIDDEN": 128, "HEADS": 4, "HEAD_DIM": 32})
    assert start(full)["staging"] == "split"
    assert start(small)["staging"] == "private"


@pytest.mark.parametrize("name", KERNELS)
def test_bytes_of_the_matrices_are_those_of_the_spec(name: str) -> None:
    spec = kernel(name)
    assert weight_bytes(name, spec.dimensions) == pytest.approx(spec.streamed_bytes, rel=0.01)
    assert weight_bytes(name, {}) is None


@given(
    st.fixed_dictionaries(
        {f"throughput.{n}": st.floats(0.01, 100) for n in ("fma", "convert", "permute", "gather", "dot")}
    )
)
def test_whatever_was_measured_each_decode_stays_and_no_clearly_slower_one_stands_ahead(
    probes: dict[str, float],
) -> None:
    outlook = Outlook.of(Place("cpu", KERNELS[0], probes=probes))
    for (weights, dialect), mixes in MIXES.items():
        order = outlook.decodes(weights, dialect, list(mixes))
        assert sorted(order) == sorted(mixes)
        costs = [outlook.cost(weights, dialect, decode) for decode in order]
        assert all(a is not None and b is not None and a <= 1.25 * b for a, b in pairwise(costs))
        assert any(outlook.worth_a_start(weights, dialect, decode, order) for decode in order)


def test_the_playbook_s_proposal_says_what_the_probes_say() -> None:
    task = ProposeTask(
        kernel="sliding_attention_output",
        target="cpu",
        contract="",
        macros=AVX2,
        dimensions=FULL["sliding_attention_output"],
        as_of=1,
        turn=0,
        seed=0,
        best="d0000",
        best_seconds=None,
        floor_seconds=None,
        probes={**ZEN3, "throughput.gather": 9.0},
        tried=(),
        best_source="",
    )
    proposal = Playbook().propose(task)
    assert isinstance(proposal, Proposal)
    assert proposal.levers["decode"] == "table"
    assert "by this chip's probes" in proposal.rationale
