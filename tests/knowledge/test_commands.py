"""learn, knowledge, recheck and upgrade-report through the program, on the CPU target."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kernelwright.cli.main import app
from kernelwright.events.log import EventLog
from kernelwright.events.views.knowledge import load_knowledge
from support.compilers import NEWER, OLDER, missing
from typer.testing import CliRunner

Call = Callable[..., Any]
GUIDE = """# Notes

A vector must be loaded with care.

## Sums

A sum works:

```c builds
y[0] = x[0] + x[1];
```

## Assembly

Assembly is refused:

```c refused="no-assembly"
__asm__("nop");
```

This is wrong, and the reader should know:

```c builds
y[0] = undeclared;
```
"""

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: apt-get install gcc")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def call(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs a command on a store of the test's own; returns its JSON, or its error with ``fails=True``."""
    monkeypatch.setenv("KERNELWRIGHT_CACHE", str(cache))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, fails: bool = False) -> Any:
        result = CliRunner().invoke(app, [*arguments, "--store", str(tmp_path / "log.sqlite"), "--json"])
        assert (result.exit_code != 0) == fails, result.output
        return json.loads(result.stdout)

    return run


def configure(tmp_path: Path, compiler: str | None = None) -> None:
    lines = ["[targets.cpu]", 'sandbox = "reduced"', *([f'compiler = "{compiler}"'] if compiler else [])]
    (tmp_path / "kernelwright.toml").write_text("\n".join(lines) + "\n")


def test_documents_are_learned_checked_and_checked_again_only_where_they_changed(call: Call, tmp_path: Path) -> None:
    configure(tmp_path)
    notes = tmp_path / "notes.md"
    notes.write_text(GUIDE)
    first = call("learn", "--docs", str(notes))
    assert first["documents"] == ["notes.md"]
    assert first["new_claims"] == 4
    assert first["checked"] == 3
    assert first["claims"] == {"unchecked": 1, "valid": 2, "refuted": 1}

    data = call("knowledge", "cpu")
    assert set(data) >= {"claims", "probes", "rules"}
    refuted = next(claim for claim in data["claims"] if claim["status"] == "refuted")
    assert "undeclared" in refuted["reason"]
    assert refuted["evidence"]
    assert refuted["source"]["file"] == "notes.md"
    assert refuted["source"]["heading"] == "Notes > Assembly"
    assert refuted["toolchain"] == data["toolchain"]

    assert call("learn", "--docs", str(notes))["checked"] == 0
    notes.write_text("Preface.\n\n" + GUIDE.replace("x[0] + x[1]", "x[0] + x[2]"))
    again = call("learn", "--docs", str(notes))
    assert (again["new_claims"], again["checked"]) == (1, 1)
    statuses = sorted(claim["status"] for claim in call("knowledge", "cpu")["claims"])
    assert statuses == ["refuted", "stale", "unchecked", "valid", "valid"]
    assert call("recheck", "--dry-run") == {"due": [], "bests": {}}


def test_mistakes_get_one_line(call: Call, tmp_path: Path) -> None:
    configure(tmp_path)
    assert "cannot be read" in call("learn", "--docs", str(tmp_path / "no.md"), fails=True)["error"]
    assert "no log" in call("knowledge", "cpu", fails=True)["error"]
    (tmp_path / "notes.md").write_text("# A\n\nIt must.\n")
    call("learn", "--docs", str(tmp_path / "notes.md"))
    assert "nothing is known of 'tpu'" in call("knowledge", "tpu", fails=True)["error"]
    assert "no toolchain that was seen" in call("knowledge", "cpu", "--toolchain", "zzzz", fails=True)["error"]
    assert "no moment" in call("knowledge", "cpu", "--as-of", "never", fails=True)["error"]
    assert "nothing was upgraded" in call("upgrade-report", fails=True)["error"]


@pytest.mark.skipif(bool(missing()), reason=f"two compilers are needed: {missing()}")
def test_an_upgrade_is_planned_done_and_reported(call: Call, tmp_path: Path) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text(
        '# Types\n\nHalf precision is refused:\n\n```c refused="_float16"\n_Float16 h = 1;\ny[0] = h;\n```\n\n'
        "A sum works:\n\n```c builds\ny[0] = x[0] + x[1];\n```\n"
    )
    configure(tmp_path, shutil.which(OLDER))
    assert call("learn", "--docs", str(notes))["claims"] == {"valid": 2}
    old = call("knowledge", "cpu")["toolchain"]

    configure(tmp_path, shutil.which(NEWER))
    plan = call("recheck", "--dry-run")
    assert [item["why"] for item in plan["due"]] == ["stale", "stale"]
    assert call("recheck")["checked"] == 2
    report = call("upgrade-report")
    assert "compiler" in report["changed"]
    assert "host_kernel" not in report["changed"]
    assert [item["what"] for item in report["refuted"]] == ["Half precision is refused"]
    assert [item["what"] for item in report["confirmed"]] == ["A sum works"]

    # As of the old toolchain everything holds; and going back checks nothing.
    then = call("knowledge", "cpu", "--as-of", old)
    assert (then["toolchain"], {claim["status"] for claim in then["claims"]}) == (old, {"valid"})
    assert {claim["status"] for claim in call("knowledge", "cpu", "--toolchain", old)["claims"]} == {"valid"}
    configure(tmp_path, shutil.which(OLDER))
    assert call("recheck")["checked"] == 0
    assert {claim["status"] for claim in call("knowledge", "cpu")["claims"]} == {"valid"}


@pytest.mark.skipif(bool(missing()), reason=f"two compilers are needed: {missing()}")
def test_a_recheck_that_was_killed_goes_on_with_what_is_left(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes.md"
    blocks = "\n".join(f"Sum {n} works:\n\n```c builds\ny[0] = x[{n}] + x[1];\n```\n" for n in range(4))
    notes.write_text(f"# Sums\n\n{blocks}")
    configure(tmp_path, shutil.which(OLDER))
    assert call("learn", "--docs", str(notes))["claims"] == {"valid": 4}
    configure(tmp_path, shutil.which(NEWER))
    from kernelwright.graph import relearn

    checked = relearn.check_one  # type: ignore[attr-defined]  # the name that the module itself calls, to be replaced
    left = [2]

    def dies(*arguments: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return checked(*arguments)

    monkeypatch.setattr(relearn, "check_one", dies)
    result = CliRunner().invoke(app, ["recheck", "--store", str(tmp_path / "log.sqlite"), "--json"])
    assert result.exit_code != 0
    monkeypatch.setattr(relearn, "check_one", checked)
    assert call("recheck")["checked"] == 2
    log = EventLog.open(str(tmp_path / "log.sqlite"))
    assert [len(claim.findings) for claim in load_knowledge(log, "cpu").claims.values()] == [2, 2, 2, 2]
    log.close()
