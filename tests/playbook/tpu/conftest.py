"""A TPU target with a toolchain of its own, shared by the tests of this folder; they skip where pip cannot get one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kernelwright.hardware.target import TargetError
from kernelwright.hardware.tpu import TpuTarget
from support.tpu_toolchain import environment, wanted_level


@pytest.fixture(scope="session")
def target_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], TpuTarget]]:
    """The target for a chip."""
    try:
        path: Path = environment().path
    except TargetError as error:
        pytest.skip(f"no toolchain of the target tpu can be made: {error}")
    made: dict[str, TpuTarget] = {}

    def target(chip: str) -> TpuTarget:
        if chip not in made:
            cache = tmp_path_factory.mktemp(f"tpu-{chip}")
            made[chip] = TpuTarget(chip=chip, environment=path, sandbox=wanted_level(path), cache=cache)
        return made[chip]

    yield target
    for each in made.values():
        each.shop.close()
