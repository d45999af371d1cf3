"""kill -9 at every save, inside effects and at random instants: nothing acknowledged is lost, nothing is done twice."""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path

import pytest
from kernelwright.events.log import EventLog
from kernelwright.events.run import RunResumed, StepFinished, StepStarted
from kernelwright.events.tree import PairsRead
from kernelwright.events.verify import verify
from kernelwright.events.views.digest import state_digest
from kernelwright.events.views.load import load_run
from support.kills import Kill, Scene
from support.postgres import NoServerError, postgres_server

WITH_EFFECT = (
    "probe",
    "admit",
    "build",
    "verify",
    "floor",
    "calibrate",
    "screen",
    "compare",
    "learn",
    "confirm",
    "recheck",
    "anchor",
)
"""Steps whose intent is saved before their effect, in the order in which the run first comes to them."""
READING_STEPS = ("calibrate", "screen", "compare", "confirm", "anchor")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """The run as it goes when nothing happens to it."""
    scene = Scene(tmp_path_factory.mktemp("undisturbed"))
    assert scene.work(Kill("never"))
    return scene


def digest(scene: Scene) -> str:
    log = EventLog.open(scene.store, read_only=True)
    live, folded = load_run(log, "r"), load_run(log, "r", from_snapshot=False)
    found = state_digest(folded)
    assert state_digest(live) == found
    log.close()
    return found


def assert_promises_kept(scene: Scene, undisturbed: Scene) -> None:
    """Every promise about a run that was killed and brought to its end all the same."""
    log = EventLog.open(scene.store, read_only=True)
    assert verify(log).ok
    events = {recorded.position: recorded.event for recorded in log.stream()}
    for line in scene.acknowledged.read_text().splitlines():
        position, seal = line.split()
        assert events[int(position)].seal == seal, "an acknowledged event was lost"

    attempts: dict[str, list[int]] = defaultdict(list)
    finished: Counter[str] = Counter()
    readings = 0
    for event in events.values():
        if isinstance(event, StepStarted):
            assert not finished[event.key], f"step {event.name} ran again after it had finished"
            attempts[event.key].append(event.attempt)
            readings += event.name in READING_STEPS
        elif isinstance(event, StepFinished):
            finished[event.key] += 1
    assert all(tries == list(range(1, len(tries) + 1)) for tries in attempts.values())
    assert sum(len(tries) - 1 for tries in attempts.values()) <= scene.deaths
    resumed = [event for event in events.values() if isinstance(event, RunResumed)]
    assert [event.token for event in resumed] == list(range(2, len(resumed) + 2))
    log.close()

    # A step may read more than once before it is saved: a kill then makes all of its readings be taken again.
    most = max(Counter(event.cause for event in events.values() if isinstance(event, PairsRead)).values())
    taken = Counter(scene.journal.read_text().splitlines())
    once = Counter(undisturbed.journal.read_text().splitlines())
    assert taken.keys() == once.keys(), "a reading is missing, or one was taken that nobody asked for"
    repeated = sum((taken - once).values())
    assert repeated <= scene.deaths * most, "an effect was repeated that no kill had interrupted"
    assert digest(scene) == digest(undisturbed)


def brought_to_an_end(scene: Scene, kills: Iterator[Kill], most: int) -> None:
    """Kill one process after another, then let one finish."""
    for _ in range(most):
        if scene.work(next(kills)):
            return
    assert scene.work(Kill("never"))


def saves_in_turn(first: int, last: int) -> Iterator[Kill]:
    """Before and after each save in turn; a process does a little more of the run each time, and then dies."""
    while True:
        for nth in range(first, last + 1):
            yield Kill("before", nth)
            yield Kill("after", nth)
            if nth % 3 == 0:
                yield Kill("effect", 1)


def each_boundary() -> Iterator[Kill]:
    """Step by step: after its intent, before its outcome, after its outcome; now and then inside the next reading instead.

    A process first saves that it takes the run up, then what it observes of the toolchain: two saves. The third is the
    intent of the next step, or the whole of one that has no effect; the fourth is the outcome.
    """
    for turn in count():
        yield Kill("after", 3)
        yield Kill("before", 4)
        yield Kill("after", 4)
        if turn % 4 == 3:
            yield Kill("effect", 1)


def test_killed_at_saves_and_in_effects_it_comes_to_the_same_end(tmp_path: Path, undisturbed: Scene) -> None:
    scene = Scene(tmp_path)
    brought_to_an_end(scene, saves_in_turn(1, 12), 18)
    assert scene.deaths >= 12
    assert_promises_kept(scene, undisturbed)


def test_killed_between_intent_effect_and_outcome_of_each_step(tmp_path: Path, undisturbed: Scene) -> None:
    scene = Scene(tmp_path)
    for step in WITH_EFFECT:
        for moment in ("intent", "outcome"):
            assert not scene.work(Kill(moment, step=step)), f"the run ended before any {step}"
            assert scene.found[step] == (1 if moment == "intent" else 2)
    assert scene.work(Kill("never"))
    assert_promises_kept(scene, undisturbed)


def test_killed_on_postgresql_it_comes_to_the_same_end(tmp_path: Path, undisturbed: Scene) -> None:
    psycopg = pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed (extra postgres)")
    with ExitStack() as stack:
        try:
            server = stack.enter_context(postgres_server())
        except NoServerError as error:
            pytest.skip(str(error))
        with psycopg.connect(server.admin, autocommit=True) as connection:
            connection.execute("CREATE DATABASE kills")
        scene = Scene(tmp_path, server.url("kills"))
        brought_to_an_end(scene, each_boundary(), 14)
        assert scene.deaths >= 12
        assert_promises_kept(scene, undisturbed)


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_killed_at_every_boundary(tmp_path: Path, undisturbed: Scene) -> None:
    deaths, found = 0, Counter[str]()
    for offset in range(3):
        # Steps without an effect shift what the next kill hits: begun elsewhere in the cycle, the kills hit other ones.
        scene = Scene(tmp_path / str(offset))
        scene.folder.mkdir()
        brought_to_an_end(scene, islice(each_boundary(), offset, None), 1500)
        assert_promises_kept(scene, undisturbed)
        deaths += scene.deaths
        found += scene.found
    tell("at the boundaries of steps, and inside readings", deaths, found)
    assert deaths >= 200


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_killed_at_random_instants(tmp_path: Path, undisturbed: Scene) -> None:
    deaths, found = 0, Counter[str]()
    for index in count():
        scene = Scene(tmp_path / str(index))
        scene.folder.mkdir()
        rng = random.Random(index)

        def strike(rng: random.Random = rng) -> Iterator[Kill]:
            while True:
                yield Kill("delay", rng.randrange(20, 1500))

        brought_to_an_end(scene, strike(), 400)
        if scene.acknowledged.exists():
            assert_promises_kept(scene, undisturbed)
        deaths += scene.deaths
        found += scene.found
        if deaths >= 100:
            tell(f"at random instants, in {index + 1} runs", deaths, found)
            return


def tell(how: str, deaths: int, found: Counter[str]) -> None:
    """Print what a campaign did (shown with ``pytest -s``): how often which step was found in flight after a kill."""
    steps = ", ".join(f"{step} {times}" for step, times in found.most_common())
    sys.stdout.write(f"\n{deaths} kills {how}: found in flight {steps}; between steps {deaths - found.total()}\n")


def test_two_at_once(tmp_path: Path, undisturbed: Scene) -> None:
    scene = Scene(tmp_path)
    assert not scene.work(Kill("after", 9))
    log = EventLog.open(scene.store)
    with log.hold("r"), pytest.raises(AssertionError, match="is being worked at already by process"):
        scene.work(Kill("never"))
    log.close()
    assert scene.work(Kill("never"))
    assert_promises_kept(scene, undisturbed)
