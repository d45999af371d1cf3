"""The dialect, the levers and the points of the space of C."""

from __future__ import annotations

import pytest
from kernelwright.agents.playbook.cpu.isa import Isa, from_macros
from kernelwright.agents.playbook.cpu.levers import KERNELS
from kernelwright.agents.playbook.cpu.space import CpuSpace
from kernelwright.agents.playbook.space import DesignKey, Place, key, points, small_changes, start, valid
from kernelwright.agents.playbook.spaces import find_space

AVX2_MACROS = {"__AVX2__", "__FMA__", "__F16C__", "__x86_64__"}
AVX512_MACROS = AVX2_MACROS | {"__AVX512F__", "__AVX512BW__", "__AVX512VL__", "__AVX512DQ__"}
EVERY_ISA = (
    from_macros(AVX512_MACROS | {"__AVX512VNNI__", "__AVX512BF16__", "__AVX512VBMI__"}),
    from_macros(AVX512_MACROS),
    from_macros(AVX2_MACROS),
    from_macros({"__aarch64__", "__ARM_NEON", "__ARM_FEATURE_DOTPROD"}),
    from_macros({"__aarch64__", "__ARM_NEON"}),
    from_macros(set()),
)


@pytest.mark.parametrize(
    ("macros", "isa"),
    [
        (set(), Isa("portable")),
        ({"__AVX2__", "__x86_64__"}, Isa("portable")),
        (AVX2_MACROS, Isa("avx2")),
        (AVX512_MACROS, Isa("avx512")),
        (AVX512_MACROS | {"__AVX512VNNI__"}, Isa("avx512", frozenset({"vnni"}))),
        ({"__aarch64__", "__ARM_NEON"}, Isa("neon")),
        ({"__ARM_NEON"}, Isa("portable")),
    ],
)
def test_the_macros_decide_the_dialect(macros: set[str], isa: Isa) -> None:
    assert from_macros(macros) == isa


@pytest.mark.parametrize("isa", EVERY_ISA, ids=lambda isa: "-".join([isa.dialect, *sorted(isa.features)]))
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_space_is_large_and_consistent(kernel: str, isa: Isa) -> None:
    space = CpuSpace(kernel, isa)
    assert points(space) > 1000
    wholes = space.wholes()
    assert len({key(space, whole.design) for whole in wholes}) == len(wholes)
    for whole in wholes:
        assert valid(space, whole.design)
        changes = small_changes(space, whole.design)
        keys = {key(space, change.design) for change in changes}
        assert len(keys) == len(changes) > 10
        assert key(space, whole.design) not in keys
        for change in changes:
            assert valid(space, change.design)
            assert change.design["decode"] == whole.design["decode"]
            assert all(change.design[name] == value for name, value in change.moves.items())


def test_the_compiler_s_macros_choose_the_space() -> None:
    assert find_space(Place("cpu", KERNELS[0], macros=dict.fromkeys(AVX2_MACROS, "1"))) == CpuSpace(
        KERNELS[0], Isa("avx2")
    )


def test_a_kernel_of_a_user_has_no_space() -> None:
    assert find_space(Place("cpu", "softmax")) is None


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_keys_mean_equal_sources_and_other_keys_other_sources(kernel: str) -> None:
    space = CpuSpace(kernel, Isa("avx2"))
    base = start(space)
    sources: dict[str, DesignKey] = {}
    for lever in space.levers:
        for value in lever.values:
            design = space.canonical({**base, lever.name: value})
            source = space.emit(design)
            body = source[source.index("*/") :]
            assert sources.setdefault(body, key(space, design)) == key(space, design), (lever.name, value)
