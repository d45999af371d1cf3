"""The guide that ships with the target says nothing that its toolchain does not do."""

from __future__ import annotations

from kernelwright.hardware.concerns import CONCERNS, depends_on
from kernelwright.hardware.environments import Installs
from kernelwright.hardware.rngd.tcl.target import TclTarget
from kernelwright.hardware.study import Documented, Estimates, Stamped, TriesSnippets
from kernelwright.knowledge.checking import check_claim
from kernelwright.knowledge.claims import Claim, claims_of
from kernelwright.knowledge.documents import sections


def claims(target: TclTarget) -> list[Claim]:
    return [c for d in target.documentation() for s in sections(d) for c in claims_of(s, ("tcl",))]


def test_every_snippet_of_the_guide_does_what_it_says(target: TclTarget) -> None:
    checkable = [c for c in claims(target) if c.snippet is not None and c.expectation is not None]
    blocks = sum(document.text.count("\n```tcl") for document in target.documentation())
    assert len(checkable) == blocks >= 15
    failed = {}
    for claim in checkable:
        assert claim.snippet is not None
        assert claim.expectation is not None
        found = check_claim(target, claim.snippet, claim.expectation, {}, 7)
        # What a snippet computes cannot be told without the environment that evaluates.
        if found.outcome != ("unable" if claim.expectation.kind == "yields" else "held"):
            failed[claim.sentence] = f"{found.outcome}: {found.reason}"
    assert not failed


def test_the_target_offers_what_learning_and_installing_ask_for(target: TclTarget) -> None:
    for protocol in (Documented, TriesSnippets, Stamped, Estimates, Installs):
        assert isinstance(target, protocol)
    parts = target.toolchain().parts.keys()
    for concern in CONCERNS:
        assert set(depends_on(target, concern)) <= parts
