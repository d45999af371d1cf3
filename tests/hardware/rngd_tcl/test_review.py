"""The screen by the contract, and the contract's own words."""

from __future__ import annotations

import pytest
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.tcl.contract import contract
from kernelwright.hardware.rngd.tcl.review import review
from kernelwright.hardware.rngd.tcl.template import filled
from kernelwright.hardware.target import TargetError
from kernelwright.kernels import registry
from kernelwright.kernels.spec import Argument
from support.rngd.tcc import SUM, tiny_sum


@pytest.mark.parametrize("kernel", [*registry.BUILT_IN])
def test_baselines_keep_to_their_contract(kernel: str) -> None:
    spec = registry.kernel(kernel)
    report = review(spec, filled(spec.baselines["rngd"], spec.dimensions))
    assert report.ok, report.reason
    text = contract(spec)
    assert all(argument.name in text for argument in spec.arguments)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("def tiny_sum", "def other", "signature"),
        ("a: [N, K]/bf16, b: [N]/bf16", "b: [N]/bf16, a: [N, K]/bf16", "signature"),
        ("K: Axis = 512", "K: Axis = 511", "signature"),
        ("b: [N]/bf16", "b: [N]/f32", "signature"),
        ("-> [N]/f32", "-> [N]/bf16", "signature"),
        ("def tiny_sum", "@compiler_config({})\ndef tiny_sum", "no-configuration"),
        ("tk.ReduceByVe", "tk.Anything", "operations"),
        ("    return total", "    z: [N]/f32 = visa_call(total)\n    return total", "operations"),
        ("    return total", "    z: [N, K]/bf16 = copy(src=total, dst=a)\n    return total", "signature"),
        ("+ t[K] %0", "+ t[K] %0\u202e", "plain-text"),
        ("    return total", "    return total, total", "program"),
        ("N: Axis = 256", "N: Axis = 256" + " " * 70000, "source-size"),
    ],
)
def test_what_breaks_the_contract_is_vetoed_by_name(old: str, new: str, rule: str) -> None:
    assert old in SUM
    report = review(tiny_sum(), SUM.replace(old, new, 1))
    assert report.outcome is Outcome.VETOED
    assert report.details["rule"] == rule, report.reason


def test_a_state_must_be_updated() -> None:
    spec = registry.kernel("sliding_project_qkv")
    source = filled(spec.baselines["rngd"], spec.dimensions)
    lines = [line for line in source.splitlines(keepends=True) if "copy(src=v_new" not in line]
    report = review(spec, "".join(lines))
    assert report.outcome is Outcome.VETOED
    assert "v_cache" in report.reason


def test_a_kernel_of_two_results_cannot_be_expressed() -> None:
    import dataclasses

    spec = tiny_sum()
    two = dataclasses.replace(spec, arguments=(*spec.arguments, Argument("more", "f32", (4,), "out")))
    with pytest.raises(TargetError, match="returns one tensor"):
        contract(two)
