"""Vetoes are audited, rules corrected, estimates trusted as far as their record goes; probes are doubted in time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.acceptance.policy import Policy
from kernelwright.events.experience import EstimatePaired, VetoAudited
from kernelwright.events.knowledge import RuleDerived
from kernelwright.events.views.items import RuleItem
from kernelwright.events.views.knowledge import KnowledgeView
from kernelwright.events.views.standing import Finding
from kernelwright.hardware.target import Probe
from kernelwright.knowledge.probing import doubt, interval, moved, rests_on
from kernelwright.knowledge.trust import Trust, screen, trust_in
from kernelwright.knowledge.veto import COIN_BITS, correct, veto

HEAD: dict[str, Any] = {
    "originator_id": UUID(int=1),
    "originator_version": 1,
    "previous": "",
    "at": datetime(2026, 1, 1, tzinfo=UTC),
    "toolchain": "t",
}
RUNGS = ((("_Rare",),), (("_Rare", "<name>", ";"),))


def rule(audits: tuple[bool, ...] = (), level: int = 0) -> RuleItem:
    derived = RuleDerived(
        **HEAD,
        rule="r-1",
        kind="compile-error",
        explanation="the compiler refuses it",
        condition=RUNGS,
        level=level,
        failing="f",
        passing="p",
        original="f",
        kernel="k",
        diagnostic="d",
        fingerprint="f",
        run="r",
        design="d0001",
        tries=3,
        depends=("compiler",),
    )
    made = [
        VetoAudited(**HEAD, rule="r-1", run="r", kernel="k", design="d", right=a, outcome="", seconds=0.1)
        for a in audits
    ]
    return RuleItem(derived, 1, level, [Finding("held", "t", ("compiler",), "f:1", 1)], audits=made)


def base(item: RuleItem) -> KnowledgeView:
    return KnowledgeView(toolchains={"t": {"compiler": "1"}, "u": {"compiler": "2"}}, rules={"r-1": item})


def test_a_valid_rule_vetoes_what_it_matches_and_names_itself_and_its_record() -> None:
    known = base(rule((True, True, False)))
    found = veto(known, Policy(), "t", "_Rare a;", 2**COIN_BITS - 1)
    assert found is not None
    assert not found.audited
    assert "r-1" in found.reason
    assert "right in 2 of 3 audits" in found.reason
    assert veto(known, Policy(), "t", "int a;", 0) is None


def test_a_stale_rule_vetoes_nothing() -> None:
    assert veto(base(rule()), Policy(), "u", "_Rare a;", 0) is None


@given(st.integers(0, 2**COIN_BITS - 1), st.floats(0, 1))
def test_the_audited_share_is_the_policy_s(coin: int, share: float) -> None:
    found = veto(base(rule()), Policy(veto_audit_share=share), "t", "_Rare a;", coin)
    assert found is not None
    assert found.audited == (coin < share * 2**COIN_BITS)


def test_a_rule_that_vetoes_what_passes_is_narrowed_then_retired() -> None:
    wrong = rule((False,))
    narrowed = correct(wrong, Policy(), "f(_Rare);")
    assert narrowed is not None
    assert narrowed.level == 1
    retired = correct(wrong, Policy(), "_Rare a;")
    assert retired is not None
    assert retired.level is None
    assert correct(rule((True,) * 19 + (False,)), Policy(), "_Rare a;") is None


def pair(estimated: float, measured: float, sampled: bool = False, accepted: bool = False) -> EstimatePaired:
    return EstimatePaired(
        **HEAD,
        run="r",
        kernel="k",
        design="d",
        change="rows",
        estimated=estimated,
        measured=measured,
        resolution=0.01,
        sampled=sampled,
        accepted=accepted,
        evidence=(),
        depends=("compiler",),
    )


def test_trust_counts_signs_that_the_device_could_tell() -> None:
    pairs = [
        pair(0.2, 0.1),
        pair(-0.2, 0.1),
        pair(0.2, 0.005),
        pair(-0.3, -0.2, sampled=True),
        pair(-0.3, 0.2, True, True),
    ]
    found = trust_in(pairs)
    assert (found.pairs, found.agreed, found.sampled, found.wrong) == (4, 2, 2, 1)
    assert found.share == pytest.approx(0.5)
    assert found.wrongly_dropped == pytest.approx(0.5)
    assert trust_in([]).share is None


def test_an_estimate_drops_only_when_it_has_earned_it() -> None:
    policy = Policy(estimate_min_pairs=4, estimate_sign_share=0.75, estimate_audit_share=0.25)
    heads = 2**COIN_BITS - 1
    assert not screen(policy, Trust(3, 3, 0, 0), -0.5, heads).drop
    assert not screen(policy, Trust(8, 5, 0, 0), -0.5, heads).drop
    assert screen(policy, Trust(4, 3, 0, 0), -0.5, heads).drop
    assert not screen(policy, Trust(4, 4, 0, 0), -0.01, heads).drop
    sample = screen(policy, Trust(4, 4, 0, 0), -0.5, 0)
    assert (sample.drop, sample.sampled) == (False, True)


def probe(value: float, spread: float = 0.1, **conditions: str) -> Probe:
    return Probe(f"bandwidth.{value:g}", "how fast?", value, "GB/s", spread, 9, conditions)


def test_probes_are_doubted_for_every_reason_there_is() -> None:
    good = probe(30.0, footprint_bytes="1024", threads="1")
    assert doubt(good, [good]) == ""
    assert "no reading" in doubt(probe(0.0), [])
    assert "no reading" in doubt(probe(float("nan")), [])
    assert "optimizer" in doubt(probe(30.0, work_shown="no"), [])
    assert "spread" in doubt(probe(30.0, spread=20.0), [])
    assert "above what the chip can do" in doubt(probe(30.0, ceiling="20"), [])
    larger = probe(60.0, footprint_bytes="4096", threads="1")
    assert "larger footprint" in doubt(good, [good, larger])
    assert doubt(good, [good, probe(60.0, footprint_bytes="4096", threads="2")]) == ""


def test_readings_say_what_they_rest_on() -> None:
    assert rests_on(probe(1.0)) == "chip"
    assert rests_on(probe(1.0, rests_on="runtime")) == "runtime"
    assert rests_on(Probe("call", "?", 1.0, "s", 0.0, 1, {})) == "code"


def test_a_reading_has_moved_when_the_intervals_part() -> None:
    assert moved((10.0, 0.1, 9), (12.0, 0.1, 9))
    assert not moved((10.0, 2.0, 9), (12.0, 2.0, 9))
    low, high = interval(10.0, 0.0, 1)
    assert low == high == 10.0
