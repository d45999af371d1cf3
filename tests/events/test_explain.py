"""The audit of a design: everything named, from events alone, in three forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.acceptance.sequential import decide, log_ratio
from kernelwright.cli.main import app
from typer.testing import CliRunner

RUN = CliRunner()


def explained(store: Path, design: str, *options: str) -> str:
    result = RUN.invoke(app, ["explain", "r", design, *options, "--store", str(store)])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def accepted(finished: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(explained(finished, "d0005", "--json"))
    return data


def test_who_proposed_it_and_why_with_what_was_shown(accepted: dict[str, Any]) -> None:
    origin = accepted["origin"]
    assert (origin["specialist"], origin["role"]) == ("script", "engineer")
    assert len(origin["request"]) == len(origin["answer"]) == 64
    assert origin["knowledge"]["probes"] == {"stream": 30.0}
    assert (accepted["parent"], accepted["why"]) == ("d0001", "the script says so")
    assert "-seconds: 0.004" in accepted["diff"]
    assert "+seconds: 0.002" in accepted["diff"]


def test_identity_checks_pairs_and_e(accepted: dict[str, Any]) -> None:
    assert accepted["identity"]["loaded"] == [accepted["identity"]["artifact"]]
    assert [check["check"] for check in accepted["checks"]][:3] == ["review", "build", "oracle"]
    deciding = [r for r in accepted["readings"] if r["purpose"] in ("screen", "decide")]
    pairs = [pair for reading in deciding for pair in reading["pairs"]]
    assert {pair["order"] for pair in pairs} == {"BC", "CB"}
    ratios = [log_ratio(pair["best_seconds"], pair["candidate_seconds"]) for pair in pairs]
    scales = [reading["scale"] for reading in deciding for _ in reading["pairs"]]
    made = decide(Policy.from_mapping(accepted["verdict"]["thresholds"]), scales, ratios)
    used = [pair["e_accept"] for pair in pairs if pair["e_accept"] is not None]
    assert used == list(made.e_accept) == accepted["verdict"]["e_accept"]
    assert made.verdict == accepted["verdict"]["verdict"] == "accepted"
    confirming = [r for r in accepted["readings"] if r["purpose"] == "confirm"]
    assert all(pair["e_accept"] is None for reading in confirming for pair in reading["pairs"])
    assert accepted["accepted"]["evidence"] == [reading["evidence"] for reading in confirming]


def test_what_became_of_it(accepted: dict[str, Any], finished: Path) -> None:
    assert accepted["status"] == "accepted"
    assert accepted["superseded_by"] == "d0010"
    best = json.loads(explained(finished, "double/d0010", "--json"))
    assert best["anchor"]["against"] == "d0000"
    assert best["anchor"]["ratio"] > 1
    kinds = [event["kind"] for event in best["events"]]
    assert kinds[0] == "tree.design-proposed"
    assert "tree.design-accepted" in kinds


def test_a_failed_build_shows_what_the_compiler_said(finished: Path) -> None:
    data = json.loads(explained(finished, "d0002", "--json"))
    assert data["status"] == "build-failed"
    assert any(check["output"] and "error: asked for" in check["output"] for check in data["checks"])
    assert "error: asked for" in explained(finished, "d0002")


def test_as_text_with_a_plot(finished: Path) -> None:
    text = explained(finished, "d0005")
    for part in (
        "by script, as engineer, request ",
        "shown: probes: stream 30",
        "identity: source ",
        "superseded by d0010",
    ):
        assert part in text
    assert sum(line.strip().startswith(("BC ", "CB ")) for line in text.splitlines()) > 10
    assert "E " in text


def test_as_markdown_for_a_pull_request(finished: Path) -> None:
    text = explained(finished, "d0005", "--markdown")
    assert text.startswith("## double/d0005: line 4 - accepted (")
    assert "```diff\n--- d0001\n+++ d0005" in text
    assert text.count("```") % 2 == 0
    assert "| oracle | ok |" in text
