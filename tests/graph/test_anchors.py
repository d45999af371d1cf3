"""The best meets its anchors after every few acceptances, and the speedup is that over the baseline alone."""

from __future__ import annotations

from pathlib import Path

from kernelwright.acceptance.policy import Policy
from kernelwright.events.log import EventLog
from kernelwright.events.tree import AnchorCompared, DesignAccepted
from kernelwright.events.views.load import load_run
from kernelwright.events.views.summary import run_summary
from kernelwright.graph.runner import drive, workbench
from support.loops import begin, quietly, repeatable
from support.simulated import Script, SimulatedTarget, source, toy_spec

STEPS = (16e-3, 12e-3, 9e-3, 7e-3, 5e-3)
"""True seconds of five designs, each a plain gain over the one before; the baseline takes 20 ms."""


def anchored_run(log: EventLog, anchor_every: int) -> list[tuple[int, str, str]]:
    """A run of the five gains: for each anchor comparison how many acceptances there were, its best and its anchor."""
    with repeatable():
        begin(log, policy=Policy(anchor_every=anchor_every))
        script = Script([source(seconds) for seconds in STEPS])
        with workbench(log, "r", SimulatedTarget(), {"double": toy_spec()}, script) as wb:
            drive(wb, quietly)
    acceptances, found = 0, []
    for recorded in log.stream():
        if isinstance(recorded.event, DesignAccepted):
            acceptances += 1
        elif isinstance(recorded.event, AnchorCompared):
            found.append((acceptances, recorded.event.best, recorded.event.anchor))
    assert acceptances == len(STEPS)
    return found


def test_anchors_after_every_second_acceptance_and_at_the_end(tmp_path: Path) -> None:
    with EventLog.open(str(tmp_path / "log.sqlite"), create=True) as log:
        found = anchored_run(log, 2)
        assert found == [
            (2, "d0002", "d0000"),
            (4, "d0004", "d0000"),
            (4, "d0004", "d0002"),
            (5, "d0005", "d0000"),
            (5, "d0005", "d0003"),
        ]
        view = load_run(log, "r")
        tree = view.trees["double"]
        assert tree.anchor is not None
        assert tree.champion is not None
        assert (tree.anchor.anchor, tree.champion.anchor) == ("d0000", "d0003")
        kernel = run_summary(view)["kernels"][0]
        # The comparison with the earlier best came last; the speedup is that over the baseline all the same.
        assert kernel["speedup"] == tree.anchor.ratio
        assert abs(kernel["speedup"] / (20 / 5) - 1) < 0.03
        assert abs(tree.champion.ratio / (9 / 5) - 1) < 0.03
        # Claims since the earlier best alone: two of the five.
        assert abs(tree.champion.claimed / (9 / 5) - 1) < 0.05
        assert kernel["alarm"] is None
        assert abs(kernel["baseline_seconds"] / 20e-3 - 1) < 0.03


def test_with_fewer_acceptances_only_the_end_counts(tmp_path: Path) -> None:
    with EventLog.open(str(tmp_path / "log.sqlite"), create=True) as log:
        assert anchored_run(log, 10) == [(5, "d0005", "d0000")]
