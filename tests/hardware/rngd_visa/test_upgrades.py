"""The upgrades that the notes tell of, put through a run: what becomes stale, what is tried again, what stands."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.events.log import EventLog
from kernelwright.events.tree import TreeUpgraded
from kernelwright.events.views.knowledge import load_knowledge
from kernelwright.events.views.load import history
from kernelwright.events.views.run import RunView
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.hardware.concerns import CONCERNS, Concern, affected
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.visa.floor import stream_probe
from kernelwright.hardware.rngd.visa.parts import PARTS, parts
from kernelwright.hardware.rngd.visa.upgrades import UPGRADES, Upgrade, expected, touched
from kernelwright.hardware.target import Build, CheckReport, Probe
from kernelwright.kernels.spec import KernelSpec
from support.simulated import Script, SimulatedBench, SimulatedSession, SimulatedTarget, fields, source, toy_spec

CASES = {upgrade.release: upgrade for upgrade in UPGRADES}
BEFORE = {
    "furiosa_opt": "0.4.0",
    "library": "0.4.0",
    "nightly": "nightly-2026-02-01",
    "runtime": "0.4",
    "profile_variable": "TUC_PROFILE_LEVEL",
}


@dataclass
class VisaLike(SimulatedTarget):
    """A simulated target with the parts of a visa toolchain.

    A source may say ``needs: 0.6`` or ``until: 0.5`` (releases of the compiler), ``right until: 0.4`` or ``right from: 0.6``
    (of the library, for its values), and ``seconds 0.8: ...`` (its reading with a runtime).
    """

    name: str = "simulated"

    def __post_init__(self) -> None:
        self.parts = parts(BEFORE, "p", "arena")

    def parts_of(self, concern: Concern) -> Sequence[str]:
        return PARTS[concern]

    def install(self, upgrade: Upgrade) -> None:
        self.parts = {**self.parts, **dict(upgrade.changed)}

    def build(self, spec: KernelSpec, text: str) -> Build:
        said, release = fields(text), self.parts["furiosa_opt"][:3]
        if "seconds" not in said:
            return Build(Outcome.BUILD_FAILED, None, None, "error: furiosa-opt: ops::f: mir: it says no seconds", 0.1)
        if said.get("needs", "0.0") > release:
            said_why = "error: furiosa-opt: ops::f: visa: Switch\ncaused by: this configuration is not supported"
            return Build(Outcome.BUILD_FAILED, None, None, said_why, 0.1)
        if said.get("until", "9.9") < release:
            return Build(Outcome.BUILD_FAILED, None, None, "error: furiosa-opt: ops::f: mir: no type named _f16", 0.1)
        seconds = said.get(f"seconds {self.parts['runtime'][:3]}", said["seconds"])
        made = "\n".join([f"seconds: {seconds}", f"release: {release}", *text.splitlines()[1:]])
        return Build(Outcome.OK, hashlib.sha256(made.encode()).hexdigest(), Path(made), "", 0.1)

    def probes(self) -> Sequence[Probe]:
        return [stream_probe()]

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[SimulatedBench]:
        yield VisaLikeBench(self)


@dataclass
class VisaLikeBench(SimulatedBench):
    """Values follow the library."""

    def verify(self, build: Build, seed: int) -> CheckReport:
        said, library = fields(str(build.path)), self.target.parts["library"][:3]
        right = said.get("right from", "0.0") <= library <= said.get("right until", "9.9")
        return CheckReport(Outcome.OK if right else Outcome.WRONG_VALUE, "" if right else "max|d| = 1", 0.0)

    @contextmanager
    def pair(self, best: Build, candidate: Build, seed: int) -> Iterator[SimulatedSession]:
        with super().pair(best, candidate, seed) as session:
            yield session


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


def work(log: EventLog, target: VisaLike, designs: Sequence[str], *, first: bool = False) -> RunView:
    if first:
        start_run(log, Plan("r", "simulated", ("double",), Policy(), 0, 8.0, {}, "test"))
    with workbench(log, "r", target, {"double": toy_spec()}, Script(designs)) as wb:
        if not first:
            resume(wb, 8.0, "search")
        drive(wb, lambda *_: None)
        return wb.view


def upgraded(log: EventLog) -> list[TreeUpgraded]:
    return [each.event for each in history(log, "r") if isinstance(each.event, TreeUpgraded)]


def through(log: EventLog, release: str, designs: Sequence[str]) -> tuple[RunView, RunView]:
    target = VisaLike()
    before = work(log, target, designs, first=True)
    target.install(CASES[release])
    return before, work(log, target, designs)


@pytest.mark.parametrize("release", sorted(CASES))
def test_the_fold_says_what_becomes_stale(log: EventLog, release: str) -> None:
    case = CASES[release]
    before, after = through(log, release, [source(8e-3)])
    (event,) = upgraded(log)
    assert set(event.affected) == set(case.stale) == set(touched(tuple(name for name, _ in case.changed)))
    assert set(event.changed) == {name for name, value in case.changed if BEFORE.get(name) != value}
    assert case.because
    assert case.source
    # Whatever changed, the best is built and compared again before it stands.
    assert before.trees["double"].best == "d0001"
    (again,) = [each for each in after.trees["double"].designs["d0001"].reopened if each.why == "confirm"]
    assert again.toolchain == event.toolchain
    known = load_knowledge(log, "simulated")
    # What the chip was said to do is asked again where the runtime that counts its cycles changed, and stands otherwise.
    stream = known.probes_by_name["visa.stream"]
    assert stream.standing(event.toolchain, known.toolchains).status == "valid"
    assert ("chip" in event.affected) == (release == "0.8")


def test_offsets_in_elements_make_old_sources_wrong(log: EventLog) -> None:
    """0.5: it still compiles, and reads other data: only values tell."""
    before, after = through(log, "0.5", [source(4e-3, note="offset", **{"right until": "0.4"}), source(8e-3)])
    assert before.trees["double"].best == "d0001"
    tree = after.trees["double"]
    assert tree.designs["d0001"].outcome == Outcome.WRONG_VALUE
    assert tree.best != "d0001"


def test_a_type_that_is_gone_and_configurations_that_are_legal_now(log: EventLog) -> None:
    """0.6: the f16 best does not build any more; the rule against a switch retires, and its design is tried and wins."""
    before, after = through(log, "0.6", [source(4e-3, until="0.5"), source(2e-3, needs="0.6"), source(6e-3)])
    assert before.trees["double"].best == "d0001"
    assert before.trees["double"].designs["d0002"].outcome == Outcome.BUILD_FAILED
    tree = after.trees["double"]
    assert tree.designs["d0001"].outcome == Outcome.BUILD_FAILED
    assert [each.why for each in tree.designs["d0002"].reopened] == ["rule"]
    assert tree.best == "d0002"
    known = load_knowledge(log, "simulated")
    now = after.toolchain.fingerprint if after.toolchain else ""
    assert "retired" in {rule.standing(now, known.toolchains).status for rule in known.rules.values()}


def test_values_that_shift_with_the_hosts_bf16(log: EventLog) -> None:
    """0.6: what passed under the old number model is verified under the new one before it stands."""
    _, after = through(log, "0.6", [source(4e-3, **{"right until": "0.5"}), source(6e-3)])
    tree = after.trees["double"]
    assert tree.designs["d0001"].outcome == Outcome.WRONG_VALUE
    assert tree.best in ("d0000", "d0002")


def test_cycles_of_another_runtime_are_not_compared(log: EventLog) -> None:
    """0.8: no reading of before supports the best; the noise, the floor and the comparison are of now."""
    designs = [source(4e-3, **{"seconds 0.8": "9e-3"}), source(5e-3, **{"seconds 0.8": "3e-3"})]
    before, after = through(log, "0.8", designs)
    assert before.trees["double"].best == "d0001"
    tree = after.trees["double"]
    (event,) = upgraded(log)
    assert set(event.affected) == set(CONCERNS)
    assert tree.noise is not None
    assert tree.noise.toolchain == event.toolchain
    assert tree.floor is not None
    assert tree.floor.toolchain == event.toolchain
    old = before.trees["double"].designs["d0001"].readings
    own = tree.designs["d0001"].readings
    assert not {reading.ref for reading in old} & {reading.ref for reading in own}
    assert all(accepted.toolchain == event.toolchain for accepted in tree.lineage)


def test_a_compiler_alone_leaves_values_and_chip(log: EventLog) -> None:
    """0.7 with the old library is refused before any run (see the builds); as a change it touches code alone."""
    assert set(CASES["0.7"].stale) == {"compile", "code"}
    assert affected(VisaLike(), ("furiosa_opt",)) == ("compile", "code")


def test_what_to_expect_on_the_way() -> None:
    assert [each.release for each in expected("0.4.2", "0.6.0")] == ["0.5", "0.6"]
    assert [each.release for each in expected("0.6.0", "0.8.1")] == ["0.7", "0.8"]
    assert expected("0.8.1", "0.6.0") == ()
    assert expected("unknown", "0.8") == ()


def test_every_part_is_of_some_concern() -> None:
    named: set[str] = set()
    for concern in CONCERNS:
        named |= set(PARTS[concern])
    made: dict[str, Any] = parts(BEFORE, "p", "arena")
    assert named == set(made)
