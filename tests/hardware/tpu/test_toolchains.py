"""Which toolchain is used, what is refused with which words, and what a full disk does."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from kernelwright.hardware.discovery import find_target
from kernelwright.hardware.environments import DATA_VARIABLE
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import TargetError
from kernelwright.hardware.tpu import TpuTarget, toolchains
from kernelwright.hardware.tpu.chips import CHIPS, find_chip
from kernelwright.hardware.tpu.workshop import Workshop

from .designs import DOUBLE, scale_spec


def test_the_default_recipe_pins_the_pair_that_was_tried() -> None:
    made = TpuTarget.recipe({})
    assert made.name == "jax-0.10.2-libtpu-0.0.52"
    assert made.requirements[:2] == ("jax==0.10.2", "libtpu==0.0.52")
    assert "proprietary" in made.describe


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"jax": "0.10.2", "libtpu": "0.0.23"}, "do not match.*--libtpu 0.0.42"),
        ({"jax": "newest"}, "'newest' is not a version of jax"),
        ({"libtpu": "1;2"}, "not a version of libtpu"),
    ],
)
def test_a_pair_that_cannot_work_is_refused_with_what_to_do(options: dict[str, str], words: str) -> None:
    with pytest.raises(TargetError, match=words):
        TpuTarget.recipe(options)


def test_an_old_pair_that_was_tried_is_allowed() -> None:
    assert TpuTarget.recipe({"jax": "0.7.2", "libtpu": "0.0.23"}).name == "jax-0.7.2-libtpu-0.0.23"


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        (
            "platform",
            SimpleNamespace(machine=lambda: "aarch64", python_version=lambda: "3.11.7"),
            "Linux on x86-64 alone",
        ),
        (
            "sys",
            SimpleNamespace(platform="linux", version_info=(3, 19, 0)),
            "no wheels for Python",
        ),
    ],
)
def test_a_machine_or_a_python_without_wheels_is_told(
    monkeypatch: pytest.MonkeyPatch, attribute: str, value: object, words: str
) -> None:
    monkeypatch.setattr(toolchains, attribute, value)
    with pytest.raises(TargetError, match=words):
        TpuTarget.recipe({})


def test_without_a_toolchain_the_command_that_adds_one_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    monkeypatch.setattr("kernelwright.hardware.tpu.toolchains.importlib.util.find_spec", lambda _name: None)
    with pytest.raises(TargetError, match="kernelwright toolchain add tpu"):
        TpuTarget().toolchain()
    with pytest.raises(TargetError, match="no toolchain 'other'"):
        TpuTarget(toolchain="other").toolchain()


def test_an_unknown_chip_is_answered_with_the_list() -> None:
    with pytest.raises(TargetError, match=r"unknown chip 'v6'.*Known: v4, v5e, v5p, v6e, tpu7x"):
        find_target("tpu", {"chip": "v6"})


@pytest.mark.parametrize("name", CHIPS)
def test_the_table_of_chips_agrees_with_itself(name: str) -> None:
    chip = find_chip(name)
    assert 0.9e9 < chip.clock_hz < 2.5e9
    assert chip.core_bytes_per_second <= chip.hbm_bytes_per_second
    assert chip.vmem_bytes < chip.hbm_bytes
    assert chip.source.startswith("https://cloud.google.com/tpu/docs/")


@pytest.mark.parametrize("name", [name for name in CHIPS if name != "v5e"])
def test_every_chip_compiles_and_is_estimated(target: TpuTarget, tmp_path: Path, name: str) -> None:
    other = TpuTarget(environment=target.found.path, sandbox=target.wanted, cache=tmp_path, chip=name)
    made = other.build(scale_spec(), DOUBLE)
    assert made.ok, made.diagnostics
    estimate = other.estimate(scale_spec(), made, {})
    assert estimate is not None
    assert 0 < estimate.seconds < 1e-4
    assert other.shop.compiler.facts["device_kind"] == CHIPS[name].device_kind
    assert other.toolchain().fingerprint != target.toolchain().fingerprint
    other.shop.close()


def test_a_compiler_that_does_not_know_its_chip_is_told(target: TpuTarget, tmp_path: Path) -> None:
    made = TpuTarget(environment=target.found.path, sandbox=target.wanted, cache=tmp_path)
    made.shop.compiler.arguments = ("v99:2x2",)
    with pytest.raises(TargetError, match="compiler is not ready"):
        made.build(scale_spec(), DOUBLE)
    made.shop.close()


def test_a_full_disk_is_told_as_such(target: TpuTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dump stays empty, as it does where nothing can be written, and the disk says that it is full."""
    made = TpuTarget(environment=target.found.path, sandbox=target.wanted, cache=tmp_path)
    shop = made.shop
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shop.compiler.environment = {**shop.compiler.environment, "LIBTPU_INIT_ARGS": ""}
    full = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
    monkeypatch.setattr("kernelwright.hardware.tpu.workshop.shutil.disk_usage", lambda _path: full)
    with pytest.raises(TargetError, match=r"the disk is full.*TMPDIR"):
        made.build(scale_spec(), DOUBLE)
    made.shop.close()


def test_the_dump_is_deleted_once_it_is_read(target: TpuTarget) -> None:
    assert target.build(scale_spec(), DOUBLE + "\n# once more\n").ok
    assert list(target.shop.dump.iterdir()) == []


def test_a_compiler_that_crashes_is_replaced(target: TpuTarget, tmp_path: Path) -> None:
    shop = Workshop(target.found, target.chip, target.jail, tmp_path)
    shop.compiler.program = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); from inside import compiler;"
        " compiler.compile_program = lambda *given: os.abort(); compiler.main(*sys.argv[2:])"
    )
    said, outcome = shop.compile(b"anything", [])
    assert outcome is Outcome.BUILD_CRASHED
    assert "crashed" in said["text"]
    said, outcome = shop.compile(b"anything", [])
    assert shop.compiler.starts == 2
    shop.close()
