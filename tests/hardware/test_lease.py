"""Leases: turns between processes, a dead holder's lease, tokens."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from kernelwright.hardware.lease import Holder, LeaseHeldError, is_current, lease, shared

HOLD = """
import sys
from kernelwright.hardware.lease import lease
with lease(sys.argv[1], "the other run"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def holder_process(device: str) -> subprocess.Popen[str]:
    """A process that holds the lease until it is told to go on, or killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLD), device], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_held_device_is_refused_with_the_holders_name() -> None:
    other = holder_process("refused")
    try:
        refusal = pytest.raises(LeaseHeldError, match=rf"the other run \(process {other.pid}\)")
        with refusal, lease("refused", "me", wait=False):
            pass
    finally:
        other.communicate("\n", timeout=20)
    with lease("refused", "me", wait=False) as held:
        assert held.token == 2


def test_waiting_says_for_whom_and_gets_its_turn() -> None:
    other = holder_process("turns")
    waited: list[Holder | None] = []

    def told(holder: Holder | None) -> None:
        waited.append(holder)
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()

    with lease("turns", "me", on_wait=told) as held:
        assert held.token == 2
    assert len(waited) == 1
    assert waited[0] is not None
    assert waited[0].name == "the other run"
    other.communicate(timeout=20)


def test_a_dead_holders_lease_is_free_at_once() -> None:
    other = holder_process("dead")
    other.kill()
    other.communicate(timeout=20)
    with lease("dead", "me", wait=False) as held:
        assert held.token == 2
        assert is_current(held)


def test_an_old_lease_is_told_from_its_successor() -> None:
    with lease("tokens", "first") as first:
        pass
    assert is_current(first)
    with lease("tokens", "second") as second:
        assert second.token == first.token + 1
        assert not is_current(first)


def test_builds_share_a_device_and_keep_readings_away() -> None:
    refusal = pytest.raises(LeaseHeldError, match="a build")
    with shared("both"), shared("both"), refusal, lease("both", "me", wait=False):
        pass
    with lease("both", "me", wait=False):
        pass


def test_devices_do_not_share_leases() -> None:
    with lease("one", "me"), lease("two/with:odd characters", "me", wait=False):
        pass


def test_a_torn_description_only_loses_the_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNELWRIGHT_RUNTIME", str(tmp_path))
    (tmp_path / "torn.lease").write_text('{"token": 4, "na')
    with lease("torn", "me", wait=False) as held:
        assert held.token == 1
