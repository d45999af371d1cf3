"""What the host's processor and memory are, read from /proc and /sys. Nothing here measures."""

from __future__ import annotations

import functools
import os
import platform
from dataclasses import dataclass
from pathlib import Path

DEFAULT_LLC_BYTES = 32 << 20
"""Assumed where the system does not say how large its last-level cache is."""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class Machine:
    """The host: processor name, cores that this process may use, cache sizes (bytes), memory (bytes)."""

    cpu: str
    cores: int
    l1_bytes: int
    l2_bytes: int
    llc_bytes: int
    memory_bytes: int


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:  # absent on this kernel or hidden by a container: the caller has a default
        return ""


def usable_cores() -> int:
    """Cores that threads of this process can run on at once: its affinity, and the quota of its control group."""
    cores = len(os.sched_getaffinity(0))
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def cache_bytes() -> dict[int, int]:
    """Size of each level's data or unified cache as the first core sees it, in bytes by level."""
    found: dict[int, int] = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        size, level = _read(f"{index}/size"), _read(f"{index}/level")
        if _read(f"{index}/type") != "Instruction" and level.isdigit() and size[:-1].isdigit():
            found[int(level)] = int(size[:-1]) * _UNITS.get(size[-1], 1)
    return found


def _cpu_name() -> str:
    for key in ("model name", "CPU part", "cpu"):
        for line in _read("/proc/cpuinfo").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return f"{platform.machine()} {value.strip()}"
    return platform.machine()


@functools.cache
def this_machine() -> Machine:
    """The host as it is now; read once in a process."""
    caches = cache_bytes()
    memory = 0
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            memory = int(line.split()[1]) * 1024
    return Machine(
        cpu=_cpu_name(),
        cores=usable_cores(),
        l1_bytes=caches.get(1, 32 << 10),
        l2_bytes=caches.get(2, 512 << 10),
        llc_bytes=caches[max(caches)] if caches and max(caches) > 1 else DEFAULT_LLC_BYTES,
        memory_bytes=memory or 4 << 30,
    )
