"""Knowledge as of an event, of any aggregate; as of a position, a time, a toolchain."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kernelwright.cli.main import app
from kernelwright.events.base import Context
from kernelwright.events.knowledge import KnowledgeBase
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run
from typer.testing import CliRunner

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
OLD, NEW = "aaaa000011112222", "bbbb000011112222"


def claim(name: str) -> dict[str, Any]:
    place = {"document": "d.md", "heading": "h", "first_line": 1, "last_line": 1, "section": "s" * 16}
    return {"claim": name, "sentence": name, **place, "by": "test", "snippet": None, "expect": {}}


@pytest.fixture
def moments(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    """The options that name the store, and moments by name: an hour apart, each after one more claim."""
    store = str(tmp_path / "log.sqlite")
    log = EventLog.open(store, create=True)
    base, run = KnowledgeBase.new("cpu"), Run.new("r")
    found: dict[str, str] = {}
    for hour, toolchain in enumerate((OLD, OLD, NEW)):
        context = Context(toolchain=toolchain, clock=partial(datetime.__add__, START, timedelta(hours=hour)))
        base.seen(context, "cpu", toolchain, {"compiler": toolchain}, {})
        base.claim(context, **claim(f"c{hour}"))
        found[f"claim {hour}"] = base.pending[-1].ref
        log.record(base)
        if hour == 1:
            plain: dict[str, Any] = {"target": "cpu", "policy": {}, "seed": 0, "entropy": "00", "config": {}}
            run.start(context, run="r", kernels=(), minutes=1.0, version="0", **plain)
            found["start of a run"] = run.pending[-1].ref
            found["its position"] = str(log.record(run)[0].position)
    log.close()
    return ["--store", store, "--json"], found


@pytest.mark.parametrize(
    ("moment", "claims"),
    [
        ("claim 0", 1),
        ("claim 1", 2),
        ("start of a run", 2),
        ("its position", 2),
        ((START + timedelta(minutes=30)).isoformat(), 1),
        ("2026-01-01T13:00", 2),
        (OLD, 2),
        (OLD[:4], 2),
        (NEW, 3),
        ("", 3),
    ],
)
def test_as_of(moments: tuple[list[str], dict[str, str]], moment: str, claims: int) -> None:
    store, named = moments
    result = CliRunner().invoke(app, ["knowledge", "cpu", "--as-of", named.get(moment, moment), *store])
    assert len(json.loads(result.stdout)["claims"]) == claims


@pytest.mark.parametrize("moment", ["never", "2025-01-01T00:00", "aaaaaaaaaaaa:7", "cccc", "0"])
def test_no_moment(moments: tuple[list[str], dict[str, str]], moment: str) -> None:
    result = CliRunner().invoke(app, ["knowledge", "cpu", "--as-of", moment, *moments[0]])
    assert result.exit_code == 2
    assert "is no moment" in json.loads(result.stdout)["error"]
