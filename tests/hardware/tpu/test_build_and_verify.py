"""The way of a design through the real toolchain: build, estimate, values, and every outcome on it."""

from __future__ import annotations

import dataclasses

import pytest
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import Build, CheckReport, TargetError
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.kernels.registry import BESIDE

from .designs import COLUMNS, DOUBLE, HEAD, ROWS, scale_spec


def verified(target: TpuTarget, source: str) -> CheckReport:
    """The report on a source that builds."""
    spec = scale_spec()
    built = target.build(spec, source)
    assert built.ok, built.diagnostics
    with target.open(spec, 11) as bench:
        return bench.verify(built, 12)


def built(target: TpuTarget, source: str) -> Build:
    """What became of a source."""
    return target.build(scale_spec(), source)


def test_a_right_design_builds_is_estimated_and_verified(target: TpuTarget) -> None:
    spec = scale_spec()
    assert target.review(spec, DOUBLE).ok
    made = target.build(spec, DOUBLE)
    assert made.ok
    estimate = target.estimate(spec, made, {})
    assert estimate is not None
    moved = 4 * (2 * ROWS * COLUMNS + COLUMNS)
    assert estimate.details["hbm_bytes"] >= moved * 0.5  # small arrays may stay in VMEM between operations
    assert 0 < estimate.seconds < 1e-4
    report = verified(target, DOUBLE)
    assert report.ok, report.reason
    assert report.details["calls"] == 4  # two families, the first one twice, and a relation


def test_the_small_kernel_passes_with_its_baseline(target: TpuTarget) -> None:
    spec = BESIDE["rms_norm"]()
    made = target.build(spec, target.baseline(spec))
    assert made.ok, made.diagnostics
    with target.open(spec, 3) as bench:
        report = bench.verify(made, 4)
        assert report.ok, report.reason
        floor = bench.floor_seconds()
    assert floor.value == pytest.approx(spec.streamed_bytes / 819e9)
    assert floor.conditions["by"].startswith("arithmetic")


def test_another_spelling_of_a_design_is_the_same_artifact(target: TpuTarget) -> None:
    first = built(target, DOUBLE)
    other = built(target, DOUBLE.replace("def kernel(x, w, y):", "# moved\n\n\ndef kernel(x, w, y):"))
    assert first.artifact == other.artifact


def test_a_build_is_kept(target: TpuTarget) -> None:
    built(target, DOUBLE)
    assert built(target, DOUBLE).seconds == 0.0


def test_the_toolchain_names_versions_and_chip(target: TpuTarget) -> None:
    parts = target.toolchain().parts
    assert parts["jax"] == "0.10.2"
    assert parts["libtpu"] == "0.0.52"
    assert (parts["chip"], parts["device"]) == ("v5e", "none")


REFUSED = {
    "block shape": (
        DOUBLE.replace("[pl.BlockSpec((16, COLUMNS)", "[pl.BlockSpec((12, 100)").replace(
            "x[...] * w[...]", "x[0:1, 0:1] * w[...] + jnp.zeros((16, COLUMNS), jnp.float32)"
        ),
        "divisible by 8 and 128",
    ),
    "element type": (
        DOUBLE.replace("x[...] * w[...]", "(x[...] * w[...]).astype(jnp.float4_e2m1fn).astype(jnp.float32)"),
        "4-bit",
    ),
    "memory": (
        HEAD
        + """
def kernel(x, w, y, s):
    def fill(i, carry):
        s[pl.ds(i * 8, 8), :] = x[0:8, :] * i
        return carry
    lax.fori_loop(0, 5000, fill, 0)
    y[...] = x[...] * w[...] + s[pl.ds(39 * ROWS, ROWS), :]

def scale(x, w):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32),
                          scratch_shapes=[pltpu.VMEM((40000, COLUMNS), jnp.float32)])(x, w.reshape(1, COLUMNS))
""",
        "CompileTimeScopedVmemOom",
    ),
    "python": (DOUBLE.replace("x[...] * w[...]", "x[...] / 0 // undefined"), "NameError"),
    "syntax": (DOUBLE + "\ndef broken(:\n", "SyntaxError"),
    "result": (DOUBLE.replace("jnp.float32),\n    )(x", "jnp.bfloat16),\n    )(x"), "trace"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_compiler_refuses_is_a_failed_build_with_its_words(target: TpuTarget, name: str) -> None:
    source, words = REFUSED[name]
    made = built(target, source)
    assert made.outcome is Outcome.BUILD_FAILED
    assert words in made.diagnostics
    first = made.diagnostics.splitlines()[0]
    assert first.startswith("design.py:")
    assert ": error: " in first
    assert "out of memory" not in made.diagnostics.lower()  # which would be said of the machine


WRONG = {
    "value": (DOUBLE.replace("x[...] * w[...]", "x[...] + w[...]"), Outcome.WRONG_VALUE),
    "part of the result": (DOUBLE.replace("grid=(ROWS // 16,)", "grid=(ROWS // 16 - 1,)"), Outcome.NOT_FINITE),
    "memory never written": (
        DOUBLE.replace("y[...] = x[...] * w[...]", "y[...] = x[...] * w[...] + s[...]")
        .replace("def kernel(x, w, y):", "def kernel(x, w, y, s):")
        .replace("out_shape=", "scratch_shapes=[pltpu.VMEM((16, COLUMNS), jnp.float32)],\n        out_shape="),
        Outcome.NOT_FINITE,
    ),
    "out of bounds": (
        DOUBLE.replace("x[...] * w[...]", "x[pl.ds(pl.multiple_of(pl.program_id(0) * 8 + 8, 8), 16), :] * w[...]"),
        Outcome.OUT_OF_BOUNDS,
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_computes_something_else_is_found_by_interpreting(target: TpuTarget, name: str) -> None:
    source, outcome = WRONG[name]
    report = verified(target, source)
    assert report.outcome is outcome, report.reason


def test_a_race_is_found(target: TpuTarget) -> None:
    source = (
        HEAD
        + """
def kernel(x, w, y, s, sem):
    copy = pltpu.make_async_copy(x, s, sem)
    copy.start()
    y[...] = s[...] * w[...]
    copy.wait()
    y[...] = s[...] * w[...]

def scale(x, w):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec(memory_space=pltpu.VMEM)],
        out_shape=jax.ShapeDtypeStruct((ROWS, COLUMNS), jnp.float32),
        scratch_shapes=[pltpu.VMEM((ROWS, COLUMNS), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x, w.reshape(1, COLUMNS))
"""
    )
    report = verified(target, source)
    assert report.outcome is Outcome.NOT_REPEATABLE
    assert "race" in report.reason


def test_pairs_are_refused_without_a_device(target: TpuTarget) -> None:
    made = built(target, DOUBLE)
    with (
        target.open(scale_spec(), 1) as bench,
        pytest.raises(TargetError, match="no TPU on this machine"),
        bench.pair(made, made, 1),
    ):
        pass


def test_a_source_that_traces_differently_than_it_was_compiled_is_suspect(target: TpuTarget) -> None:
    spec = scale_spec()
    made = target.build(spec, DOUBLE)
    assert made.path is not None
    exchanged = dataclasses.replace(made, artifact="0" * 64)
    with target.open(spec, 1) as bench:
        assert bench.verify(exchanged, 2).outcome is Outcome.SUSPECT
