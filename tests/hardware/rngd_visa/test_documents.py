"""The documents of the visa toolchain: claims to be checked, each under a source; figures agree with the code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kernelwright.events.log import EventLog
from kernelwright.graph.relearn import Study
from kernelwright.hardware.rngd.chip import FACTS, STREAM_BYTES_PER_CYCLE
from kernelwright.hardware.rngd.visa.floor import floor_cycles, floor_probe, stream_probe
from kernelwright.hardware.rngd.visa.reference import REFERENCES, compared, public_geomean, reference_of
from kernelwright.hardware.rngd.visa.target import documents
from kernelwright.kernels.registry import kernel
from kernelwright.knowledge.claims import claims_of
from kernelwright.knowledge.documents import sections
from kernelwright.knowledge.probing import doubt, rests_on

from .conftest import Make


def test_each_section_with_claims_names_its_source() -> None:
    rules = 0
    for document in documents():
        for section in sections(document):
            claims = claims_of(section, ())
            if claims and section.heading.count(">"):
                assert "Source:" in section.text, section.heading
            rules += len(claims) if document.name.endswith("rules.md") else 0
    assert rules >= 25


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def test_what_is_stated_is_unchecked_knowledge(make: Make, log: EventLog) -> None:
    """Claims without a way to try them are written down as unchecked, and nothing is due for them."""
    target = make()
    study = Study(log, target, {})
    assert study.read(target.documentation()) >= 25
    assert study.check(lambda *_: pytest.fail("nothing here can be checked")) == 0
    found = {item.standing(study.toolchain, study.known.toolchains).status for item in study.known.claims.values()}
    assert found == {"unchecked"}


def test_figures_have_sources_and_are_those_of_the_documents() -> None:
    text = " ".join(document.text for document in documents())
    for fact in FACTS:
        assert fact.source
        assert not fact.tried
    assert f"{STREAM_BYTES_PER_CYCLE[0]:.0f} to {STREAM_BYTES_PER_CYCLE[2]:.0f} bytes a device cycle" in text
    for each in REFERENCES:
        row = (
            f"| {each.kernel} | {each.baseline_cycles:,} | about {each.public_best_cycles:,} | {each.weight_bytes:,} |"
        )
        assert row in text


def test_references_are_of_our_kernels() -> None:
    for each in REFERENCES:
        assert kernel(each.kernel).streamed_bytes == each.weight_bytes
        # The best public result is near its floor, as streaming was seen to run.
        assert 1.0 < each.public_best_cycles / floor_cycles(each.weight_bytes) < 1.25
    assert public_geomean() == pytest.approx(10.7, abs=0.05)
    found = compared("sliding_project_qkv", 58_300 / 2e9)
    assert found is not None
    assert found["speedup_over_official_baseline"] == pytest.approx(250_514 / 58_300)
    assert found["ratio_to_public_best"] == pytest.approx(1.0)
    assert compared("softmax", 1.0) is None
    assert reference_of("softmax") is None


def test_the_floor_is_a_probe_that_says_it_was_not_measured() -> None:
    stream = stream_probe()
    assert stream.value == 620
    assert stream.conditions["measured"].startswith("no")
    assert rests_on(stream) == "chip"
    assert doubt(stream, [stream]) == ""
    spec = kernel("decoder_feedforward")
    floor = floor_probe(spec)
    assert floor.value == pytest.approx(99_532_800 / 620 / 2e9)
    assert floor.value - floor.spread < 99_532_800 / 650 / 2e9 * 1.01
    assert floor_probe(spec, 700.0).value < floor.value
    assert floor_probe(spec, 700.0).conditions["source"].startswith("a probe")
