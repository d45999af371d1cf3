"""The reader of dumps and the timeline, on recorded dumps of three compilers' and on made-up programs; no libtpu needed.

The recorded kernel: grid (6, 3), blocks of 4096 bytes, ``x`` by the first index, ``w`` by both, ``y`` by the first, and a
loop of 20 turns in each step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.tpu.chips import CHIPS
from kernelwright.hardware.tpu.dump import TOP, DumpError, Listing, parse_bundles, parse_use, read_dump
from kernelwright.hardware.tpu.scalar import Translator
from kernelwright.hardware.tpu.summary import read, summarize
from kernelwright.hardware.tpu.timeline import Timeline, follow

BLOCK_BYTES = 4096
RECORDED = {"v5e": "v5e", "v5e_jax_0.7.2": "v5e", "tpu7x": "tpu7x"}


def recorded(folder: Path, name: str) -> Listing:
    """A recorded kernel, as the program of its dump."""
    text = (folder / "recorded" / f"{name}.bundles.txt").read_text()
    use = parse_use((folder / "recorded" / f"{name}.use.txt").read_text())
    return replace(parse_bundles(TOP, text), units=use)


def ran(text: str, chip: str = "v5e") -> Timeline:
    """The timeline of a made-up program of bundles."""
    return follow({TOP: parse_bundles(TOP, text)}, CHIPS[chip])


@pytest.mark.parametrize(("name", "chip"), RECORDED.items())
def test_a_recorded_kernel_turns_and_copies_as_its_grid_says(folder: Path, name: str, chip: str) -> None:
    timeline = follow({TOP: recorded(folder, name)}, CHIPS[chip])
    part = timeline.parts[0]
    assert timeline.whole
    assert part.steps == 6 * 3 + 2  # the pipeline fills and drains
    moved = (6 + 6 * 3 + 6) * BLOCK_BYTES
    if name == "tpu7x":
        moved -= 6 * BLOCK_BYTES  # there x was put into VMEM before the kernel, and its blocks are copied by the core
    assert part.hbm_bytes == moved
    assert timeline.unmatched_waits == 0


def test_the_inner_loop_is_turned_as_often_as_the_program_says(folder: Path) -> None:
    listing = recorded(folder, "v5e")
    whole = follow({TOP: listing}, CHIPS["v5e"]).parts[0]
    text = (folder / "recorded" / "v5e.bundles.txt").read_text()
    longer = re.sub(
        r"(scmp\.ge\.s32\.totalorder %s\w+), 20 /\* loop exit test", r"\1, 30 /* loop exit test", text, count=0
    )
    inner = [line for line in text.splitlines() if ">>" in line]
    changed = follow({TOP: parse_bundles(TOP, longer)}, CHIPS["v5e"]).parts[0]
    if longer == text:
        pytest.fail("the recorded dump has no loop of 20 turns")
    assert changed.bundles > whole.bundles
    assert (changed.bundles - whole.bundles) % 10 == 0
    assert inner


def test_the_use_of_the_units_is_counted_by_turns(folder: Path) -> None:
    part = follow({TOP: recorded(folder, "v5e")}, CHIPS["v5e"]).parts[0]
    assert part.units["VALU"] == pytest.approx(18 * 20 * 2 / 4)  # a product and a sum, four to a bundle


def test_a_summary_survives_its_text(folder: Path) -> None:
    timeline = follow({TOP: recorded(folder, "v5e")}, CHIPS["v5e"])
    summary = summarize(timeline, CHIPS["v5e"], {"custom_call:tpu_custom_call": 1}, {"argument_size_in_bytes": 7})
    assert read(summary.text()) == summary
    assert "estimate" in summary.lines()[0]


LOOP = """
     0   :  {{ %s1_s0 = smov.u32 0  ;;  %s2_s1 = smov.u32 {start} }} /* Start region 0 */
   0x1 LB: > {{ %s3_s0 = sphi %s1_s0, %s4_s0  ;;  %s5_s1 = sphi %s2_s1, %s6_s1 }} /* Start region 1 */
   0x2   : > {{ %s4_s0 = sadd.s32 1, %s3_s0  ;;  %s6_s1 = sadd.s32 {step}, %s5_s1 }}
   0x3   : > {{ %p7_p0 = scmp.{compare}.s32.totalorder %s6_s1, {bound} }}
   0x4   : > {{ %8 = sbr.rel (!%p7_p0) target = $region1 }}
   0x5   : > {{}}
   0x6   : > {{}}
   0x7   : > {{}}
   0x8   :  {{}} /* End region 1 */
   0x9   :  {{}} /* exit bundle: %f = f() */
"""


@dataclass(frozen=True)
class Counted:
    """A counted loop, and how often it turns."""

    start: int
    step: int
    bound: int

    @property
    def turns(self) -> int:
        """Turns of a loop that is left when the count has reached the bound, and turned at least once."""
        value, turns = self.start, 0
        while True:
            value += self.step
            turns += 1
            if value >= self.bound:
                return turns


@given(st.builds(Counted, st.integers(0, 50), st.integers(1, 9), st.integers(0, 5000)))
def test_a_loop_takes_its_bundles_times_its_turns(loop: Counted) -> None:
    text = LOOP.format(start=loop.start, step=loop.step, compare="ge", bound=loop.bound)
    assert ran(text).cycles == 1 + loop.turns * 8 + 1


def test_a_loop_without_end_is_left() -> None:
    text = LOOP.format(start=0, step=0, compare="ge", bound=5)
    timeline = ran(text)
    assert not timeline.whole


COPY = """
     0   :  {{ %1 = vsyncpa [#allocation1], 0  ;;  %s9_s2 = inlined_call_operand.hbm [shape: f32[8,128], index: 0] }}
   0x1   :  {{ %2 = dma.hbm_to_vmem [thread:$0]  /*hbm=*/%s9_s2, /*size_in_granules=*/{granules}, /*vmem=*/[#allocation0], /*dst_syncflagno=*/[#allocation1] /*
base_bounds: (8, 1)
*/ }}
   0x2   :  {{ %3 = dma.done.wait [#allocation1], {granules} }}
   0x3   :  {{ %4 = vsyncadd [#allocation1], {back} }}
   0x4   :  {{}}
"""


@given(st.integers(1, 1 << 20))
def test_waiting_for_a_copy_takes_its_bytes_over_the_bandwidth(granules: int) -> None:
    timeline = ran(COPY.format(granules=granules, back=(1 << 32) - granules))
    chip = CHIPS["v5e"]
    cycles = granules * chip.granule_bytes / (chip.core_bytes_per_second / chip.clock_hz)
    assert timeline.parts[0].hbm_bytes == granules * chip.granule_bytes
    assert timeline.cycles == pytest.approx(max(1 + cycles, 2) + 3)
    assert timeline.unmatched_waits == 0


def test_a_wait_for_more_than_comes_is_told() -> None:
    text = COPY.format(granules=64, back=(1 << 32) - 64).replace("wait [#allocation1], 64", "wait [#allocation1], 65")
    assert ran(text).unmatched_waits == 1


def test_a_branch_on_data_does_its_work_and_is_counted() -> None:
    text = """
     0   :  { %s1_s0 = sld [smem:[#allocation4]] } /* Start region 0 */
   0x1   :  { %p2_p0 = scmp.ne.s32.totalorder %s1_s0, 0 }
   0x2   :  { %3 = sbr.rel (%p2_p0) target = $region9 }
   0x3   :  {}
   0x4   :  {}
   0x5   :  {}
   0x6   :  {}
   0x7   :  {}
   0x8   :  {} /* Start/End empty region 9 */
"""
    timeline = ran(text)
    assert timeline.assumed == 1
    assert timeline.cycles == 9


def test_values_that_are_spilled_come_back() -> None:
    text = LOOP.format(start=0, step=1, compare="ge", bound=7)
    text = text.replace("{ %p7_p0", "{ %s20_s5 = sld [smem:[#allocation3_spill]]  ;;  %p7_p0").replace(
        "%s6_s1, 7", "%s21_s6, 7"
    )
    text = text.replace("0x2   : > {", "0x2   : > { %30 = sst [smem:[#allocation3_spill]] %s5_s1  ;; ")
    text = text.replace("%s20_s5 = sld [smem:[#allocation3_spill]]", "%s21_s6 = sld [smem:[#allocation3_spill]]")
    timeline = ran(text)
    # The loop is left one turn later: what was stored is the count before it grew.
    assert timeline.cycles == 1 + 8 * 8 + 1


def test_a_missing_bundle_is_an_error() -> None:
    with pytest.raises(DumpError, match="0x1 is missing"):
        parse_bundles("x", "     0   :  { %s1_s0 = smov.u32 0 }\n   0x2   :  {}\n")


def test_units_that_are_not_known_are_an_error() -> None:
    with pytest.raises(DumpError, match="other units: VALU, FPU"):
        parse_use("== CAPACTIY:\nVALU, FPU\n 4 4\n== UTILIZATION:\n0 0\n")


def test_a_dump_without_a_program_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "1-f.1-00-final_bundles.txt").write_text("     0   :  {}\n")
    with pytest.raises(DumpError, match="no program"):
        read_dump(tmp_path)


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader_but_with_its_error(text: str) -> None:
    try:
        listing = parse_bundles("x", text)
    except DumpError:
        return
    Translator(listing, 1, 4, 4).blocks()


@given(st.data())
def test_no_damage_to_a_dump_breaks_the_reader_but_with_its_error(data: st.DataObject) -> None:
    text = (Path(__file__).parent / "recorded" / "v5e.bundles.txt").read_text()
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(1, 60))
    damaged = text[:start] + data.draw(st.text(max_size=20)) + text[start + length :]
    try:
        timeline = follow({TOP: parse_bundles(TOP, damaged)}, CHIPS["v5e"])
    except DumpError:
        return
    assert timeline.cycles >= 0
