"""The guide that ships with the TPU target says nothing that its toolchain does not do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kernelwright.hardware.target import TargetError
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.knowledge.checking import check_claim
from kernelwright.knowledge.claims import Claim, claims_of
from kernelwright.knowledge.documents import sections
from support.tpu_toolchain import environment, wanted_level


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TpuTarget]:
    try:
        path = environment().path
    except TargetError as error:
        pytest.skip(f"no toolchain of the target tpu can be made: {error}")
    made = TpuTarget(environment=path, sandbox=wanted_level(path), cache=tmp_path_factory.mktemp("cache"))
    yield made
    made.shop.close()


def claims(target: TpuTarget) -> list[Claim]:
    languages = target.snippets().languages
    return [c for d in target.documentation() for s in sections(d) for c in claims_of(s, languages)]


def test_every_block_of_code_in_the_guide_became_a_claim_that_can_be_checked() -> None:
    target = TpuTarget()
    blocks = sum(document.text.count("\n```python") for document in target.documentation())
    made = claims(target)
    assert sum(c.snippet is not None and c.expectation is not None for c in made) == blocks >= 20


def test_every_snippet_of_the_guide_does_what_it_says(target: TpuTarget) -> None:
    failed = {}
    for claim in claims(target):
        if claim.snippet is not None and claim.expectation is not None:
            found = check_claim(target, claim.snippet, claim.expectation, {}, 7)
            if found.outcome != "held":
                failed[claim.sentence] = found.reason
    assert not failed
