"""Integrity: whatever byte is changed, whatever is taken away, the check finds it and says what it is."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kernelwright.cli.main import app
from kernelwright.events.base import Context
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run
from kernelwright.events.verify import Report, verify
from kernelwright.events.views.load import load_run
from typer.testing import CliRunner


@contextmanager
def tampered(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of somebody who does as they please: the triggers are gone."""
    connection = sqlite3.connect(path, isolation_level=None)
    for table in ("stored_events", "blobs"):
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS {table}_no_{verb}")
    yield connection
    connection.close()


def check(path: Path) -> Report:
    log = EventLog.open(str(path), read_only=True)
    report = verify(log)
    log.close()
    return report


def test_a_whole_log_is_whole(finished: Path) -> None:
    report = check(finished)
    assert report.ok
    assert report.notes == []
    assert report.events > 200
    assert report.blobs > 10


def test_any_changed_byte_of_an_event_is_found(finished: Path) -> None:
    rng = random.Random(5)
    with tampered(finished) as db:
        rows = db.execute("SELECT notification_id, state FROM stored_events").fetchall()
        for position, state in rng.sample(rows, 25):
            bad = bytearray(state)
            bad[rng.randrange(len(bad))] ^= rng.randrange(1, 256)
            db.execute("UPDATE stored_events SET state=? WHERE notification_id=?", (bytes(bad), position))
            report = check(finished)
            assert not report.ok
            assert f"position {position}, event " in report.findings[0]
            db.execute("UPDATE stored_events SET state=? WHERE notification_id=?", (state, position))
    assert check(finished).ok


def test_any_changed_byte_of_a_blob_is_found(finished: Path) -> None:
    rng = random.Random(6)
    with tampered(finished) as db:
        rows = db.execute("SELECT digest, content FROM blobs").fetchall()
        for digest, content in rng.sample(rows, min(20, len(rows))):
            bad = bytearray(content)
            bad[rng.randrange(len(bad))] ^= rng.randrange(1, 256)
            db.execute("UPDATE blobs SET content=? WHERE digest=?", (bytes(bad), digest))
            report = check(finished)
            assert not report.ok
            assert f"it names a bad blob: blob {digest[:12]}" in report.findings[0]
            db.execute("UPDATE blobs SET content=? WHERE digest=?", (content, digest))
    assert check(finished).ok


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (
            "UPDATE stored_events SET topic='run.stopped' WHERE notification_id={at}",
            "its content does not match its seal",
        ),
        (
            "UPDATE stored_events SET originator_version=999 WHERE notification_id={at}",
            "was to come, and this is version 999",
        ),
        ("DELETE FROM stored_events WHERE notification_id={at}", "1 events before it are gone"),
        ("DELETE FROM stored_events WHERE notification_id BETWEEN {at} AND {at}+3", "4 events before it are gone"),
        ("UPDATE stored_events SET notification_id=5000 WHERE notification_id={at}", "1 events before it are gone"),
    ],
)
def test_what_was_changed_or_taken_is_named(finished: Path, statement: str, says: str) -> None:
    with tampered(finished) as db:
        (at,) = db.execute("SELECT min(notification_id) FROM stored_events WHERE topic='run.step-finished'").fetchone()
        db.execute(statement.format(at=at))
    report = check(finished)
    assert says in " | ".join(report.findings)
    assert "run r" in " | ".join(report.findings)


def test_a_blob_that_was_taken_is_missed_by_the_event_that_names_it(finished: Path) -> None:
    log = EventLog.open(str(finished))
    source = load_run(log, "r").trees["double"].designs["d0001"].proposed.source
    log.close()
    with tampered(finished) as db:
        db.execute("DELETE FROM blobs WHERE digest=?", (source,))
    (finding, *_) = check(finished).findings
    assert f"it names blob {source[:12]}, which is not in the store" in finding
    assert "the tree of double in run r (design-proposed double d0001" in finding or "design-proposed d0001" in finding


def test_events_cut_off_at_the_end_are_missed(finished: Path) -> None:
    total = check(finished).events
    with tampered(finished) as db:
        db.execute("DELETE FROM stored_events WHERE notification_id>?", (total - 3,))
    report = check(finished)
    assert f"positions {total - 2} to {total} were recorded and are gone" in report.findings[-1]


def test_a_cut_that_covers_its_tracks_is_told_by_the_digest_of_the_log(finished: Path) -> None:
    before = check(finished)
    with tampered(finished) as db:
        db.execute("DELETE FROM stored_events WHERE notification_id>?", (before.events - 1,))
        db.execute("UPDATE log_end SET position=?", (before.events - 1,))
    after = check(finished)
    assert after.ok
    assert after.head != before.head


def test_an_event_made_up_with_a_right_seal_breaks_the_chain(finished: Path) -> None:
    log = EventLog.open(str(finished))
    run = log.load(Run, "r")
    run.head = "f" * 64
    run.stop(Context(), "failed", "never happened")
    log.record(run)
    log.close()
    assert "it does not continue the chain of its aggregate" in check(finished).findings[0]


def test_a_cause_that_was_never_recorded_is_found(finished: Path) -> None:
    log = EventLog.open(str(finished))
    run = log.load(Run, "r")
    run.stop(Context(cause=f"{run.id.hex[:12]}:4711"), "failed")
    log.record(run)
    log.close()
    assert "names the event" in check(finished).findings[0]


def test_a_torn_file_is_reported_not_raised(finished: Path) -> None:
    content = bytearray(finished.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8192] = b"\x5a" * 8192
    finished.write_bytes(bytes(content))
    assert not check(finished).ok


def test_the_command_says_what_is_wrong_and_exits_with_1(finished: Path) -> None:
    run = CliRunner()
    good = run.invoke(app, ["verify", "--store", str(finished), "--json"])
    assert good.exit_code == 0
    head = json.loads(good.stdout)["head"]
    assert run.invoke(app, ["verify", "--store", str(finished), "--head", head]).exit_code == 0
    with tampered(finished) as db:
        db.execute("UPDATE stored_events SET state=replace(state,'small','whole') WHERE topic='tree.design-proposed'")
    bad = run.invoke(app, ["verify", "--store", str(finished), "--json"])
    data = json.loads(bad.stdout)
    assert bad.exit_code == 1
    assert data["ok"] is False
    assert "design-proposed" in data["findings"][0]
    assert "the tree of double in run r" in data["findings"][0]
    text = run.invoke(app, ["verify", "--store", str(finished)])
    assert text.exit_code == 1
    assert text.stdout.startswith("BAD position ")
