"""One job from its name to its log, whatever happens between: a full queue, a service that is away, a process that died.

A job is found by its name before it is handed in. So a resumed run takes the log of the job that an earlier attempt left
behind, and a submission whose answer was lost is not made twice.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....target import TargetError
from .client import ArenaClient, ArenaUnreachableError, Refused
from .states import JobStatus

JOB_SECONDS = 70
"""The longest run that the service allows a job (participants' notes of the 2026 RNGD kernel contest)."""
ACTIVE_JOBS = 2
"""How many jobs of one account may wait or run at a time (same source); the service enforces it."""
WAIT_SECONDS = 3600.0
FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
PREFIX = "kw"


class NoReadingError(Exception):
    """A job gave no log within the time that was allowed for it. The message says what became of it."""


@dataclass(frozen=True)
class Patience:
    """How to wait: for how long in all, and between two questions (growing from the first pause to the longest)."""

    wait_seconds: float = WAIT_SECONDS
    first_pause_seconds: float = FIRST_PAUSE_SECONDS
    longest_pause_seconds: float = LONGEST_PAUSE_SECONDS
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class JobEnd:
    """A job that has ended: what became of it, its log, and whether an earlier attempt had handed it in."""

    status: JobStatus
    log: str
    adopted: bool


def family(*names: object) -> str:
    """The part of a job's name that is the same for every attempt at one reading: 20 hex digits over ``names``."""
    return hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()[:20]


def job_name(of: str, attempt: int) -> str:
    """The name of a job: prefix, family, attempt."""
    return f"{PREFIX}-{of}-a{attempt}"


class _Waiting:
    """Counts down what is left of the patience, and pauses a little longer each time."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._until = patience.clock() + patience.wait_seconds
        self._pause = patience.first_pause_seconds

    def pause(self, why: str, *, grow: bool = True) -> None:
        """Wait a while. Raises NoReadingError with ``why`` when the patience is at its end."""
        left = self._until - self._patience.clock()
        if left <= 0:
            raise NoReadingError(f"{why}; gave up after {self._patience.wait_seconds:.0f} s")
        self._patience.sleep(min(self._pause, left))
        if grow:
            self._pause = min(2 * self._pause, self._patience.longest_pause_seconds)


def run_job(
    client: ArenaClient,
    of: str,
    attempt: int,
    stage: Callable[[], tuple[Path, Sequence[Path]]],
    patience: Patience | None = None,
    seconds: int = JOB_SECONDS,
) -> JobEnd:
    """Have a job of the family ``of`` run once, and return its end; ``stage`` makes its files when they are needed.

    The newest job of the family that was not cancelled is taken over, ended or not. Raises NoReadingError when there is no
    end in time (the job is then left to be found later), TargetError when a person has to do something (log in).
    """
    waiting = _Waiting(patience or Patience())
    jobs = _jobs(client, waiting)
    found = _own(jobs, of)
    adopted = found is not None
    if found is None:
        found = _submit(client, of, attempt, stage, waiting, seconds, jobs)
    status = _await(client, found, waiting)
    return JobEnd(status, _log(client, status.job, waiting), adopted)


def _jobs(client: ArenaClient, waiting: _Waiting) -> tuple[JobStatus, ...]:
    while True:
        try:
            return client.mine()
        except ArenaUnreachableError as error:
            waiting.pause(f"the list of jobs cannot be had: {error}")


def _own(jobs: Sequence[JobStatus], of: str) -> int | None:
    """The newest job of a family that was not cancelled."""
    own = [job for job in jobs if job.name.startswith(f"{PREFIX}-{of}-a") and job.state != "cancelled"]
    return max((job.job for job in own), default=None)


def _submit(
    client: ArenaClient,
    of: str,
    attempt: int,
    stage: Callable[[], tuple[Path, Sequence[Path]]],
    waiting: _Waiting,
    seconds: int,
    jobs: Sequence[JobStatus],
) -> int:
    entry, files = stage()
    name = job_name(of, attempt)
    while True:
        active = sum(job.state in ("queued", "running") for job in jobs)
        if active >= ACTIVE_JOBS:  # a colleague's, or a run's on another host: asking would be refused
            waiting.pause(f"job {name} waits: {active} jobs of this account are active")
            jobs = _jobs(client, waiting)
            continue
        made = client.submit(entry, files, name, seconds)
        if not isinstance(made, Refused):
            return made
        if made.why == "login":
            raise TargetError(f"the Arena asks for a login: run `{client.command[0]} login` ({made.said})")
        if made.why == "timeout":
            raise TargetError(f"the Arena refuses a job of {seconds} s ({made.said}); lower job_seconds")
        waiting.pause(f"job {name} was not taken: {made.said}")
        # The answer may have been lost on its way back: the job may be there.
        jobs = _jobs(client, waiting)
        found = _own(jobs, of)
        if found is not None:
            return found


def _await(client: ArenaClient, job: int, waiting: _Waiting) -> JobStatus:
    last = "not asked yet"
    while True:
        try:
            status = client.status(job)
            if status.ended:
                return status
            last = status.state
        except ArenaUnreachableError as error:
            last = str(error)
        waiting.pause(f"job {job} has not ended ({last})")


def _log(client: ArenaClient, job: int, waiting: _Waiting) -> str:
    while True:
        try:
            return client.logs(job)
        except ArenaUnreachableError as error:
            waiting.pause(f"the log of job {job} cannot be had: {error}")
