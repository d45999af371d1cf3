"""Language models on the command line: check, run, prompt, spend, a budget and more of it, and a replay offline."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.cli.budgets import budgets_in_force
from kernelwright.config import ConfigError
from kernelwright.events.log import EventLog
from kernelwright.events.views.load import load_run
from kernelwright.graph.runner import Plan, start_run
from support.model_server import Reply, Request, serving

KERNEL_FILE = Path(__file__).parent / "tiny_attention.py"
PROGRAM = [sys.executable, "-c", "from kernelwright.cli import main; main()"]
CANARY = "sk-canary-0123456789abcdef"
LENIENT = ["--policy", "max_detectable_gain=100", "--policy", "calibration_e=1e9", "--policy", "suspect_jump=1000"]
LENIENT += ["--policy", "suspect_floor_margin=0.99"]
CONFIG = """
[models.toy]
provider = "openai-compatible"
model = "toy"
base_url = "{url}"
api_key_env = "TOY_KEY"
max_tokens = 400
price = {{ input = 1.0, output = 2.0, dated = "2026-01-31" }}

[models.keyless]
provider = "anthropic"
model = "claude"

[roles.engineer]
models = ["toy"]
fallback = "none"
[roles.architect]
models = ["toy"]
fallback = "none"

[budgets]
tokens = {tokens}
"""


def kernelwright(*arguments: object, cwd: Path, code: int = 0) -> str:
    """Run the program with the canary in its environment; nothing that it says may hold it. Returns its output."""
    environment = {**os.environ, "TOY_KEY": CANARY}
    environment.pop("ANTHROPIC_API_KEY", None)
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env=environment,
    )
    assert done.returncode == code, done.stderr + done.stdout
    assert CANARY not in done.stdout + done.stderr
    return done.stdout


def engineer(request: Request) -> Reply:
    """Writes the best design with one more constant; its numbers differ from question to question."""
    assert request.headers["authorization"] == f"Bearer {CANARY}"
    if "(question " not in request.user:
        return Reply("ready", usage=(9, 1))
    question = int(request.user.split("(question ")[1].split(",")[0])
    quoted = re.search(r'name="source of the best design d\d+">\n(.*?)\n</data', request.user, re.DOTALL)
    assert quoted is not None
    head = {"title": f"idea {question}", "rationale": "to see", "mechanism": f"constant {question}"}
    if question == 1:
        return Reply(f"```json\n{json.dumps(head)}\n```\n```python\nprint()\n```", usage=(5000, 300))
    code = quoted.group(1).replace("float squares = 0.0f;", f"float squares = {question + 1}e-30f;")
    return Reply(f"```json\n{json.dumps(head)}\n```\n```c\n{code}\n```", usage=(5000, 300))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, Any], list[str]]:
    """A run that a budget ended and that was taken up with a larger one; the server is gone by then."""
    folder = tmp_path_factory.mktemp("models")
    with serving(engineer) as server:
        (folder / "kernelwright.toml").write_text(CONFIG.format(url=server.openai, tokens=14_000))
        checked = json.loads(kernelwright("models", "check", "--json", cwd=folder, code=1))
        assert {each["name"]: each["outcome"] for each in checked} == {"toy": "ok", "keyless": "unavailable"}
        assert [each["tokens_in"] for each in checked] == [9, None]
        arguments = ["run", "--kernel-file", KERNEL_FILE, "--minutes", 20, *LENIENT, "--json"]
        first = json.loads(kernelwright(*arguments, cwd=folder))
        more = json.loads(kernelwright("resume", first["run"], "--budget", "tokens=25000", "--json", cwd=folder))
        paths = [request.path for request in server.requests]
    return folder, first, more, paths


def test_a_budget_ends_a_run_and_a_larger_one_takes_it_on(played: Any) -> None:
    folder, first, more, _ = played
    assert (first["state"], more["state"]) == ("budget", "budget")
    assert more["kernels"][0]["designs"]["proposed"] > first["kernels"][0]["designs"]["proposed"] >= 1
    spent = json.loads(kernelwright("spend", first["run"], "--json", cwd=folder))
    assert spent["limits"] == [
        {
            "scope": "run",
            "resource": "tokens",
            "used": sum(r["tokens_in"] + r["tokens_out"] for r in spent["rows"]),
            "limit": 25000.0,
        }
    ]
    assert {row["role"] for row in spent["rows"]} == {"architect", "engineer"}
    assert all(row["cost"] == pytest.approx((row["tokens_in"] + 2 * row["tokens_out"]) / 1e6) for row in spent["rows"])
    text = kernelwright("spend", first["run"], cwd=folder)
    assert "budget of run" in text
    assert "unusable" not in text


def test_a_prompt_is_shown_word_for_word(played: Any) -> None:
    folder, first, _, _ = played
    text = kernelwright("prompt", first["run"], "engineer", cwd=folder)
    assert "# Engineer" in text
    assert "## Contract" in text
    repair = json.loads(kernelwright("prompt", first["run"], "reviewer", "--design", "d0001", "--json", cwd=folder))
    assert "source of design d0001" in repair["user"]
    kernelwright("prompt", first["run"], "manager", cwd=folder, code=2)


def test_a_run_is_replayed_without_its_server(played: Any) -> None:
    folder, first, more, _ = played
    again = json.loads(
        kernelwright("run", "--replay-answers", first["run"], "--minutes", 20, *LENIENT, "--json", cwd=folder)
    )
    assert again["kernels"][0]["designs"]["proposed"] == more["kernels"][0]["designs"]["proposed"]
    spent = json.loads(kernelwright("spend", again["run"], "--json", cwd=folder))
    assert all(row["attempts"] == 0 and row["reused"] > 0 for row in spent["rows"])


def test_the_key_is_nowhere_in_the_store(played: Any) -> None:
    folder, first, _, _ = played
    exported = kernelwright("export", first["run"], cwd=folder)
    assert CANARY not in exported
    assert CANARY.encode() not in b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("tokens", "takes tokens=N"),
        ("tokens=-1", "above zero"),
        ("tokens=many", "a number or none"),
        ("minutes=3", "takes tokens=N"),
        ("boss.tokens=3", "takes tokens=N"),
    ],
)
def test_bad_budgets_are_refused(tmp_path: Path, change: str, why: str) -> None:
    log = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    start_run(log, Plan("r", "simulated", ("k",), Policy(), 0, 60.0, {}, "0"))
    view = load_run(log, "r")
    assert budgets_in_force(log, view, ["tokens=5", "engineer.minutes=2", "tokens=none"])["tokens"] is None
    with pytest.raises(ConfigError, match=why):
        budgets_in_force(log, view, [change])
    log.close()
