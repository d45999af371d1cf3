"""Moving runs between stores: exact round trips, and exports that are not whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.cli.main import app
from kernelwright.events.base import Context, canonical
from kernelwright.events.device import Device
from kernelwright.events.forking import fork_run
from kernelwright.events.knowledge import KnowledgeBase
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run
from kernelwright.events.transfer import ImportRefusedError, export_run, import_run
from kernelwright.events.tree import DesignJudged
from kernelwright.events.verify import verify
from kernelwright.events.views.explain import explain
from kernelwright.events.views.load import history, load_run
from kernelwright.events.views.replay import replay_run
from kernelwright.events.views.summary import run_summary
from typer.testing import CliRunner


@pytest.fixture
def source(finished: Path) -> EventLog:
    return EventLog.open(str(finished))


@pytest.fixture
def lines(source: EventLog) -> list[str]:
    return list(export_run(source, "r"))


def test_a_round_trip_is_exact_blobs_included(
    source: EventLog, lines: list[str], open_store: Callable[..., EventLog]
) -> None:
    log = open_store()
    found = import_run(log, lines)
    assert (found.run, found.events) == ("r", found.new_events)
    assert list(export_run(log, "r")) == lines
    assert run_summary(load_run(log, "r")) == run_summary(load_run(source, "r"))
    for design in load_run(log, "r").trees["double"].designs.values():
        assert log.blobs.get(design.proposed.source) == source.blobs.get(design.proposed.source)
    assert verify(log).ok


def test_an_imported_run_answers_for_itself(
    source: EventLog, lines: list[str], open_store: Callable[..., EventLog]
) -> None:
    """Without the knowledge base and the device of the store that it was made in: it names what a specialist was shown."""

    def story(log: EventLog) -> list[dict[str, Any]]:
        view = load_run(log, "r")
        stories = [explain(log, view, tree, each) for tree in view.trees.values() for each in tree.designs.values()]
        for each in stories:
            for event in each["events"]:
                del event["position"]  # the other store has other events in between
        return stories

    log = open_store()
    import_run(log, lines)
    assert not list(log.stream([KnowledgeBase.identify("simulated"), Device.identify("simulated")]))
    assert story(log) == story(source)
    assert any(each["origin"]["knowledge"] for each in story(log))
    assert replay_run(log, "r") == replay_run(source, "r")


def test_importing_again_changes_nothing(lines: list[str], open_store: Callable[..., EventLog]) -> None:
    log = open_store()
    import_run(log, lines)
    before = log.store.last_position()
    assert import_run(log, lines).new_events == 0
    assert log.store.last_position() == before


def test_a_longer_history_continues_a_shorter_one(
    source: EventLog, lines: list[str], open_store: Callable[..., EventLog]
) -> None:
    log = open_store()
    import_run(log, lines)
    run = source.load(Run, "r")
    run.resume(Context(), 9.0)
    source.record(run)
    assert import_run(log, export_run(source, "r")).new_events == 1
    assert log.load(Run, "r").head == run.head
    mine = log.load(Run, "r")
    mine.stop(Context(), "failed")
    log.record(mine)
    run.stop(Context(), "interrupted")
    source.record(run)
    with pytest.raises(ImportRefusedError, match="another history"):
        import_run(log, export_run(source, "r"))


def test_a_fork_brings_what_it_shares(source: EventLog, open_store: Callable[..., EventLog]) -> None:
    verdict = next(r.event for r in history(source, "r") if isinstance(r.event, DesignJudged))
    fork_run(source, "r", verdict.ref, "f", Policy().as_dict(), minutes=1.0, version="test")
    log = open_store()
    import_run(log, export_run(source, "f"))
    assert run_summary(load_run(log, "f")) == run_summary(load_run(source, "f"))
    assert list(export_run(log, "f")) == list(export_run(source, "f"))
    import_run(log, export_run(source, "r"))
    assert run_summary(load_run(log, "r")) == run_summary(load_run(source, "r"))
    assert verify(log).ok


def test_a_cut_export_is_refused_with_its_last_line(lines: list[str], open_store: Callable[..., EventLog]) -> None:
    log = open_store()
    with pytest.raises(ImportRefusedError, match=f"line {len(lines) - 1}: .* cut off"):
        import_run(log, lines[:-1])
    with pytest.raises(ImportRefusedError, match="line 30: it is not JSON"):
        import_run(log, [*lines[:29], lines[29][:40]])
    assert log.store.last_position() == 0


@pytest.mark.parametrize("at", [1, 2, 3, 20, 100])
def test_an_edited_line_is_refused_by_its_number(
    lines: list[str], at: int, open_store: Callable[..., EventLog]
) -> None:
    content = json.loads(lines[at - 1])
    key = next(name for name in ("run", "content", "state") if name in content)
    content[key] = content[key].replace("e", "a", 1) if "e" in content[key] else content[key] + "A"
    edited = [*lines[: at - 1], canonical(content), *lines[at:]]
    with pytest.raises(ImportRefusedError, match=f"line {at}: it is not as it was written"):
        import_run(open_store(), edited)


def test_a_missing_or_moved_or_added_line_is_refused(lines: list[str], open_store: Callable[..., EventLog]) -> None:
    log = open_store()
    with pytest.raises(ImportRefusedError, match="line 10: "):
        import_run(log, [*lines[:9], *lines[10:]])
    with pytest.raises(ImportRefusedError, match="line 10: "):
        import_run(log, [*lines[:9], lines[10], lines[9], *lines[11:]])
    with pytest.raises(ImportRefusedError, match="something after the end"):
        import_run(log, [*lines, lines[-1]])
    with pytest.raises(ImportRefusedError, match="line 1: this is no export"):
        import_run(log, ['{"seal":"x"}'])


def test_the_commands(finished: Path, tmp_path: Path) -> None:
    run, file, other = CliRunner(), tmp_path / "run.jsonl", tmp_path / "other.sqlite"
    assert run.invoke(app, ["export", "r", "-o", str(file), "--store", str(finished)]).exit_code == 0
    done = run.invoke(app, ["import", str(file), "--store", str(other), "--json"])
    assert json.loads(done.stdout)["run"] == "r"
    file.write_text("\n".join(file.read_text().splitlines()[:-1]))
    refused = run.invoke(app, ["import", str(file), "--store", str(tmp_path / "new.sqlite")])
    assert refused.exit_code == 1
    assert "cut off; nothing was recorded" in refused.output
