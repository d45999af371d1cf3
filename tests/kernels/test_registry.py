"""Kernels by name and by file, and what is said when there is none."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from kernelwright.kernels import registry
from kernelwright.kernels.admission import admit
from kernelwright.kernels.oracle import BatchReference, judge
from kernelwright.kernels.spec import Array, Inputs, KernelSpec

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "softmax.py"


def test_built_in_kernels_have_a_baseline_and_their_own_name() -> None:
    assert registry.names()[:4] == (*registry.BUILT_IN, "rms_norm")
    for name in registry.BUILT_IN:
        spec = registry.kernel(name)
        assert spec.name == name
        assert f"void {name}(" in spec.baselines["cpu"]
        assert registry.TINY[name]().name == name


def test_unknown_names_bring_the_nearest() -> None:
    with pytest.raises(
        registry.KernelError, match="unknown kernel 'decoder_feedfoward'; did you mean decoder_feedforward"
    ):
        registry.kernel("decoder_feedfoward")
    with pytest.raises(registry.KernelError, match="known: sliding_project_qkv, sliding_attention_output, decoder"):
        registry.kernel("@")


def load_example() -> Callable[..., KernelSpec]:
    found = importlib.util.spec_from_file_location("softmax_example", EXAMPLE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    make: Callable[..., KernelSpec] = module.spec
    return make


def test_the_example_is_admitted_and_its_baseline_is_right(
    compile_kernel: Callable[[KernelSpec, str], Callable[[Inputs], dict[str, Array]]],
) -> None:
    spec = load_example()(rows=48, columns=64)
    admit(spec)
    run = compile_kernel(spec, spec.baselines["cpu"])
    weights = spec.draw_weights(np.random.default_rng(1))
    calls = [
        (copy, spec.draw_activations(np.random.default_rng(copy), family))
        for copy in (0, 1)
        for family in spec.families
    ]
    for (copy, inputs), prediction in zip(calls, BatchReference(spec, weights).predict(calls), strict=True):
        got = run({**spec.vary(weights, copy), **inputs})
        verdict = judge(spec, prediction, inputs, got)
        assert verdict.ok, verdict
        wrong = np.roll(got["out"], 1, axis=0)
        assert not judge(spec, prediction, inputs, {"out": wrong}).ok


def test_the_example_loads_from_its_file() -> None:
    spec = registry.load_kernel_file(EXAMPLE)
    assert spec.name == "row_softmax"
    assert spec.streamed_bytes == spec.argument("logits").bytes


BODY = f"""
import importlib.util
found = importlib.util.spec_from_file_location("example", {str(EXAMPLE)!r})
example = importlib.util.module_from_spec(found)
found.loader.exec_module(example)
"""


def test_a_file_may_define_the_spec_itself(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(BODY + "SPEC = example.spec(rows=32, columns=64)\n")
    assert registry.load_kernel_file(path).dimensions == {"ROWS": 32, "COLUMNS": 64}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "defines neither SPEC"),
        ("def spec(:\n", "failed when it was run: SyntaxError"),
        ("import no_such_module_anywhere\n", "failed when it was run: ModuleNotFoundError"),
        ("SPEC = 3\n", "gives a int, expected a KernelSpec"),
        ("def spec():\n    return None\n", "gives a NoneType, expected a KernelSpec"),
        (
            BODY + "import dataclasses, numpy\ngood = example.spec(rows=32, columns=64)\n"
            "flat = lambda inputs: {'out': numpy.zeros((32, 64))}\n"
            "SPEC = dataclasses.replace(good, reference=flat, rounded=flat)\n",
            "kernel refused: row_softmax, family 'ordinary': zeros would pass as out",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(registry.KernelError, match=message):
        registry.load_kernel_file(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(registry.KernelError, match="no kernel file at"):
        registry.load_kernel_file(tmp_path / "none.py")


def test_kernels_of_other_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_kernels.py").write_text(BODY + "def softmax():\n    return example.spec(rows=32, columns=64)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    entries = [
        EntryPoint("their_softmax", "their_kernels:softmax", registry.GROUP),
        EntryPoint("their_broken", "their_kernels:nothing", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries if group == registry.GROUP else [])
    assert registry.names()[4:] == ("their_broken", "their_softmax")
    assert registry.kernel("their_softmax").dimensions["ROWS"] == 32
    with pytest.raises(registry.KernelError, match="cannot be loaded"):
        registry.kernel("their_broken")
