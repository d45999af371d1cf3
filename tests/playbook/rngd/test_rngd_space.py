"""The space of TCL: every design that it can write keeps to the contract of its kernel, at full and at tiny sizes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernelwright.agents.playbook.rngd.levers import KERNELS
from kernelwright.agents.playbook.rngd.space import TclSpace, space
from kernelwright.agents.playbook.space import Place, Space, key, small_changes, valid
from kernelwright.agents.playbook.spaces import find_space
from kernelwright.hardware.rngd.tcl.program import parse, without_comments
from kernelwright.hardware.rngd.tcl.review import review
from kernelwright.kernels import registry
from kernelwright.kernels.spec import KernelSpec


def spaces() -> list[tuple[KernelSpec, TclSpace]]:
    made = []
    for name in KERNELS:
        for spec in (registry.BUILT_IN[name](), registry.TINY[name]()):
            found = space(Place("rngd", name, spec.dimensions))
            assert found is not None
            made.append((spec, found))
    return made


SPACES = spaces()


@given(st.sampled_from(SPACES), st.data())
@settings(deadline=None, max_examples=150)
def test_every_design_keeps_to_the_contract(place: tuple[KernelSpec, TclSpace], data: st.DataObject) -> None:
    spec, here = place
    design = {lever.name: data.draw(st.sampled_from(lever.values), lever.name) for lever in here.levers}
    assert valid(here, here.canonical(design))
    report = review(spec, here.emit(design, "A title.\nAnd more."))
    assert report.ok, report.reason


@pytest.mark.parametrize(("spec", "here"), SPACES, ids=lambda each: getattr(each, "name", ""))
def test_designs_that_are_told_apart_are_written_differently(spec: KernelSpec, here: TclSpace) -> None:
    texts: dict[str, object] = {}
    for whole in here.wholes():
        for design in (whole.design, *(change.design for change in small_changes(here, whole.design))):
            text = without_comments(here.emit(design))
            assert texts.setdefault(text, key(here, design)) == key(here, design)
            assert parse(text).name == spec.name


def test_the_space_is_found_by_the_target_and_needs_the_sizes() -> None:
    spec = registry.kernel("decoder_feedforward")
    found = find_space(Place("rngd", spec.name, spec.dimensions))
    assert isinstance(found, Space)
    assert find_space(Place("rngd", spec.name, {})) is None
    assert find_space(Place("rngd", "another", spec.dimensions)) is None


def test_f4_is_the_operand_that_streams() -> None:
    """As the second operand of a pass it is priced, and refused when the compiler lowers it."""
    spec = registry.kernel("decoder_feedforward")
    here = space(Place("rngd", spec.name, spec.dimensions))
    assert here is not None
    for whole in here.wholes():
        program = parse(here.emit(whole.design))
        for statement in program.statements:
            reads = [program.tensor(name) for name in statement.reads]
            if statement.is_tensor_operation and any(each is not None and each.dtype == "f4_e2" for each in reads):
                assert reads[0] is not None
                assert reads[0].dtype == "f4_e2"
