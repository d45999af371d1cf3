"""The contract of a Pallas design: what the text and the entry say for every kernel."""

from __future__ import annotations

import dataclasses

import pytest
from kernelwright.hardware.target import TargetError
from kernelwright.hardware.tpu.contract import JAX_TYPES, contract, inputs, prototype
from kernelwright.kernels.registry import BUILT_IN
from kernelwright.kernels.spec import DTYPES


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_kernel_has_a_contract_that_names_all_it_promises(name: str) -> None:
    spec = BUILT_IN[name]()
    text = contract(spec)
    assert prototype(spec) in text
    for argument in spec.arguments:
        assert f"\n- {argument.name}: " in text
    for dimension, value in spec.dimensions.items():
        assert f"{dimension} = {value}" in text


def test_the_entry_takes_what_has_a_value_and_returns_what_is_written() -> None:
    spec = BUILT_IN["sliding_project_qkv"]()
    assert [a.name for a in inputs(spec)][-3:] == ["position", "k_cache", "v_cache"]
    assert prototype(spec).endswith("# returns (k_cache, v_cache, q)")


def test_every_element_type_has_a_carrier() -> None:
    assert JAX_TYPES.keys() == DTYPES.keys()


def test_a_name_that_python_reserves_is_refused() -> None:
    spec = dataclasses.replace(BUILT_IN["sliding_project_qkv"](), dimensions={"lambda": 3})
    with pytest.raises(TargetError, match="'lambda' is not a name in Python"):
        contract(spec)
