"""Run a command with a wall-clock limit that holds, whatever the command does about it."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finished:
    """How a command ended. ``status`` is its exit status, negative for a signal; None when it was killed at the limit."""

    status: int | None
    output: str
    truncated: bool
    seconds: float


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads its own group, with the group, and reap it. SIGKILL: nothing can ignore it."""
    with contextlib.suppress(ProcessLookupError):  # already gone, which is what is wanted
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_bounded(
    argv: Sequence[str],
    *,
    timeout_seconds: float,
    environment: Mapping[str, str],
    cwd: Path | None = None,
    descriptors: Sequence[int] = (),
    output_limit_bytes: int = 64 << 10,
) -> Finished:
    """Run ``argv`` in a process group of its own and collect both its streams, up to ``output_limit_bytes``.

    At the limit of time the whole group gets SIGKILL. What is over the limit of output is read and dropped, so that a
    talkative command neither blocks nor fills the memory.
    """
    start = time.monotonic()
    process = subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        cwd=cwd,
        pass_fds=tuple(descriptors),
        start_new_session=True,
    )
    assert process.stdout is not None
    kept = bytearray()
    truncated = timed_out = False
    try:
        with process.stdout as stream, selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                rest = start + timeout_seconds - time.monotonic()
                if rest <= 0:
                    timed_out = True
                    break
                if not selector.select(rest):
                    continue
                chunk = os.read(stream.fileno(), 65536)
                if not chunk:
                    break
                room = output_limit_bytes - len(kept)
                truncated = truncated or len(chunk) > room
                kept += chunk[: max(room, 0)]
        if not timed_out:
            try:
                process.wait(max(0.1, start + timeout_seconds - time.monotonic()))
            except subprocess.TimeoutExpired:  # it closed its streams and lives on
                timed_out = True
    finally:
        end_group(process)  # also what the command left behind in its group
    text = kept.decode(errors="replace")
    return Finished(None if timed_out else process.returncode, text, truncated, time.monotonic() - start)
