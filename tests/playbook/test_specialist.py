"""The playbook at its port: spaces of other packages, gains by estimate, what other kernels taught."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from kernelwright.agents.playbook import spaces
from kernelwright.agents.playbook.space import Place
from kernelwright.agents.playbook.spaces import SpaceError, find_space
from kernelwright.agents.playbook.specialist import Playbook, relative_to_parents
from kernelwright.agents.port import NothingLeft, Proposal, ProposeTask, Tried

SPACE_OF_A_PACKAGE = """
from kernelwright.agents.playbook.space import Lever, Whole


class Stranger:
    kernel = "softmax"
    levers = (Lever("block", (8, 16, 32), "memory", "rows in a block"), Lever("path", ("a", "b"), "latency", "which way"))

    def wholes(self):
        return (Whole("plain", "the plain one", {"block": 8, "path": "a"}, first=True),)

    def canonical(self, design):
        return design

    def emit(self, design, says=""):
        return f"-- {says} {sorted(design.items())}"


def make(place):
    return Stranger() if place.kernel == "softmax" else None


def wrong(place):
    return object()
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "strangerspace.py").write_text(SPACE_OF_A_PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path))
    points = [
        EntryPoint("stranger", "strangerspace:make", spaces.GROUP),
        EntryPoint("broken", "strangerspace:absent", spaces.GROUP),
        EntryPoint("wrong", "strangerspace:wrong", spaces.GROUP),
    ]

    def entry_points(*, group: str, name: str) -> list[EntryPoint]:
        return [point for point in points if (point.group, point.name) == (group, name)]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)


def tried(name: str, parent: str | None = "baseline", /, **more: object) -> Tried:
    given: dict[str, object] = {
        "id": name,
        "parent": parent,
        "kind": "small",
        "by": "playbook",
        "title": name,
        "levers": {},
        "outcome": "ok",
        "verdict": None,
        "against": None,
        "log_gain": None,
        "pairs": 0,
    }
    return Tried.model_validate(given | more)


BASELINE = tried("baseline", None, kind="baseline")


def task(*designs: Tried, kernel: str = "softmax", target: str = "stranger", **more: object) -> ProposeTask:
    given: dict[str, object] = {
        "kernel": kernel,
        "target": target,
        "contract": "",
        "macros": {},
        "dimensions": {},
        "as_of": 1,
        "turn": 0,
        "seed": 5,
        "best": "baseline",
        "best_seconds": None,
        "floor_seconds": None,
        "probes": {},
        "tried": (BASELINE, *designs),
        "best_source": "",
    }
    return ProposeTask.model_validate(given | more)


@pytest.mark.usefixtures("package")
def test_a_package_brings_the_space_of_its_target() -> None:
    proposal = Playbook().propose(task())
    assert isinstance(proposal, Proposal)
    assert proposal.source == "-- Plain. [('block', 8), ('path', 'a')]"
    assert find_space(Place("stranger", "other kernel")) is None


@pytest.mark.usefixtures("package")
def test_a_space_that_cannot_be_used_is_told_by_its_entry_point() -> None:
    with pytest.raises(SpaceError, match="strangerspace:absent"):
        find_space(Place("broken", "softmax"))
    with pytest.raises(SpaceError, match=r"wrong.*lacks a part"):
        find_space(Place("wrong", "softmax"))


def test_a_kernel_without_a_space_is_for_people() -> None:
    answer = Playbook().propose(task())
    assert isinstance(answer, NothingLeft)
    assert "kernelwright submit" in answer.reason


def test_estimates_count_where_there_is_no_device_alone() -> None:
    faster: dict[str, object] = {"estimated_against": "baseline", "estimated_log_gain": 1.5, "verdict": "held"}
    slower: dict[str, object] = {"estimated_against": "d1", "estimated_log_gain": -0.5, "outcome": "too-slow"}
    log = [BASELINE, tried("d1", **faster), tried("d2", "d1", **slower), tried("d3", "d1", estimated_against="d1")]
    by_estimate = {t.id: t for t in relative_to_parents(log, by_estimate=True)}
    assert by_estimate["d1"].log_gain == 1.5
    assert by_estimate["d1"].verdict == "accepted"
    assert by_estimate["d2"].log_gain == -0.5
    assert by_estimate["d3"].log_gain is None
    by_readings = {t.id: t for t in relative_to_parents(log)}
    assert by_readings["d1"].log_gain is None
    assert by_readings["d1"].verdict == "held"


@pytest.mark.usefixtures("package")
def test_what_helped_another_kernel_is_tried_first() -> None:
    plain = {"block": 8, "path": "a"}
    best = tried("d1", kind="whole", levers=plain, verdict="accepted", against="baseline", log_gain=0.5)
    for wins, title in ((("path", "b"), "path b"), (("block", 32), "block 32")):
        other = (
            BASELINE,
            best,
            tried("d2", "d1", levers=plain | dict([wins]), verdict="accepted", against="d1", log_gain=0.9),
        )
        answer = Playbook().propose(task(best, best="d1", elsewhere={"another": other}))
        assert isinstance(answer, Proposal)
        assert answer.title == title
