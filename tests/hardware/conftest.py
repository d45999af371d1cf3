"""A CPU target with a cache of its own and short limits, shared by the tests of this folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.cpu.bench import CpuBench
from kernelwright.hardware.lease import RUNTIME_VARIABLE
from kernelwright.hardware.sandbox.jail import Wanted
from kernelwright.hardware.target import TargetError
from support.toy_kernel import SETTINGS, toy


def level() -> Wanted:
    """The sandbox to test with: the full one where it works."""
    try:
        _ = CpuTarget(sandbox="full").jail
    except TargetError:
        return "reduced"
    return "full"


@pytest.fixture(scope="session", autouse=True)
def own_leases() -> Iterator[None]:
    """Leases of these tests are their own, so that they neither wait for a run on this host nor disturb it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[RUNTIME_VARIABLE] = folder
        yield
        del os.environ[RUNTIME_VARIABLE]


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> CpuTarget:
    """The target under test; skips where there is no compiler."""
    cache: Path = tmp_path_factory.mktemp("cache")
    made = CpuTarget(sandbox=level(), cache=cache, settings=SETTINGS, build_seconds=60.0)
    try:
        made.toolchain()
    except TargetError as error:
        pytest.skip(str(error))
    return made


@pytest.fixture(scope="session")
def bench(target: CpuTarget) -> Iterator[CpuBench]:
    """A bench of the toy kernel."""
    opened = target.open(toy(), 12345)
    assert isinstance(opened, CpuBench)
    with opened:
        yield opened
