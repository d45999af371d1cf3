"""Settings: defaults, a file over them, flags over both; what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernelwright.config import DEFAULT_KERNELS, ConfigError, load_config


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "kernelwright.toml"
    path.write_text(text)
    return path


def test_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_config(None, {})
    assert config.kernels == DEFAULT_KERNELS
    assert config.budgets.minutes == 8
    assert config.acceptance().accept_e == 100


def test_flags_override_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'seed = 3\nkernels = ["a"]\n[budgets]\nminutes = 5\n[policy]\naccept_e = 50\n')
    config = load_config(path, {"seed": None, "budgets": {"minutes": 2.0}})
    assert (config.seed, config.kernels, config.budgets.minutes) == (3, ("a",), 2.0)
    assert config.acceptance(["accept_e=200"]).accept_e == 200


def test_a_file_in_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "seed = 9\n")
    monkeypatch.chdir(tmp_path)
    assert load_config(None, {}).seed == 9


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sead = 1", "unknown key 'sead'; did you mean 'seed'"),
        ('seed = "one"', "seed: .*integer.* got 'one'"),
        ("seed = true", "seed: .*integer"),
        ("[budgets]\nminutes = 0", "budgets.minutes: .*greater than 0"),
        ("[budgets]\nminuts = 3", "unknown key 'budgets.minuts'; did you mean 'minutes'"),
        ('[targets.cpu]\nsandbox = "none"', "targets.cpu.sandbox: .*'auto'"),
        ("seed = ", "is not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(write(tmp_path, text), {})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read"):
        load_config(tmp_path / "none.toml", {})


def test_a_bad_policy_is_named(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, "[policy]\naccept_f = 1\n"), {})
    with pytest.raises(ConfigError, match="accept_f"):
        config.acceptance()
    with pytest.raises(ConfigError, match="pair_cap"):
        load_config(write(tmp_path, ""), {}).acceptance(["pair_cap=many"])
