"""The real furiosa-tcc for tests: installed once into a folder of the machine, through the package's own command."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from kernelwright.hardware.environments import DATA_VARIABLE, add_environment
from kernelwright.hardware.rngd.tcl import tool
from kernelwright.hardware.target import TargetError
from kernelwright.kernels.spec import Argument, Expected, Inputs, KernelSpec, Tolerance

FOLDER_VARIABLE = "KERNELWRIGHT_TEST_TOOLCHAINS"
"""Environment variable that names the folder that toolchains of tests are kept in from run to run."""


def folder() -> Path:
    """Where toolchains of tests lie: open to the sandbox's user, which a home folder may not be."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(tempfile.gettempdir()) / f"kernelwright-test-toolchains-{os.getuid()}"


def installed(release: str, *, torch: bool = False) -> str:
    """The name of the toolchain of a release, made where it is not there yet; skips the test where it cannot be had."""
    options = {"tcc": release, **({"torch-env": "yes"} if torch else {})}
    wanted = tool.recipe(options)
    place = folder()
    before = os.environ.get(DATA_VARIABLE)
    os.environ[DATA_VARIABLE] = str(place)
    try:
        place.mkdir(parents=True, exist_ok=True)
        return add_environment(tool.TARGET, wanted, lambda _line: None).name
    except (TargetError, OSError) as error:
        pytest.skip(f"{wanted.name} cannot be installed: {error}")
    finally:
        if before is None:
            del os.environ[DATA_VARIABLE]
        else:
            os.environ[DATA_VARIABLE] = before


SUM = """def tiny_sum(N: Axis = 256, K: Axis = 512, a: [N, K]/bf16, b: [N]/bf16) -> [N]/f32:
    total: [N]/f32 = tk.ReduceByVe(
        %0 = read(a, typecast_to=f32)
        %1 = read(b, typecast_to=f32)
        %2 = ve.exec(+ t[K] %0)
        %3 = ve.exec(%2 + %1)
        write.to([N]/f32)
    )
    return total
"""


def _sum(inputs: Inputs) -> Expected:
    return {"total": inputs["a"].astype("f8").sum(axis=-1) + inputs["b"].astype("f8")}


def tiny_sum() -> KernelSpec:
    """Sums of rows: a kernel that compiles in seconds, with the release that has no other way as well."""
    import ml_dtypes
    import numpy as np

    def draw(rng: np.random.Generator, _family: str) -> Inputs:
        return {"b": rng.standard_normal(256).astype(ml_dtypes.bfloat16)}

    def weights(rng: np.random.Generator) -> Inputs:
        return {"a": rng.standard_normal((256, 512)).astype(ml_dtypes.bfloat16)}

    return KernelSpec(
        name="tiny_sum",
        summary="the sum of each row, and a number for it",
        dimensions={"N": 256, "K": 512},
        arguments=(
            Argument("a", "bf16", (256, 512), role="weight"),
            Argument("b", "bf16", (256,)),
            Argument("total", "f32", (256,), "out"),
        ),
        tolerance=Tolerance(1e-3, 1e-4),
        reference=_sum,
        rounded=_sum,
        draw_weights=weights,
        draw_activations=draw,
        families=("normal",),
        baselines={"rngd": SUM},
        streamed=("a",),
        slack=lambda inputs: {"total": 1e-4 + 0.0 * inputs["b"].astype("f8")},
    )


F4_SECOND = """def tiny_f4(N: Axis = 1024, K: Axis = 1024, H: Axis = 512, x: [K]/bf16, w: [N, H]/u8) -> [N]/f32:
    f: [N, K]/f4_e2 = transmute(w)
    y: [N]/f32 = tk.EinsumByVe(
        %0 = read(x, typecast_to=f32)
        %1 = read(f, typecast_to=f32)
        %2 = ve.exec(%0 * %1)
        %3 = ve.exec(+ t[K] %2)
        write.to([N]/f32)
    )
    return y
"""


def tiny_f4() -> KernelSpec:
    """A matrix of f4 times a vector. Its own values are asked of nobody."""
    import numpy as np

    def nothing(_inputs: Inputs) -> Expected:
        return {"y": np.zeros(1024)}

    return KernelSpec(
        name="tiny_f4",
        summary="f4 weights times a vector",
        dimensions={"N": 1024, "K": 1024},
        arguments=(
            Argument("x", "bf16", (1024,)),
            Argument("w", "f4e2m1x2", (1024, 512), role="weight"),
            Argument("y", "f32", (1024,), "out"),
        ),
        tolerance=Tolerance(1e-3, 1e-3),
        reference=nothing,
        rounded=nothing,
        draw_weights=lambda rng: {"w": rng.integers(0, 256, (1024, 512), dtype=np.uint8)},
        draw_activations=lambda rng, _family: {"x": rng.standard_normal(1024).astype(np.float32)},
        families=("normal",),
        streamed=("w",),
    )
