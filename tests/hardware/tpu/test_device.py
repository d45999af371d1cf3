"""Paired readings against a stand-in for the process that holds a TPU: it answers the protocol without a chip.

The stand-in computes with NumPy what the loaded program is said to compute, and takes its own word for the time. What a real
chip does, these tests do not show.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import Build, Session
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.hardware.tpu.bench import TpuBench
from kernelwright.hardware.tpu.device import present
from kernelwright.hardware.tpu.workers import Server

from .designs import DOUBLE, scale_spec

STAND_IN = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from inside import wire
from inside.files import view
inp, out = os.dup(0), os.dup(1)
os.dup2(2, 1)
if {ready}:
    wire.send(out, {{"ready": True, "device_kind": sys.argv[2]}})
else:
    wire.send(out, {{"ready": False, "text": "jax sees cpu 'cpu', not the chip that was chosen"}})
    raise SystemExit
held, arms, reads = {{}}, {{}}, 0
while True:
    request, blob = wire.receive(inp)
    if request["task"] == "load":
        arms[request["arm"]] = blob
        wire.send(out, {{"outcome": "ok"}})
    elif request["task"] == "hold":
        held[request["number"]] = [view(*place) for place in request["inputs"]]
        wire.send(out, {{"outcome": "ok"}})
    else:
        reads += 1
        candidate = request["arm"] == "candidate"
        {act}
        x, w = held[request["numbers"][-1]]
        y = (x * w).astype(np.float32){wrong}
        seconds = (2e-6 if candidate else 4e-6) * len(request["numbers"])
        wire.send(out, {{"outcome": "ok", "seconds": seconds, "lengths": [y.nbytes]}}, y.tobytes())
"""


@contextmanager
def session(
    target: TpuTarget, built: Build, *, ready: bool = True, act: str = "pass", wrong: str = ""
) -> Iterator[tuple[Session, Server]]:
    """Two times the same design on the stand-in; ``act`` is what it does at a reading, ``wrong`` what it adds to outputs."""
    server = target.shop.device()
    server.mounts = [mount for mount in server.mounts if mount.inside]  # no device is there to be shown
    server.program = STAND_IN.format(ready=ready, act=act, wrong=wrong)
    with TpuBench(scale_spec(), 5, target.shop, server) as bench, bench.pair(built, built, 6) as opened:
        yield opened, server


@pytest.fixture(scope="module")
def built(target: TpuTarget) -> Build:
    """A right design."""
    made = target.build(scale_spec(), DOUBLE)
    assert made.ok
    return made


def test_pairs_are_taken_in_the_order_given_and_per_call(target: TpuTarget, built: Build) -> None:
    with session(target, built) as (opened, server):
        pairs = opened.read(["BC", "CB", "CB"], calls=5, pairs_per_process=2)
        assert pairs.outcome is Outcome.OK, pairs.reason
        assert [pair.order for pair in pairs.pairs] == ["BC", "CB", "CB"]
        assert [pair.best_seconds for pair in pairs.pairs] == pytest.approx([4e-6] * 3)
        assert [pair.candidate_seconds for pair in pairs.pairs] == pytest.approx([2e-6] * 3)
        assert server.starts == 2  # a fresh process after every second pair


def test_a_wrong_output_ends_the_pairs_and_is_blamed(target: TpuTarget, built: Build) -> None:
    with session(target, built, wrong=" + (1 if candidate and reads > 4 else 0)") as (opened, _):
        pairs = opened.read(["BC", "BC", "BC"], calls=2, pairs_per_process=3)
        assert pairs.outcome is Outcome.WRONG_VALUE
        assert pairs.blamed == "candidate"
        assert len(pairs.pairs) == 1


def test_an_arm_that_crashes_the_device_is_blamed(target: TpuTarget, built: Build) -> None:
    with session(target, built, act="os._exit(3) if candidate and reads > 2 else None") as (opened, _):
        pairs = opened.read(["BC"], calls=2)
        assert pairs.outcome is Outcome.CRASHED
        assert pairs.blamed == "candidate"


def test_a_design_that_is_not_kept_any_more_is_blamed(target: TpuTarget, built: Build) -> None:
    lost = Build(built.outcome, built.artifact, None, "", 0.0)
    server = target.shop.device()
    server.mounts = [mount for mount in server.mounts if mount.inside]
    server.program = STAND_IN.format(ready=True, act="pass", wrong="")
    with TpuBench(scale_spec(), 5, target.shop, server) as bench, bench.pair(built, lost, 6) as opened:
        assert opened.read(["BC"], calls=1).blamed == "candidate"


def test_a_tpu_is_seen_by_its_vendor(tmp_path: Path) -> None:
    assert not present(tmp_path / "none")
    for number, vendor in enumerate(("0x8086", "0x1ae0")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "vendor").write_text(f"{vendor}\n")
        assert present(tmp_path) == (vendor == "0x1ae0")
    assert sys.platform.startswith("linux")
