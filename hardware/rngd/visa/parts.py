"""The parts of a visa toolchain, and which of them a fact of each kind rests on."""

from __future__ import annotations

from collections.abc import Mapping

from ...concerns import Concern

_COMPILE = ("dsl", "furiosa_opt", "library", "nightly", "project")
_CHIP = ("chip", "device", "profile_variable", "runtime")
PARTS: Mapping[Concern, tuple[str, ...]] = {
    # The compiler is a rustc driver: what it accepts follows from itself, the nightly it is locked to, and the library.
    "compile": _COMPILE,
    # The CPU build is plain cargo: the driver has no part in values, the library's emulator and number types do.
    "value": ("dsl", "library", "nightly", "project"),
    # Cycles are counted by the runtime's profiler and turned on by its variable: with either they count something else.
    "chip": _CHIP,
    "runtime": _CHIP,
    "code": tuple(sorted({*_COMPILE, *_CHIP})),
}


def parts(versions: Mapping[str, str], project_digest: str, device: str) -> dict[str, str]:
    """The named parts: the tools' versions, the project's files, and the device that readings come from (or ``none``)."""
    return {**versions, "chip": "rngd", "device": device, "dsl": "visa", "project": project_digest}
