"""The real furiosa-tcc, both releases, and targets on it. Tests skip, with the reason, where it cannot be installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.environments import DATA_VARIABLE
from kernelwright.hardware.rngd.tcl.target import TclTarget
from kernelwright.hardware.sandbox.jail import Wanted
from kernelwright.hardware.target import TargetError
from support.rngd.tcc import folder, installed

NEW, OLD = "2026.4.0", "2026.3.0"
Make = Callable[..., TclTarget]


@pytest.fixture(scope="session")
def level() -> Wanted:
    """The sandbox to test with: the full one where it works; skips where there is no compiler for its launcher."""
    try:
        _ = CpuTarget().compiler
    except TargetError as error:
        pytest.skip(str(error))
    try:
        _ = CpuTarget(sandbox="full").jail
    except TargetError:
        return "reduced"
    return "full"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all: the sandbox's launcher is compiled once, and equal programs are evaluated once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def make(level: Wanted, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes targets on an installed release."""

    def made(release: str = NEW, *, torch: bool = False, **options: Any) -> TclTarget:
        name = installed(release, torch=torch)
        monkeypatch.setenv(DATA_VARIABLE, str(folder()))
        given = {"toolchain": name, "sandbox": level, "cache": cache, "binary": "never", **options}
        return TclTarget(**given)

    return made


@pytest.fixture
def target(make: Make) -> TclTarget:
    """The newest release, which evaluates."""
    return make()
