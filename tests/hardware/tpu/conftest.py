"""A TPU target with a toolchain of its own, shared by the tests of this folder; they skip where pip cannot get one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kernelwright.hardware.environments import Environment
from kernelwright.hardware.target import TargetError
from kernelwright.hardware.tpu import TpuTarget
from support.tpu_toolchain import environment, wanted_level


@pytest.fixture(scope="session")
def toolchain_environment() -> Environment:
    """The default toolchain, installed by pip when it is not there yet (about a minute)."""
    try:
        return environment()
    except TargetError as error:
        pytest.skip(f"no toolchain of the target tpu can be made: {error}")


@pytest.fixture(scope="session")
def target(toolchain_environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TpuTarget]:
    """The target under test: v5e, a cache of its own."""
    path = toolchain_environment.path
    made = TpuTarget(environment=path, sandbox=wanted_level(path), cache=tmp_path_factory.mktemp("tpu-cache"))
    yield made
    made.shop.close()


@pytest.fixture(scope="session")
def folder() -> Path:
    """The recorded dumps and the sources of this folder's tests."""
    return Path(__file__).parent
