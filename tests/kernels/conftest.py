"""Compiles C sources against a spec and calls them, so that tests need no target."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kernelwright.kernels.spec import Array, Inputs, KernelSpec

Runner = Callable[[Inputs], dict[str, Array]]
"""Runs a kernel on inputs and returns what its outputs hold afterwards."""

FLAGS = ("-march=native", "-fopenmp", "-std=gnu11", "-shared", "-fPIC")
FULL_SIZE_BYTES = 1 << 20
"""Kernels that stream more than this are optimized; for small ones the compiler would take longer than they save."""


def _build(folder: Path, spec: KernelSpec, source: str) -> Path:
    macros = "".join(f"#define {name} {value}\n" for name, value in spec.dimensions.items())
    (folder / "kernel.h").write_text(macros)
    digest = hashlib.sha256((macros + source).encode()).hexdigest()[:16]
    library = folder / f"{spec.name}-{digest}.so"
    if not library.exists():
        text = folder / f"{digest}.c"
        text.write_text(source)
        level = "-O3" if source in spec.baselines.values() or spec.streamed_bytes > FULL_SIZE_BYTES else "-O1"
        command = ["cc", level, *FLAGS, f"-I{folder}", "-o", str(library), str(text), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert not done.stderr, done.stderr
    return library


@pytest.fixture(scope="session")
def compile_kernel(tmp_path_factory: pytest.TempPathFactory) -> Callable[[KernelSpec, str], Runner]:
    """``compile_kernel(spec, source)`` gives a runner; skips the test where there is no C compiler."""
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler called cc")

    def compiled(spec: KernelSpec, source: str) -> Runner:
        entry = getattr(ctypes.CDLL(str(_build(tmp_path_factory.mktemp(spec.name), spec, source))), spec.name)
        entry.restype = None

        def run(inputs: Inputs) -> dict[str, Array]:
            outputs: dict[str, Array] = {}
            pointers = []
            for argument in spec.arguments:
                if argument.direction == "in":
                    array = np.ascontiguousarray(inputs[argument.name])
                elif argument.direction == "inout":
                    array = outputs[argument.name] = np.array(inputs[argument.name])
                else:
                    array = np.full(argument.bytes, 0xFF, np.uint8).view(argument.storage).reshape(argument.shape)
                    outputs[argument.name] = array
                pointers.append(ctypes.c_void_p(array.ctypes.data))
                outputs[f"keep {argument.name}"] = array
            entry(*pointers)
            return {argument.name: outputs[argument.name] for argument in spec.outputs}

        return run

    return compiled
