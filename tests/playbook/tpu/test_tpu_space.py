"""The levers and the points of the space of Pallas."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernelwright.agents.playbook.space import DesignKey, Place, Space, key, points, small_changes, start, valid
from kernelwright.agents.playbook.spaces import find_space
from kernelwright.agents.playbook.tpu.emit import KERNELS
from kernelwright.agents.playbook.tpu.space import TpuSpace
from kernelwright.hardware.tpu.review import review
from kernelwright.kernels.registry import kernel


def space_of(name: str) -> TpuSpace:
    return TpuSpace(name, kernel(name).dimensions)


@pytest.mark.parametrize("name", KERNELS)
def test_the_space_is_large_and_consistent(name: str) -> None:
    space = space_of(name)
    assert isinstance(space, Space)
    assert points(space) > 1000
    wholes = space.wholes()
    assert len({key(space, whole.design) for whole in wholes}) == len(wholes)
    for whole in wholes:
        assert valid(space, whole.design)
        changes = small_changes(space, whole.design)
        assert len({key(space, change.design) for change in changes}) == len(changes) > 10
        assert all(valid(space, change.design) for change in changes)
        assert all(change.design["decode"] == whole.design["decode"] for change in changes)


@pytest.mark.parametrize("name", KERNELS)
def test_rows_divide_what_they_are_rows_of(name: str) -> None:
    dimensions = kernel(name).dimensions
    wholes = {
        "rows": {
            "sliding_attention_output": dimensions["HIDDEN"],
            "sliding_project_qkv": dimensions.get("KV_HEADS", 0) * dimensions.get("HEAD_DIM", 0),
            "decoder_feedforward": dimensions.get("INTERMEDIATE", 0),
        }[name],
        "down_rows": dimensions["HIDDEN"],
    }
    for lever in space_of(name).levers:
        if lever.name in wholes:
            assert all(wholes[lever.name] % int(value) == 0 for value in lever.values)
            assert len(lever.values) >= 3


def test_the_space_is_found_by_the_name_of_the_target() -> None:
    name = KERNELS[0]
    assert find_space(Place("tpu", name, kernel(name).dimensions)) == space_of(name)
    assert find_space(Place("tpu", "softmax")) is None


@pytest.mark.parametrize("name", KERNELS)
def test_equal_keys_mean_equal_sources_and_other_keys_other_sources(name: str) -> None:
    space = space_of(name)
    sources: dict[str, DesignKey] = {}
    for lever in space.levers:
        for value in lever.values:
            design = space.canonical({**start(space), lever.name: value})
            body = space.emit(design).split('"""', 2)[2]
            assert sources.setdefault(body, key(space, design)) == key(space, design), (lever.name, value)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(KERNELS))
def test_every_point_is_python_that_the_contract_lets_pass(data: st.DataObject, name: str) -> None:
    space = space_of(name)
    drawn = {lever.name: data.draw(st.sampled_from(lever.values)) for lever in space.levers}
    source = space.emit(space.canonical(drawn), "A drawn point.")
    ast.parse(source)
    assert "$" not in source
    reviewed = review(kernel(name), source)
    assert reviewed.ok, reviewed.reason
