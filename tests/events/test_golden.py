"""Logs of released schemas: read for ever, to the same state, with the same decisions, and given on unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kernelwright.events.log import EventLog
from kernelwright.events.transfer import export_run, import_run
from kernelwright.events.verify import verify
from kernelwright.events.views.digest import state_digest
from kernelwright.events.views.explain import explain
from kernelwright.events.views.load import load_run
from kernelwright.events.views.replay import replay_run
from kernelwright.events.views.summary import run_summary

EXPORTS = sorted((Path(__file__).parent.parent / "golden").glob("schema-*.jsonl"))


@pytest.fixture(params=EXPORTS, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[EventLog, list[str], dict[str, Any]]]:
    """The log, its export, and what it comes to."""
    path: Path = request.param
    lines = path.read_text(encoding="utf-8").splitlines()
    log = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    import_run(log, lines)
    yield log, lines, json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    log.close()


Golden = tuple[EventLog, list[str], dict[str, Any]]


def kept(found: Any, expected: Any) -> Any:
    """What is found, without the keys that a summary has gained since the log was made."""
    if isinstance(expected, dict):
        return {key: kept(value, expected[key]) for key, value in found.items() if key in expected}
    if isinstance(expected, list) and len(found) == len(expected):
        return [kept(each, other) for each, other in zip(found, expected, strict=True)]
    return found


def test_there_is_a_golden_log() -> None:
    assert EXPORTS


def test_it_folds_to_the_same_state(golden: Golden) -> None:
    log, _, expected = golden
    view = load_run(log, "golden")
    assert kept(json.loads(json.dumps(run_summary(view))), expected["summary"]) == expected["summary"]
    assert state_digest(view) == expected["state"]


def test_replay_of_the_recorded_policy_flips_nothing(golden: Golden) -> None:
    log, _, _ = golden
    data = replay_run(log, "golden")
    assert data["decisions"] > 0
    assert data["flips"] == []


def test_it_is_whole_and_given_on_unchanged(golden: Golden) -> None:
    log, lines, _ = golden
    assert verify(log).ok
    assert list(export_run(log, "golden")) == lines


def test_every_design_is_explained(golden: Golden) -> None:
    log, _, _ = golden
    view = load_run(log, "golden")
    for tree in view.trees.values():
        for design in tree.designs.values():
            assert explain(log, view, tree, design)["status"]
