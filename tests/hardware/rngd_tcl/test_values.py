"""Values by the vendor's environment (7 GB): run with `-m campaign`. It is installed where it is not there yet.

Recorded, furiosa-torch 2026.4.0 with PyTorch 2.10.0, on 2 busy cores: tiny designs take 25 to 36 s each, nearly all of which is
the start of PyTorch; at full size the best designs by estimate of the three kernels were right on all 6 input families in 66,
23 and 58 s, with the largest error at 0.52, 0.27 and 0.37 of its bound.
"""

from __future__ import annotations

import pytest
from kernelwright.agents.playbook.rngd.levers import KERNELS
from kernelwright.agents.playbook.rngd.space import space
from kernelwright.agents.playbook.space import Place
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.tcl.target import TclTarget
from kernelwright.kernels import registry
from kernelwright.knowledge.checking import check_claim
from kernelwright.knowledge.claims import claims_of
from kernelwright.knowledge.documents import sections
from support.rngd.tcc import SUM, tiny_sum

from .conftest import Make

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(3000)]


@pytest.fixture
def target(make: Make) -> TclTarget:
    return make(torch=True)


@pytest.mark.parametrize("kernel", KERNELS)
def test_baseline_and_whole_designs_are_right(target: TclTarget, kernel: str) -> None:
    spec = registry.TINY[kernel]()
    here = space(Place("rngd", kernel, spec.dimensions))
    assert here is not None
    sources = {"baseline": target.baseline(spec), **{whole.title: here.emit(whole.design) for whole in here.wholes()}}
    checked = 0
    with target.open(spec, 1) as bench:
        for title, source in sources.items():
            built = target.build(spec, source)
            if not built.ok:  # the compiler's to refuse: a rule, not a wrong design
                continue
            report = bench.verify(built, 5)
            assert report.outcome is Outcome.OK, f"{title}: {report.reason}"
            checked += 1
    assert checked >= 3


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ("%2 + %1", "%2 + %1", Outcome.OK),
        ("%2 + %1", "%2 - %1", Outcome.WRONG_VALUE),
        ("ve.exec(+ t[K] %0)", "ve.exec(max_f t[K] %0)", Outcome.WRONG_VALUE),
        ("%2 + %1", "%2 / f0.0", Outcome.NOT_FINITE),
    ],
)
def test_wrong_values_are_found(target: TclTarget, old: str, new: str, outcome: Outcome) -> None:
    spec, source = tiny_sum(), SUM.replace(old, new)
    if "%1)" not in source:
        source = source.replace("write.to", "%4 = ve.exec(%3 + %1)\n        write.to")
    built = target.build(spec, source)
    assert built.ok, built.diagnostics
    with target.open(spec, 3) as bench:
        assert bench.verify(built, 4).outcome is outcome


def test_what_the_guide_says_of_values_holds(target: TclTarget) -> None:
    held = 0
    for document in target.documentation():
        for claim in (c for s in sections(document) for c in claims_of(s, ("tcl",))):
            if claim.snippet is not None and claim.expectation is not None and claim.expectation.kind == "yields":
                found = check_claim(target, claim.snippet, claim.expectation, {}, 7)
                assert found.outcome == "held", found.reason
                held += 1
    assert held
