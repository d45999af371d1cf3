"""A toolchain of the TPU target for tests: made once under a cache folder, as ``kernelwright toolchain add`` makes it."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
from kernelwright.hardware.environments import DATA_VARIABLE, Environment, add_environment
from kernelwright.hardware.sandbox.jail import Wanted
from kernelwright.hardware.target import TargetError
from kernelwright.hardware.tpu import TpuTarget

FOLDER_VARIABLE = "KERNELWRIGHT_TEST_TOOLCHAINS"
"""Environment variable that names the folder in which toolchains for tests are kept from one run of the tests to the next."""


def test_folder() -> Path:
    """Where toolchains for tests are kept."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("kernelwright") / "test-toolchains"


def environment(**options: str) -> Environment:
    """The environment for options of ``toolchain add tpu``, made where it is not there yet. Raises TargetError."""
    before = os.environ.get(DATA_VARIABLE)
    os.environ[DATA_VARIABLE] = str(test_folder())
    try:
        return add_environment("tpu", TpuTarget.recipe(options), lambda _line: None)
    finally:
        if before is None:
            del os.environ[DATA_VARIABLE]
        else:
            os.environ[DATA_VARIABLE] = before


def wanted_level(path: Path) -> Wanted:
    """The sandbox to test with: the full one where it works."""
    try:
        _ = TpuTarget(environment=path, sandbox="full").jail
    except TargetError:
        return "reduced"
    return "full"
