"""Snippets of documentation as designs, through the real compiler; the toolchain's stamp."""

from __future__ import annotations

import pytest
from kernelwright.hardware.concerns import NamesParts, affected
from kernelwright.hardware.environments import Installs
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.study import Documented, Estimates, Stamped, TriesSnippets
from kernelwright.hardware.target import Target
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.hardware.tpu.learning import complete, snippet_spec

CALLS_A_KERNEL = """
import jax.numpy as jnp

def add_one(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1.0

result = pl.pallas_call(add_one, out_shape=jax.ShapeDtypeStruct((16, 256), jnp.float32))(jnp.zeros((16, 256)))
print(result)
"""
BODY = "y_ref[...] = jnp.tanh(x_ref[...])\n"


def test_the_target_keeps_every_part_of_its_protocols() -> None:
    made = TpuTarget()
    for protocol in (Target, Documented, TriesSnippets, Estimates, Stamped, Installs, NamesParts):
        assert isinstance(made, protocol)


@pytest.mark.parametrize("snippet", [CALLS_A_KERNEL, BODY], ids=["calls a kernel", "is a kernel's body"])
def test_a_snippet_that_is_right_builds_in_its_first_meaning(target: TpuTarget, snippet: str) -> None:
    made = target.build(snippet_spec(), complete(snippet)[0])
    assert made.ok, made.diagnostics


def test_what_a_snippet_calls_is_compiled_for_the_chip(target: TpuTarget) -> None:
    wrong = CALLS_A_KERNEL.replace("x_ref[...] + 1.0", "jnp.sort(x_ref[...])")
    outcomes = [target.build(snippet_spec(), source) for source in complete(wrong)[:1]]
    assert outcomes[0].outcome is Outcome.BUILD_FAILED
    assert "sort" in outcomes[0].diagnostics


def test_a_snippet_that_defines_the_entry_is_a_source() -> None:
    assert len(complete("def snippet(x):\n    return x\n")) == 1


def test_a_snippet_that_is_no_python_is_left_to_the_compiler(target: TpuTarget) -> None:
    made = target.build(snippet_spec(), complete("for in in in:")[0])
    assert made.outcome is Outcome.BUILD_FAILED
    assert "SyntaxError" in made.diagnostics


def test_the_stamp_changes_with_the_toolchains_alone(target: TpuTarget) -> None:
    assert target.toolchain_stamp() == target.toolchain_stamp()
    assert TpuTarget(toolchain="other").toolchain_stamp() != target.toolchain_stamp()


def test_a_change_of_chip_keeps_what_is_not_the_chips(target: TpuTarget) -> None:
    assert affected(target, ["chip"]) == ("compile", "chip", "code")
    assert "value" in affected(target, ["jax"])
    assert "chip" not in affected(target, ["libtpu"])
