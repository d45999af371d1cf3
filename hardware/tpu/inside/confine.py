"""Takes from the calling process what a candidate's Python must not have: other processes, the network, new programs,
memory without end. Standard library only; what the system calls are numbered is the kernel's interface.

Threads stay possible, since jax runs its work on some: ``clone`` is allowed with ``CLONE_THREAD`` alone, and ``clone3``,
whose flags a filter cannot see, is said not to exist, upon which the C library uses ``clone``.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import struct
from pathlib import Path

_NUMBERS = {
    "x86_64": {
        "arch": 0xC000003E,
        "clone": 56,
        "refused": {
            "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "bind": 49, "listen": 50, "socketpair": 53,
            "fork": 57, "vfork": 58, "execve": 59, "kill": 62, "ptrace": 101, "tkill": 200, "unshare": 272,
            "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "bpf": 321, "execveat": 322,
            "userfaultfd": 323, "pidfd_send_signal": 424, "io_uring_setup": 425, "pidfd_open": 434, "setns": 308,
            "mount": 165, "umount2": 166, "chroot": 161, "pivot_root": 155, "perf_event_open": 298, "keyctl": 250,
            "add_key": 248, "request_key": 249, "open_by_handle_at": 304, "accept4": 288, "shmget": 29, "msgget": 68,
        },
        "own": {"tgkill": 234},
        "absent": {"clone3": 435},
    },
    "aarch64": {
        "arch": 0xC00000B7,
        "clone": 220,
        "refused": {
            "socket": 198, "socketpair": 199, "bind": 200, "listen": 201, "accept": 202, "connect": 203, "sendto": 206,
            "execve": 221, "kill": 129, "tkill": 130, "ptrace": 117, "unshare": 97, "setns": 268,
            "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "bpf": 280, "execveat": 281,
            "userfaultfd": 282, "pidfd_send_signal": 424, "io_uring_setup": 425, "pidfd_open": 434, "mount": 40,
            "umount2": 39, "chroot": 51, "pivot_root": 41, "perf_event_open": 241, "keyctl": 219, "add_key": 217,
            "request_key": 218, "open_by_handle_at": 265, "accept4": 242, "shmget": 194, "msgget": 186,
        },
        "own": {"tgkill": 131},
        "absent": {"clone3": 435},
    },
}  # fmt: skip
_CLONE_THREAD = 0x10000
_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_EPERM, _ENOSYS = 1, 38
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE, _FILTER = 22, 38, 4, 2


def _instruction(code: int, yes: int, no: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)


def program(machine: str, process: int) -> bytes:
    """The filter for a machine, as instructions of classic BPF. ``process`` may send signals to itself.

    Raises OSError for a machine whose system calls are not known here.
    """
    numbers = _NUMBERS.get(machine)
    if numbers is None:
        raise OSError(f"no system call filter for {machine}; known: {', '.join(_NUMBERS)}")
    arch, clone = numbers["arch"], numbers["clone"]
    refused, own, absent = numbers["refused"], numbers["own"], numbers["absent"]
    assert isinstance(arch, int)
    assert isinstance(clone, int)
    assert isinstance(refused, dict)
    assert isinstance(own, dict)
    assert isinstance(absent, dict)
    code = [
        _instruction(_LOAD, 0, 0, 4),
        _instruction(_EQUAL, 1, 0, arch),
        _instruction(_RETURN, 0, 0, _KILL),
        _instruction(_LOAD, 0, 0, 0),
    ]
    for number in refused.values():
        code += [_instruction(_EQUAL, 0, 1, number), _instruction(_RETURN, 0, 0, _ERRNO | _EPERM)]
    for number in absent.values():
        code += [_instruction(_EQUAL, 0, 1, number), _instruction(_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    for number in own.values():  # the first argument, low half: the process
        code += [
            _instruction(_EQUAL, 0, 4, number),
            _instruction(_LOAD, 0, 0, 16),
            _instruction(_EQUAL, 1, 0, process),
            _instruction(_RETURN, 0, 0, _ERRNO | _EPERM),
            _instruction(_RETURN, 0, 0, _ALLOW),
        ]
    code += [
        _instruction(_EQUAL, 0, 3, clone),
        _instruction(_LOAD, 0, 0, 16),
        _instruction(_SET, 1, 0, _CLONE_THREAD),
        _instruction(_RETURN, 0, 0, _ERRNO | _EPERM),
        _instruction(_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(code)


def _control(option: int, *values: int | ctypes.c_void_p) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    padded = (*values, 0, 0, 0, 0)[:4]
    arguments = [ctypes.c_ulong(v) if isinstance(v, int) else v for v in padded]
    if library.prctl(ctypes.c_int(option), *arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"prctl {option}: {os.strerror(error)}")


def hide() -> None:
    """Keep processes of the same user out of this one's memory and descriptors (``/proc/PID``). Children inherit it."""
    _control(_PR_SET_DUMPABLE, 0)


def confine(memory_bytes: int, cpu_seconds: int) -> None:
    """Confine the calling process for good. ``memory_bytes`` is what it may map beyond what it has mapped now.

    Raises OSError when a part of it cannot be had; nothing of a candidate may run then.
    """
    with Path("/proc/self/statm").open(encoding="ascii") as status:
        mapped = int(status.read().split()[0]) * resource.getpagesize()
    for kind, value in (
        (resource.RLIMIT_AS, mapped + memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, cpu_seconds),
    ):
        resource.setrlimit(kind, (value, value))
    instructions = program(platform.machine(), os.getpid())
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    header = ctypes.create_string_buffer(struct.pack("@HxxxxxxQ", len(instructions) // 8, ctypes.addressof(buffer)))
    _control(_PR_SET_NO_NEW_PRIVS, 1)
    _control(_PR_SET_SECCOMP, _FILTER, ctypes.c_void_p(ctypes.addressof(header)))
