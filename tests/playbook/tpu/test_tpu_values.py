"""Designs of the space of Pallas are right when they are interpreted, on every family of inputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest
from kernelwright.agents.playbook.space import Value, Whole, start
from kernelwright.agents.playbook.tpu.emit import KERNELS
from kernelwright.agents.playbook.tpu.space import TpuSpace
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.kernels import decoder_feedforward, sliding_attention_output, sliding_project_qkv
from kernelwright.kernels.registry import kernel
from kernelwright.kernels.spec import KernelSpec

Target = Callable[[str], TpuTarget]

_REFUSED: Mapping[str, set[Value]] = {
    "decode": {"native", "float4"},
    "buffers": {3, 4},
    "sum": {"bf16"},
    "precision": {"highest"},
    "steps": {"core_parallel", "subcore_parallel"},
    "input": {"scalars", "outside"},
}
"""Values that the compiler refuses for v5e: nothing is interpreted that was not compiled."""


# Small, and yet such that chunks of 128 bytes and blocks of 128 rows are parts of something.
MIDDLE: Mapping[str, KernelSpec] = {
    "sliding_project_qkv": sliding_project_qkv.make(
        hidden=256, heads=4, kv_heads=2, head_dim=128, window=8, positions=64
    ),
    "sliding_attention_output": sliding_attention_output.make(hidden=384, heads=4, head_dim=128),
    "decoder_feedforward": decoder_feedforward.make(hidden=256, intermediate=512),
}


def space_of(name: str) -> TpuSpace:
    return TpuSpace(name, kernel(name).dimensions)


def wholes() -> list[tuple[str, Whole]]:
    return [
        (name, whole)
        for name in KERNELS
        for whole in space_of(name).wholes()
        if whole.design["decode"] not in _REFUSED["decode"]
    ]


def drawn(name: str, seed: int) -> dict[str, str | int]:
    """A point that compiles, from all over the space."""
    rng = random.Random(f"{name} {seed}")
    space = space_of(name)
    values = {
        lever.name: [v for v in lever.values if v not in _REFUSED.get(lever.name, set())] for lever in space.levers
    }
    return dict(space.canonical({lever: rng.choice(each) for lever, each in values.items()}))


def right(target: TpuTarget, name: str, source: str) -> None:
    spec = MIDDLE[name]
    built = target.build(spec, source)
    assert built.ok, built.diagnostics
    with target.open(spec, seed=7) as bench:
        found = bench.verify(built, seed=8)
    assert found.ok, found.reason


@pytest.mark.parametrize(("name", "whole"), wholes(), ids=lambda v: v.title.split()[-1] if isinstance(v, Whole) else v)
def test_every_decode_is_right(target_of: Target, name: str, whole: Whole) -> None:
    right(target_of("v5e"), name, space_of(name).emit(whole.design))


@pytest.mark.parametrize("name", KERNELS)
def test_drawn_points_are_right(target_of: Target, name: str) -> None:
    """The first two points, drawn from all over the space, that compile at a size where blocks of 128 are parts."""
    target, spec, checked = target_of("v5e"), MIDDLE[name], 0
    for seed in range(20):
        built = target.build(spec, space_of(name).emit(drawn(name, seed)))
        if built.ok and checked < 2:
            checked += 1
            with target.open(spec, seed=7) as bench:
                found = bench.verify(built, seed=8)
            assert found.ok, (drawn(name, seed), found.reason)
    assert checked == 2


@pytest.mark.parametrize("name", KERNELS)
def test_parts_kernels_apart_and_their_like_are_right(target_of: Target, name: str) -> None:
    """What a tiny size would hide otherwise: several blocks, several parts, a loop with more than one turn."""
    space = space_of(name)
    changes: dict[str, str | int] = {"epilogue": "apart", "rows": 64}
    if name == "decoder_feedforward":
        changes |= {"down_rows": 64, "unroll": 1, "meet": "apart", "scales": "product", "rows": 128}
        changes |= {"down_rows": 128}
    else:
        changes |= {"split": 2, "order": "columns", "rows": 128 if name == "sliding_attention_output" else 256}
    right(target_of("v5e"), name, space.emit(space.canonical({**start(space), **changes})))
