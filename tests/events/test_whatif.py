"""What-if: replays that flip nothing, flips with their basis, forks that share a prefix, earlier states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.cli.main import app
from kernelwright.events.base import Context, InvariantError
from kernelwright.events.forking import UnknownEventError, fork_run
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run, RunForked, StepStarted
from kernelwright.events.tree import DesignJudged, DesignTree, PairsRead
from kernelwright.events.verify import verify
from kernelwright.events.views.asof import UnknownMomentError, position_as_of
from kernelwright.events.views.load import UnknownRunError, history, load_run
from kernelwright.events.views.replay import replay_run, sweep
from kernelwright.events.views.summary import list_runs, run_summary
from support.loops import go_on
from typer.testing import CliRunner

STRICT = ("accept_e=100000",)


@pytest.fixture
def log(finished: Path) -> EventLog:
    return EventLog.open(str(finished))


def fork(log: EventLog, at: str, name: str = "f", *overrides: str, parent: str = "r") -> None:
    policy = Policy.from_mapping(load_run(log, parent).policy).with_overrides(overrides)
    fork_run(log, parent, at, name, policy.as_dict(), minutes=60.0, version="test")


def judged(log: EventLog) -> list[DesignJudged]:
    return [r.event for r in history(log, "r") if isinstance(r.event, DesignJudged)]


def test_the_recorded_policy_flips_nothing(log: EventLog) -> None:
    data = replay_run(log, "r")
    assert data["flips"] == []
    assert data["comparisons"] == []
    assert (data["device_seconds_saved"], data["device_seconds_needed"]) == (0.0, 0.0)
    assert {each["label"] for each in data["statements"]} == {"exact"}
    tree = load_run(log, "r").trees["double"]
    (kernel,) = data["kernels"]
    assert kernel["best"] == tree.best
    assert [each["design"] for each in kernel["lineage"]] == [each.design for each in tree.lineage]
    assert [each["gain"] for each in kernel["lineage"]] == pytest.approx([each.gain for each in tree.lineage])


def test_a_stricter_policy_needs_more_pairs_and_what_follows_is_off_policy(log: EventLog) -> None:
    data = replay_run(log, "r", STRICT)
    first = data["flips"][0]
    assert (first["design"], first["recorded"], first["replayed"]) == ("d0001", "accepted", "needs pairs")
    pairs = next(each.pairs for each in judged(log) if each.design == "d0001")
    missing = Policy().pair_cap - sum(
        len(r.event.orders)
        for r in history(log, "r")
        if isinstance(r.event, PairsRead) and r.event.candidate == "d0001" and r.event.purpose in ("screen", "decide")
    )
    assert first["label"] == f"needs {missing} more pairs"
    assert f"{pairs}" in first["basis"]
    later = [each for each in data["statements"] if each["design"] > "d0001" and each["kind"] == "verdict"]
    assert later
    assert {each["label"] for each in later} == {"off-policy: best differs"}
    assert data["device_seconds_needed"] > 0
    assert {(each["design"], each["against"]) for each in data["comparisons"]} >= {("d0001", "d0000")}


def test_a_laxer_screen_lets_a_slow_design_go_on(log: EventLog) -> None:
    data = replay_run(log, "r", ("probe_slower=5",))
    (flip,) = [each for each in data["flips"] if each["recorded"] == "too-slow"]
    assert flip["kind"] == "screen"
    assert flip["replayed"] == "needs pairs"
    assert flip["label"].startswith("needs ")


def test_a_smaller_cap_saves_device_time_exactly(log: EventLog) -> None:
    data = replay_run(log, "r", ("pair_cap=8",))
    rejected = [each for each in data["flips"] if each["recorded"] == "rejected"]
    assert all(each["replayed"] == "undecided" for each in rejected)
    assert data["device_seconds_saved"] > 0
    assert data["device_seconds_needed"] == 0


def test_a_sweep_gives_a_row_for_each_value(log: EventLog) -> None:
    rows = sweep(log, "r", (), "accept_e", ["100", "100000"])
    assert [row["value"] for row in rows] == ["100", "100000"]
    assert [bool(row["flips"]) for row in rows] == [False, True]


def test_replay_writes_nothing(finished: Path) -> None:
    before = finished.read_bytes()
    log = EventLog.open(str(finished), read_only=True)
    replay_run(log, "r", STRICT)
    log.close()
    assert finished.read_bytes() == before


def test_a_fork_shares_the_prefix_and_copies_nothing(log: EventLog) -> None:
    before = log.store.last_position()
    verdict = judged(log)[0]
    fork(log, verdict.ref)
    forked, parent = load_run(log, "f"), load_run(log, "r")
    assert log.store.last_position() == before + 3  # the run, its one tree, its stop
    assert forked.name == "f"
    assert forked.state == "interrupted"
    assert forked.trees["double"].designs[verdict.design].verdict == verdict
    assert (
        list(forked.trees["double"].designs)
        == list(parent.trees["double"].designs)[: len(forked.trees["double"].designs)]
    )
    assert [each["run"] for each in list_runs(log)] == ["f", "r"]
    assert verify(log).ok
    with pytest.raises(InvariantError, match="exists already"):
        fork(log, verdict.ref)


def test_a_fork_ends_at_the_end_of_a_step(log: EventLog) -> None:
    started = next(r for r in history(log, "r") if isinstance(r.event, StepStarted) and r.event.name == "compare")
    fork(log, str(started.position))
    view = load_run(log, "f")
    assert view.in_flight is None
    assert max(r.position for r in history(log, "f") if r.position <= started.position) >= started.position - 1
    assert load_run(log, "f", from_snapshot=False).trees == view.trees


def test_a_forked_run_guards_what_its_parent_had(log: EventLog) -> None:
    fork(log, judged(log)[0].ref)
    tree, run = log.load(DesignTree, "f", "double"), log.load(Run, "f")
    assert "d0001" in tree.designs
    with pytest.raises(InvariantError, match="registered already"):
        tree.propose(Context(), design="d0001", parent=None)
    done = next(r.event for r in history(log, "r") if isinstance(r.event, StepStarted))
    run.resume(Context(), 1.0)
    with pytest.raises(InvariantError, match="never repeated"):
        run.begin_step(Context(), done.key, done.name, {})


def test_a_fork_under_another_policy_takes_the_missing_comparisons(log: EventLog) -> None:
    flip = replay_run(log, "r", STRICT)["flips"][0]
    fork(log, flip["event"], "f", *STRICT)
    assert load_run(log, "f").trees["double"].designs["d0001"].verdict is None
    view = go_on(log, "f")
    assert view.state == "finished"
    verdicts = [r.event for r in history(log, "f") if isinstance(r.event, DesignJudged)]
    assert verdicts[0].design == "d0001"
    assert verdicts[0].thresholds["accept_e"] == 100000
    shared = {r.event.ref for r in history(log, "r")}
    assert set(verdicts[0].evidence) & shared
    assert set(verdicts[0].evidence) - shared
    assert replay_run(log, "f")["flips"] == []
    assert verify(log).ok
    assert run_summary(load_run(log, "f", from_snapshot=False)) == run_summary(view)


def test_a_fork_of_a_fork(log: EventLog) -> None:
    fork(log, judged(log)[1].ref, "f")
    go_on(log, "f")
    own = [r.event for r in history(log, "f") if isinstance(r.event, DesignJudged)][-1]
    fork(log, own.ref, "g", parent="f")
    shared = judged(log)[0]
    fork(log, shared.ref, "h", parent="g")
    assert load_run(log, "g").trees["double"].designs[own.design].verdict == own
    (h,) = [r.event for r in history(log, "h") if isinstance(r.event, RunForked)]
    assert h.parent == "r"
    assert load_run(log, "h").trees["double"].best == "d0000"
    go_on(log, "g")
    assert verify(log).ok


def test_unknown_events_and_runs_are_named(log: EventLog) -> None:
    with pytest.raises(UnknownEventError, match="has no event 'x'; name one by reference or position"):
        fork(log, "x")
    with pytest.raises(UnknownRunError):
        replay_run(log, "nothing")


def test_earlier_states_by_event_time_and_toolchain(log: EventLog) -> None:
    verdict = judged(log)[0]
    position = position_as_of(history(log, "r"), verdict.ref)
    then = load_run(log, "r", until=position).trees["double"]
    assert then.best == "d0000"
    assert then.designs["d0001"].verdict == verdict
    when = position_as_of(history(log, "r"), verdict.at.isoformat())
    assert load_run(log, "r", until=when).trees["double"].designs["d0001"].verdict is not None
    with pytest.raises(UnknownMomentError, match="is no moment"):
        position_as_of(history(log, "r"), "2001-01-01T00:00")
    now = load_run(log, "r")
    assert now.toolchain is not None
    last = position_as_of(history(log, "r"), now.toolchain.fingerprint[:8])
    assert load_run(log, "r", until=last).trees["double"].best == now.trees["double"].best


def test_the_commands(finished: Path) -> None:
    run, store = CliRunner(), ["--store", str(finished)]
    data = json.loads(run.invoke(app, ["replay", "r", "--policy", STRICT[0], "--json", *store]).stdout)
    flip = data["flips"][0]
    assert {"design", "recorded", "replayed", "basis", "label"} <= flip.keys()
    text = run.invoke(app, ["replay", "r", "--policy", STRICT[0], *store]).stdout
    assert "needs pairs" in text
    assert f"kernelwright fork r --at {flip['event']} --policy {STRICT[0]}" in text
    made = run.invoke(app, ["fork", "r", "--at", flip["event"], "--policy", STRICT[0], "--json", *store])
    assert json.loads(made.stdout)["run"] == "r-fork1"
    table = run.invoke(app, ["replay", "r", "--sweep", "pair_cap=8,48", *store]).stdout
    assert len(table.splitlines()) == 3
    bad = run.invoke(app, ["replay", "r", "--policy", "acept_e=3", *store])
    assert bad.exit_code == 2
    assert "accept_e" in bad.output
    tree = run.invoke(app, ["tree", "r", "double", "--as-of", flip["event"], "--json", *store])
    assert json.loads(tree.stdout)["best"] == "d0000"
    lines = json.loads(run.invoke(app, ["history", "r", "--kind", "design-judged", "--json", *store]).stdout)
    assert {line["kind"] for line in lines} == {"tree.design-judged"}
    last = run.invoke(app, ["history", "r", "--design", "d0001", "--limit", "2", *store]).stdout
    assert len(last.splitlines()) == 2
