"""Toolchains in environments of their own: made whole or not at all, found by name, checked when they are made."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import typer
from kernelwright.cli.options import target_settings
from kernelwright.cli.toolchain_commands import parsed
from kernelwright.config import ConfigError
from kernelwright.hardware.environments import (
    DATA_VARIABLE,
    Recipe,
    ToolchainOption,
    add_environment,
    environments,
    find_environment,
    remove_environment,
)
from kernelwright.hardware.target import TargetError

FACTS = "import json, little; print('noise'); print(json.dumps({'little': little.VERSION}))"
OPTIONS = (ToolchainOption("jax", "the version of jax", "1.0"), ToolchainOption("torch-env", "also values", flag=True))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of one module, as pip takes it without a network."""
    path = tmp_path_factory.mktemp("wheels") / "little-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("little.py", "VERSION = '1.0'\n")
        archive.writestr("little-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: little\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("little-1.0.dist-info/WHEEL", tags)
        archive.writestr("little-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data"


def recipe(*requirements: str, name: str = "one", check: str = FACTS) -> Recipe:
    return Recipe(name, ("--no-index", "--no-deps", *requirements), "a package of one module", ("-c", check))


def left(data: Path) -> list[str]:
    folder = data / "toolchains" / "toy"
    return [path.name for path in folder.iterdir()] if folder.exists() else []


def test_it_is_made_once_found_by_name_and_removed(wheel: Path, data: Path) -> None:
    told: list[str] = []
    made = add_environment("toy", recipe(str(wheel)), told.append)
    assert made.facts == {"little": "1.0"}
    assert made.python.exists()
    assert find_environment("toy", "one") == made
    assert environments("toy") == (made,)
    assert environments("other") == ()
    again = add_environment("toy", recipe("what-is-not-there"), told.append)
    assert again == made, "it is there, so nothing is installed"
    assert "is there already" in told[-1]
    remove_environment("toy", "one")
    assert left(data) == []
    with pytest.raises(TargetError, match=r"there is none yet.*toolchain add toy"):
        find_environment("toy", "one")


def test_what_cannot_be_installed_leaves_nothing(data: Path) -> None:
    with pytest.raises(TargetError, match=r"one cannot be installed: .*what-is-not-there"):
        add_environment("toy", recipe("what-is-not-there"), lambda _: None)
    assert left(data) == []


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("import larger", "does not work: .*No module named 'larger'"),
        ("print('hello')", "did not end with its facts, but with: 'hello'"),
        ("pass", "did not end with its facts"),
    ],
)
def test_what_fails_its_check_leaves_nothing(wheel: Path, data: Path, check: str, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        add_environment("toy", recipe(str(wheel), check=check), lambda _: None)
    assert left(data) == []


def test_what_is_being_made_is_not_listed(wheel: Path, data: Path) -> None:
    made = add_environment("toy", recipe(str(wheel)), lambda _: None)
    assert made.path.resolve().name.startswith(".one-")
    assert len(left(data)) == 2
    assert [each.name for each in environments("toy")] == ["one"]


@pytest.mark.parametrize("name", ["", "../up", ".hidden", "a b"])
def test_names_are_names_of_folders(name: str) -> None:
    with pytest.raises(TargetError, match="cannot be the name of a toolchain"):
        add_environment("toy", recipe("x", name=name), lambda _: None)


def test_a_data_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(TargetError, match="cannot be written"):
        add_environment("toy", recipe("x"), lambda _: None)


def test_options_of_a_toolchain_come_over_their_defaults() -> None:
    assert parsed("toy", [], OPTIONS, as_json=False) == {"jax": "1.0"}
    assert parsed("toy", ["--jax", "2"], OPTIONS, as_json=False) == {"jax": "2"}
    assert parsed("toy", ["--jax=2", "--torch-env"], OPTIONS, as_json=False) == {"jax": "2", "torch-env": "yes"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jaxx", "2"], "toy has no option '--jaxx'; --jax VALUE"),
        (["2"], "has no option '2'"),
        (["--jax"], "--jax needs a value"),
        (["--torch-env=1"], "takes no value"),
    ],
)
def test_what_is_no_option_is_named(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        parsed("toy", arguments, OPTIONS, as_json=False)
    assert said in capsys.readouterr().err


def test_settings_of_a_target_are_numbers_where_they_are() -> None:
    given = ["chip=v5e", "pes=8", "share=0.5", "fast=true", "version=0.10.2", "flag=--x=1"]
    assert target_settings("one", given) == {
        "toolchain": "one",
        "chip": "v5e",
        "pes": 8,
        "share": 0.5,
        "fast": True,
        "version": "0.10.2",
        "flag": "--x=1",
    }
    for bad in ("chip", "=v5e", "chip=", "a-b=1"):
        with pytest.raises(ConfigError, match="expected key=value"):
            target_settings(None, [bad])
