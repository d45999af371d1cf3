"""Does the estimate put designs in the right order? Pairs of which one is better by argument, through the real compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kernelwright.hardware.study import Estimate
from kernelwright.hardware.tpu import TpuTarget

from .pairs import PAIRS, PLAIN, product

Estimator = Callable[[str, str, str], Estimate]


@pytest.fixture(scope="module")
def estimated(target: TpuTarget, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estimator]:
    """Estimates a source for a type of the matrix and a chip; builds are kept, so that each is compiled once."""
    cache = tmp_path_factory.mktemp("pairs")
    targets: dict[str, TpuTarget] = {}

    def estimate(source: str, dtype: str, chip: str) -> Estimate:
        if chip not in targets:
            targets[chip] = TpuTarget(environment=target.found.path, sandbox=target.wanted, cache=cache, chip=chip)
        spec = product(dtype)
        built = targets[chip].build(spec, source)
        assert built.ok, built.diagnostics
        found = targets[chip].estimate(spec, built, {})
        assert found is not None
        assert found.details["whole"] == 1.0
        return found

    yield estimate
    for made in targets.values():
        made.shop.close()


def test_there_are_at_least_twenty() -> None:
    assert len(PAIRS) >= 20


@pytest.mark.parametrize("name", PAIRS)
def test_the_better_design_has_the_smaller_estimate(estimated: Estimator, name: str) -> None:
    pair = PAIRS[name]
    better = estimated(pair.better, pair.types[0], pair.chips[0])
    worse = estimated(pair.worse, pair.types[1], pair.chips[1])
    assert better.seconds < worse.seconds, f"{pair.why}: {better} {worse}"


def test_a_streaming_design_moves_what_it_must_and_is_limited_by_memory(estimated: Estimator) -> None:
    spec = product()
    found = estimated(PLAIN, "bf16", "v5e")
    assert found.details["hbm_bytes"] == pytest.approx(spec.streamed_bytes + 8 * 4096 * 4 + 8 * 1024 * 2, rel=0.01)
    floor = spec.streamed_bytes / 819e9
    assert floor < found.seconds < 1.35 * floor
    assert found.limit == "HBM"
