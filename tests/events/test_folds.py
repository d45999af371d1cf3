"""Folds under random histories: what is rebuilt equals what was live, and prefixes agree with what came after them."""

from __future__ import annotations

import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernelwright.events.base import Context, InvariantError
from kernelwright.events.log import EventLog, Recorded
from kernelwright.events.run import Run
from kernelwright.events.tree import DesignTree, FloorMeasured, SearchExhausted
from kernelwright.events.views import designs, snapshot
from kernelwright.events.views.digest import state_digest
from kernelwright.events.views.load import load_run
from kernelwright.events.views.run import RunView
from kernelwright.events.views.snapshot import keep_view
from kernelwright.events.views.summary import run_summary
from kernelwright.events.views.tree import TreeView

Command = tuple[str, int, int]
"""What to do, to which design, in which way."""
COMMANDS = st.lists(
    st.tuples(
        st.sampled_from(["propose", "check", "read", "judge", "accept", "revoke", "step", "stop", "floor", "exhaust"]),
        st.integers(0, 5),
        st.integers(0, 3),
    ),
    max_size=40,
)
OUTCOMES = ("ok", "build-failed", "too-slow", "ok")
PURPOSES: tuple[Literal["screen", "decide", "confirm", "anchor"], ...] = ("screen", "decide", "confirm", "anchor")
VERDICTS = ("accepted", "rejected", "undecided", "accepted")


class History:
    """Gives commands to the aggregates of a run; what breaks an invariant is refused and leaves nothing."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.run = Run.new("r")
        self.tree = DesignTree.new("r", "k")
        self.refused = 0
        start: dict[str, Any] = {"target": "t", "policy": {}, "seed": 0, "entropy": "0", "minutes": 1.0, "config": {}}
        self.run.start(Context(), run="r", kernels=("k",), version="0", **start)
        self.tree.start(Context(), run="r", kernel="k", spec="s", dimensions={}, streamed_bytes=8)
        self._propose("d0", None, "baseline")
        log.record(self.run, self.tree)

    def do(self, command: Command) -> None:
        """One command, saved at once."""
        verb, number, way = command
        before = self.run.version + self.tree.version
        try:
            getattr(self, f"_do_{verb}")(f"d{number}", way)
        except InvariantError:
            self.refused += 1
            assert self.run.version + self.tree.version == before
        self.log.record(self.run, self.tree)

    def _propose(self, design: str, parent: str | None, kind: str) -> None:
        source = self.log.blobs.put(f"source of {design}")
        content = {"by": "b", "title": "t", "rationale": "r", "levers": {}, "source": source, "normalized": source}
        self.tree.propose(Context(), design=design, parent=parent, kind=kind, **content)

    def _do_propose(self, design: str, way: int) -> None:
        self._propose(design, f"d{way}", "small")

    def _do_check(self, design: str, way: int) -> None:
        content = {"reason": "", "seconds": 0.0, "details": {}, "artifact": f"a{way}" if way else None}
        self.tree.check(Context(), design=design, check=("build", "oracle")[way % 2], outcome=OUTCOMES[way], **content)

    def _do_read(self, design: str, way: int) -> None:
        best = self.tree.best or ""
        self.tree.read(
            Context(),
            purpose=PURPOSES[way],
            best=best,
            candidate=design,
            best_artifact="a",
            candidate_artifact="b",
            calls=1,
            scale=0.1,
            turn=0,
            orders=("BC", "CB"),
            best_seconds=(1.0, 1.5),
            candidate_seconds=(0.5, 0.75),
            outcome="ok",
            reason="",
            blamed="nobody",
            device_seconds=1.25,
        )

    def _do_judge(self, design: str, way: int) -> None:
        refs = [ref for ref, purpose in self.tree.evidence.items() if purpose in ("screen", "decide")]
        content = {"outcome": "ok", "reason": "", "pairs": 2, "e_accept": 1.0, "e_futile": 1.0, "scale": 0.1}
        self.tree.judge(
            Context(),
            design=design,
            against=self.tree.best or "",
            verdict=VERDICTS[way],
            policy="p",
            thresholds={},
            evidence=tuple(refs[-1:]),
            **content,
        )

    def _do_accept(self, design: str, way: int) -> None:
        refs = tuple(ref for ref, purpose in self.tree.evidence.items() if purpose == "confirm")
        content = {"gain": 2.0, "gain_low": 1.5, "gain_high": 2.5, "confidence": 0.95}
        self.tree.accept(Context(), design=design, over=self.tree.best or "", evidence=refs, **content)

    def _do_revoke(self, design: str, way: int) -> None:
        self.tree.revoke(Context(), design, "wrong")

    def _do_step(self, design: str, way: int) -> None:
        key = f"{design}-{way}"
        started = self.run.begin_step(Context(), key, "build", {"design": design})
        if way:
            self.run.finish_step(Context(cause=started.ref), key, "ok", {"rest": 0.5})

    def _do_stop(self, design: str, way: int) -> None:
        if way:
            self.run.resume(Context(), float(way))
        else:
            self.run.stop(Context(), "interrupted")

    def _do_floor(self, design: str, way: int) -> None:
        content: dict[str, Any] = {"seconds": 0.1, "spread_seconds": 0.0, "repeats": 1, "conditions": {}}
        self.tree.note(Context(), FloorMeasured, **content)

    def _do_exhaust(self, design: str, way: int) -> None:
        self.tree.note(Context(), SearchExhausted, reason="no more")


def follow(log: EventLog, *, streaming: bool = False) -> RunView:
    """A view that is kept up while a run goes on; one that streams leaves what is settled to the log."""
    live = RunView(fetch=log.at_positions if streaming else None)

    def apply(saved: Any) -> None:
        for recorded in saved:
            live.apply(recorded)

    log.listen(apply)
    return live


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(COMMANDS, st.integers(0, 40), st.integers(0, 3))
def test_rebuilt_restored_streaming_and_live_are_the_same(commands: list[Command], snapshot_at: int, kept: int) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(designs, "KEPT", kept):
        log = EventLog.open(str(Path(folder) / "log.sqlite"), create=True)
        live, streaming = follow(log), follow(log, streaming=True)
        history = History(log)
        for index, command in enumerate(commands):
            history.do(command)
            if index == snapshot_at:
                keep_view(log, live)
                log.keep_snapshot(history.run, history.tree)
        rebuilt = load_run(log, "r", from_snapshot=False)
        restored = load_run(log, "r")
        for view in (streaming, rebuilt, restored):
            assert view.trees == live.trees
            assert run_summary(view) == run_summary(live)
            assert state_digest(view) == state_digest(live)
            assert (view.heads, view.position, view.events) == (live.heads, live.position, live.events)
        tree, run = log.load(DesignTree, "r", "k"), log.load(Run, "r")
        assert (tree.state(), tree.head) == (history.tree.state(), history.tree.head)
        assert (run.state(), run.head) == (history.run.state(), history.run.head)
        log.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(COMMANDS)
def test_a_prefix_is_the_state_that_was_live_then(commands: list[Command]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = EventLog.open(str(Path(folder) / "log.sqlite"), create=True)
        live = follow(log)
        history = History(log)
        seen = {live.position: (state_digest(live), run_summary(live)["kernels"])}
        for command in commands:
            history.do(command)
            seen[live.position] = (state_digest(live), run_summary(live)["kernels"])
        for position, (digest, kernels) in seen.items():
            then = load_run(log, "r", until=position)
            assert (state_digest(then), run_summary(then)["kernels"]) == (digest, kernels)
        log.close()


def test_counts_are_those_of_the_designs(finished: Path) -> None:
    log = EventLog.open(str(finished), read_only=True)
    tree = load_run(log, "r").trees["double"]
    candidates = [design for design in tree.designs.values() if design.id != tree.baseline]
    counts = tree.counts
    assert counts["proposed"] == len(candidates)
    assert sum(counts["screened"].values()) == sum(design.failed is not None for design in candidates)
    assert counts["accepted"] == sum(design.accepted is not None for design in candidates)
    log.close()


def test_events_out_of_order_are_refused() -> None:
    run = Run.new("r")
    first = run.trigger(SearchExhausted, Context(), reason="")
    with pytest.raises(InvariantError, match="does not follow version 1"):
        run.fold(first)
    assert Recorded(1, first).event is first


def test_a_snapshot_holds_every_field_of_the_views() -> None:
    derived = {"fetch", "trees", "heads", "core", "_tree_of"}
    assert {field.name for field in fields(RunView)} == {*snapshot._RUN_NUMBERS, *snapshot._RUN_EVENTS, *derived}
    listed = {"designs", "lineage", "calibration", "anchor_readings", "unsettled", "core", "_claimed"}
    assert {field.name for field in fields(TreeView)} == {*snapshot._TREE_NUMBERS, *snapshot._TREE_EVENTS, *listed}
