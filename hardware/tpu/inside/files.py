"""Inputs in files: read as arrays of the kernels' types."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def view(path: str, kind: str, shape: list[int], offset: int) -> Any:
    """The array of ``kind`` and ``shape`` at ``offset`` bytes of a file."""
    import ml_dtypes
    import numpy as np

    types = {
        "bf16": ml_dtypes.bfloat16,
        "f8e4m3": ml_dtypes.float8_e4m3fn,
        "f4e2m1x2": np.uint8,
        "f32": np.float32,
        "i32": np.int32,
    }
    dtype = np.dtype(types[kind])
    count = 1
    for size in shape:
        count *= size
    with Path(path).open("rb") as file:
        file.seek(offset)
        return np.frombuffer(file.read(count * dtype.itemsize), dtype=dtype).reshape(shape)
