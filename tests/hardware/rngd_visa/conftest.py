"""The stand-in tools and a target on them, shared by the tests of this folder; nothing of the vendor's is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.rngd.visa.target import VisaTarget
from kernelwright.hardware.sandbox.jail import Wanted
from kernelwright.hardware.target import TargetError
from support.rngd.workshop import Workshop, close_workshop, fresh_folder, open_workshop, patience


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


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    """Stand-ins and a project of their own."""
    made = open_workshop(fresh_folder())
    yield made
    close_workshop(made)


Make = Callable[..., VisaTarget]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all: the sandbox's launcher is compiled once, and equal sources of equal projects are built once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def make(workshop: Workshop, level: Wanted, cache: Path) -> Make:
    """Makes targets on the workshop."""

    def made(**options: Any) -> VisaTarget:
        given: dict[str, Any] = {
            "project": str(workshop.project),
            "cargo": str(workshop.bin / "cargo"),
            "fixtures": "fixtures.safetensors",
            "sandbox": level,
            "cache": cache,
            "patience": patience(),
            **options,
        }
        return VisaTarget(**given)

    return made
