"""What this machine offers to the CPU target, and what is missing with the command that would fix it. Changes nothing."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..sandbox import Jail, SandboxReport
from ..sandbox.jail import Wanted
from ..target import TargetError
from .helpers import cache_folder, compile_helpers
from .machine import this_machine
from .toolchain import Compiler, describe, find_compiler

_NOISE_REPEATS = 60
_NOISE_BYTES = 4 << 20


def noise_estimate() -> float:
    """Standard deviation of the log of the time that one small piece of work takes, over 60 repeats (about 50 ms)."""
    values = np.ones(_NOISE_BYTES // 8, dtype=np.int64)
    seconds = []
    for _ in range(_NOISE_REPEATS):
        start = time.perf_counter()
        values.sum()
        seconds.append(time.perf_counter() - start)
    return float(np.std(np.log(seconds)))


def _sandbox(compiler: Compiler, wanted: Wanted) -> tuple[SandboxReport | None, str]:
    """The report of the sandbox, or why there is none. Helpers are compiled into a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-doctor-") as folder:
        try:
            return Jail(compile_helpers(compiler, Path(folder)).launcher, wanted).report, ""
        except TargetError as error:
            return None, str(error)


def _writable(folder: Path) -> bool:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


def doctor(compiler: str | None = None, sandbox: Wanted = "auto", cache: Path | None = None) -> dict[str, Any]:
    """Facts by name, for ``--json``, with ``lines`` for people and ``missing``: a list of what stands in the way, each
    with the command that would fix it. Never raises for something that is missing.
    """
    machine = this_machine()
    missing: list[str] = []
    lines = [
        f"processor: {machine.cpu}, {machine.cores} cores to use",
        f"caches: L1 {machine.l1_bytes >> 10} KiB, L2 {machine.l2_bytes >> 10} KiB,"
        f" last level {machine.llc_bytes >> 20} MiB",
        f"memory: {machine.memory_bytes / (1 << 30):.1f} GiB",
    ]
    facts: dict[str, Any] = {
        "cpu": machine.cpu,
        "cores": machine.cores,
        "last_level_cache_bytes": machine.llc_bytes,
        "memory_bytes": machine.memory_bytes,
    }
    try:
        found = find_compiler(compiler)
    except TargetError as error:
        missing.append(str(error))
        facts |= {"compiler": None, "openmp": False, "sandbox": None}
        lines.append("compiler: none")
    else:
        facts |= {"compiler": found.version, "openmp": found.openmp}
        facts["toolchain"] = describe(found, machine, machine.cores).fingerprint
        lines.append(f"compiler: {found.version}{'' if found.openmp else ', without OpenMP'}")
        missing += [] if found.openmp else list(found.notes)
        report, why = _sandbox(found, sandbox)
        facts["sandbox"] = report.level.value if report is not None else None
        if report is not None:
            lines.append(f"sandbox: {report.level} ({report.description})")
        else:
            lines.append("sandbox: none that is allowed")
            missing.append(why)
    home = cache_folder(cache)
    facts["cache"] = str(home)
    if not _writable(home):
        missing.append(f"the cache folder {home} is read-only: set KERNELWRIGHT_CACHE to a folder that can be written")
    load = os.getloadavg()[0]
    facts |= {"noise": noise_estimate(), "load": load}
    lines.append(f"noise: {100 * facts['noise']:.1f} % (sd of the log time of a small job), load {load:.1f}")
    if load > 0.5 * machine.cores:
        lines.append("other work runs on this machine: readings will need more pairs")
    facts["missing"] = missing
    facts["lines"] = lines + [f"missing: {each}" for each in missing]
    return facts
