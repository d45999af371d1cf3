"""The dialect, the levers and the points of the space."""

from __future__ import annotations

import pytest
from kernelwright.agents.playbook import space
from kernelwright.agents.playbook.emit import emit
from kernelwright.agents.playbook.isa import Isa, from_macros
from kernelwright.agents.playbook.levers import KERNELS, levers

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
    assert space.supported(kernel, isa)
    assert space.points(kernel, isa) > 1000
    wholes = space.whole_designs(kernel, isa)
    assert len({space.key(whole.design) for whole in wholes}) == len(wholes)
    for whole in wholes:
        assert space.valid(kernel, isa, whole.design)
        changes = space.small_changes(kernel, isa, whole.design)
        keys = {space.key(change.design) for change in changes}
        assert len(keys) == len(changes) > 10
        assert space.key(whole.design) not in keys
        for change in changes:
            assert space.valid(kernel, isa, change.design)
            assert all(change.design[name] == value for name, value in change.moves.items())


def test_a_kernel_of_a_user_has_no_space() -> None:
    assert not space.supported("softmax", Isa("avx2"))


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_keys_mean_equal_sources_and_other_keys_other_sources(kernel: str) -> None:
    isa = Isa("avx2")
    base = space.start(kernel, isa)
    sources: dict[str, space.DesignKey] = {}
    for lever in levers(kernel, isa):
        for value in lever.values:
            design = space.canonical({**base, lever.name: value})
            source = emit(kernel, isa, design)
            body = source[source.index("*/") :]
            assert sources.setdefault(body, space.key(design)) == space.key(design), (lever.name, value)
