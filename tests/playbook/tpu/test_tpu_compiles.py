"""Designs of the space of Pallas at full size: what compiles, how close it comes to the floor, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from kernelwright.agents.playbook.space import Value, start
from kernelwright.agents.playbook.tpu.emit import KERNELS
from kernelwright.agents.playbook.tpu.space import TpuSpace
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.study import Estimate
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.kernels.registry import kernel

Target = Callable[[str], TpuTarget]


def source(name: str, changes: Mapping[str, Value]) -> str:
    space = TpuSpace(name, kernel(name).dimensions)
    return space.emit(space.canonical({**start(space), **changes}))


def estimated(target: TpuTarget, name: str, text: str) -> Estimate:
    spec = kernel(name)
    built = target.build(spec, text)
    assert built.ok, built.diagnostics
    found = target.estimate(spec, built, {})
    assert found is not None
    return found


@pytest.mark.parametrize("chip", ["v5e", "v6e"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_first_design_is_near_the_floor_and_far_from_the_baseline(target_of: Target, name: str, chip: str) -> None:
    target, spec = target_of(chip), kernel(name)
    good = estimated(target, name, source(name, {}))
    floor = spec.streamed_bytes / target.chip.core_bytes_per_second
    assert floor < good.seconds < 1.25 * floor
    assert good.limit == "HBM"
    assert good.details["hbm_bytes_per_weight_byte"] < 1.05
    assert estimated(target, name, target.baseline(spec)).seconds > 2.2 * good.seconds


REFUSED: tuple[tuple[str, str, Mapping[str, Value], str], ...] = (
    ("v5e", "sliding_project_qkv", {"split": 4}, "divisible by 8 and 128"),
    ("v5e", "decoder_feedforward", {"rows": 192}, "divisible by 8 and 128"),
    ("v5e", "sliding_project_qkv", {"rows": 2048}, "CompileTimeScopedVmemOom"),
    ("v5e", "decoder_feedforward", {"decode": "native"}, "Changing bitwidths not supported"),
    ("v6e", "decoder_feedforward", {"decode": "float4"}, "f4E2M1FN"),
    ("v5e", "decoder_feedforward", {"chunk": 64}, "CompileTimeMosaicUnprovenMemoryAccessAlignment"),
    ("v5e", "sliding_attention_output", {"buffers": 3}, "Only single (1) and double (2) buffering"),
    ("v6e", "sliding_attention_output", {"sum": "bf16"}, "matmul acc to be 32-bit"),
    ("v6e", "sliding_attention_output", {"precision": "highest"}, "Bad lhs type"),
    ("v5e", "sliding_attention_output", {"input": "scalars"}, "Can only load scalars from SMEM"),
    ("v5e", "sliding_attention_output", {"input": "outside"}, "Loads are only allowed on VMEM and SMEM"),
    ("v6e", "sliding_attention_output", {"steps": "core_parallel"}, "number of active cores"),
    ("v4", "decoder_feedforward", {}, "CompileTimeMosaicUnsupportedRhsType"),
)


@pytest.mark.parametrize(("chip", "name", "changes", "said"), REFUSED, ids=lambda v: str(v)[:40])
def test_the_compiler_refuses_what_it_does_not_take(
    target_of: Target, chip: str, name: str, changes: Mapping[str, Value], said: str
) -> None:
    built = target_of(chip).build(kernel(name), source(name, changes))
    assert built.outcome is Outcome.BUILD_FAILED
    assert said in built.diagnostics
