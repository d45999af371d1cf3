"""Map a memory file at an address that huge pages can serve.

The standard library's ``mmap`` cannot choose an address, and the kernel gives a file huge pages only through a mapping
whose addresses and file offsets agree modulo their size. So this goes to the C library.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

HUGE_PAGE = 2 << 20
_FIXED = 0x10
"""MAP_FIXED on Linux, whatever the processor."""
_FAILED = ctypes.c_void_p(-1).value
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_longlong]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def _map(address: int | None, length: int, access: int, flags: int, descriptor: int) -> int:
    found = _libc.mmap(address, length, access, flags, descriptor, 0)
    if found is None or found == _FAILED:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(found)


class Mapping:
    """A shared, writable mapping of a whole file of ``length`` bytes. Raises OSError.

    ``array`` (uint8) is its content. It must not be used after :meth:`close`: nothing would stop it.
    """

    def __init__(self, descriptor: int, length: int, huge: bool) -> None:
        self._room = length + 2 * HUGE_PAGE
        access = mmap.PROT_READ | mmap.PROT_WRITE
        self._base = _map(None, self._room, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1)
        start = (self._base + HUGE_PAGE - 1) // HUGE_PAGE * HUGE_PAGE
        _map(start, length, access, mmap.MAP_SHARED | _FIXED, descriptor)
        if huge:
            # Where the kernel refuses, pages are small and everything works as well.
            _libc.madvise(start, length, mmap.MADV_HUGEPAGE)
        self.array: NDArray[Any] = np.ctypeslib.as_array(ctypes.cast(start, ctypes.POINTER(ctypes.c_uint8)), (length,))

    def close(self) -> None:
        """Unmap it."""
        if self._base:
            self.array = np.empty(0, dtype=np.uint8)
            _libc.munmap(self._base, self._room)
            self._base = 0
