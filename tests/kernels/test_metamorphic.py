"""Metamorphic relations hold for the baselines and break for wrong kernels, without a reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernelwright.kernels.metamorphic import broken_relations
from kernelwright.kernels.registry import TINY
from kernelwright.kernels.spec import Array, Inputs, KernelSpec

Compile = Callable[[KernelSpec, str], Callable[[Inputs], dict[str, Array]]]


def drawn(spec: KernelSpec, family: str) -> Inputs:
    return {**spec.draw_weights(np.random.default_rng(31)), **spec.draw_activations(np.random.default_rng(32), family)}


@pytest.mark.parametrize("name", TINY)
def test_they_hold_for_the_baselines(name: str, compile_kernel: Compile) -> None:
    spec = TINY[name]()
    assert spec.relations
    run = compile_kernel(spec, spec.baselines["cpu"])
    for family in spec.families:
        assert broken_relations(spec, run, drawn(spec, family)) == []


BREAKING = {
    "sliding_project_qkv": (
        "normalize_head(rows + head * HEAD_DIM, q_norm);",
        "rows[head * HEAD_DIM] += 2 * bf16_to_float(k_cache[0]); normalize_head(rows + head * HEAD_DIM, q_norm);",
        "queries do not depend on the caches",
    ),
    "sliding_attention_output": (
        "bf16_to_float(residual[i]) + normalized",
        "fabsf(bf16_to_float(residual[i])) + normalized",
        "residual passes through",
    ),
    "decoder_feedforward": (
        "sum += part * f8_to_float(scales[group]);",
        "if (scales[group] & 0x78) sum += part * f8_to_float(scales[group]);",
        "twice the block scales, half the global scale",
    ),
}


@pytest.mark.parametrize("name", TINY)
def test_they_break_for_wrong_kernels(name: str, compile_kernel: Compile) -> None:
    spec = TINY[name]()
    old, new, relation = BREAKING[name]
    source = spec.baselines["cpu"]
    assert old in source
    broken = broken_relations(spec, compile_kernel(spec, source.replace(old, new)), drawn(spec, "normal"))
    assert relation in {found.relation for found in broken}
    for found in broken:
        assert found.predicted != found.got
