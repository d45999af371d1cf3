"""Figures of furiosa-tcc 2026.4.0 that designs are chosen by: the same on any machine, so they are asked for exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kernelwright.hardware.rngd.tcl.build import build, read_record
from kernelwright.hardware.rngd.tcl.estimate import lane_cycles
from kernelwright.hardware.rngd.tcl.probes import stream_bytes_per_cycle
from kernelwright.hardware.rngd.tcl.snippets import contraction_program, snippet_spec
from kernelwright.hardware.rngd.tcl.target import TclTarget


def cycles(target: TclTarget, program: str, pes: int = 8) -> tuple[int, dict[str, int]]:
    """Cycles of a program, and those of its longest instruction of each kind."""
    built = build(replace(target.compilation, pes=pes), snippet_spec(), program)
    assert built.path is not None, built.diagnostics
    record = read_record(built.path)
    assert record.cycles is not None
    kinds: dict[str, int] = {}
    for each in record.schedule:
        kinds[each.kind] = max(kinds.get(each.kind, 0), each.cycles)
    return record.cycles, kinds


def test_a_matrix_times_a_vector_is_a_transfer(target: TclTarget) -> None:
    total, kinds = cycles(target, contraction_program(4096, 3840, "bf16"))
    assert total == 27018
    assert kinds["Move(Load)"] == 23430
    assert kinds["EinsumByDpe"] == 2977


@pytest.mark.parametrize(("rows", "expected"), [(3840, 26668), (3841, 45474), (3800, 57031)])
def test_unfriendly_numbers_of_rows_fall_off_a_cliff(target: TclTarget, rows: int, expected: int) -> None:
    assert cycles(target, contraction_program(rows, 4096, "bf16"))[0] == expected


@pytest.mark.parametrize(("pes", "expected"), [(2, 102295), (4, 52046), (8, 26668)])
def test_processing_elements_scale(target: TclTarget, pes: int, expected: int) -> None:
    assert cycles(target, contraction_program(3840, 4096, "bf16"), pes)[0] == expected


def test_weights_of_one_byte_stream_twice_as_fast(target: TclTarget) -> None:
    wide, narrow = (cycles(target, contraction_program(4096, 3840, dtype))[0] for dtype in ("bf16", "f8_e4"))
    assert (wide, narrow) == (27018, 14571)


def test_streaming_is_under_the_memory_and_over_what_users_reached(target: TclTarget) -> None:
    rate = stream_bytes_per_cycle(target.compilation)
    assert 1180 < rate < 1500


def test_the_model_of_the_chip_answers_every_probe(target: TclTarget) -> None:
    probes = {probe.name: probe for probe in target.probes()}
    assert probes["stream.f4_e2"].value == pytest.approx(probes["stream.bf16"].value, rel=0.02)
    assert probes["rows.3800"].value > 2 * probes["rows.3840"].value
    assert probes["start.dma"].value == 300
    # More than the lanes can take, which is why estimates do not leave it at that.
    assert probes["price.vector_pass"].value > 62_914_560 / lane_cycles(62_914_560, 8)
    assert probes["scaling.2pe"].value == pytest.approx(102295 / 26668)
    assert probes["contract.f8_e4"].value > probes["contract.bf16"].value > 0
