"""Two designs that are read in pairs on an Arena account; see :class:`kernelwright.hardware.target.Session`."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ....effect import current
from ....outcome import Outcome
from ....target import Pair, Pairs
from ...chip import DEVICE_HZ
from ..program import Program
from .client import ArenaClient
from .comparison import Plan, Taken, read_job, stage
from .jobs import JOB_SECONDS, JobEnd, NoReadingError, Patience, family, run_job

PAIRS_PER_JOB = 4
"""Pairs in one job, a warm-up pair beside them: ten launches of a test program of a few seconds fit into 70 s."""
TRIES = 3
"""Jobs that are read before a reading counts as not to be had."""


@dataclass(frozen=True)
class Access:
    """How readings are taken: the client, its patience, and the shape of a job."""

    client: ArenaClient
    patience: Patience
    pairs_per_job: int = PAIRS_PER_JOB
    job_seconds: int = JOB_SECONDS


@dataclass(frozen=True)
class Arms:
    """What is compared: the kernel, both programs, what lies beside them, and the variables of a launch."""

    kernel: str
    best: Program
    candidate: Program
    fixtures: tuple[Path, ...]
    variables: tuple[tuple[str, str], ...]


class ArenaSession:
    """Pairs by jobs. ``seed`` tells the jobs of this run from those of any other."""

    def __init__(self, access: Access, arms: Arms, seed: int) -> None:
        self._access, self._arms, self._seed = access, arms, seed

    def read(self, orders: Sequence[Literal["BC", "CB"]], calls: int, pairs_per_process: int = 1) -> Pairs:  # noqa: ARG002  a launch is a process of its own, and how often it runs the kernel is the program's choice
        """Take one pair for each order; seconds are device cycles over the device's clock.

        A reading is one launch of the test program whatever ``calls`` is: how many runs it makes is the program's choice.
        Jobs that give no cycles are read again, up to :data:`TRIES` in all; then the outcome is ``no-device``.
        """
        pairs: list[Pair] = []
        seconds = 0.0
        size = self._access.pairs_per_job
        for first in range(0, len(orders), size):
            taken, spent = self._part(tuple(orders[first : first + size]))
            seconds += spent
            pairs += [Pair(order, best / DEVICE_HZ, candidate / DEVICE_HZ) for order, best, candidate in taken.pairs]
            if taken.outcome is not Outcome.OK:
                reason = taken.reason if taken.blamed == "nobody" else f"{taken.blamed}: {taken.reason}"
                return Pairs(tuple(pairs), taken.outcome, reason, seconds, taken.blamed)
        return Pairs(tuple(pairs), Outcome.OK, "", seconds)

    def _part(self, orders: tuple[Literal["BC", "CB"], ...]) -> tuple[Taken, float]:
        plan = Plan(
            self._arms.kernel, orders, self._arms.best.digest, self._arms.candidate.digest, self._arms.variables
        )
        taken = Taken((), Outcome.NO_DEVICE, "no job was read", "nobody")
        seconds = 0.0
        for _ in range(TRIES):
            try:
                end = self._job(plan)
            except NoReadingError as error:
                return Taken((), Outcome.NO_DEVICE, str(error), "nobody"), seconds
            seconds += end.status.duration_seconds or 0.0
            taken = read_job(plan, end.log, end.status)
            if taken.outcome is not Outcome.NO_DEVICE:
                break
        return taken, seconds

    def _job(self, plan: Plan) -> JobEnd:
        effect = current()
        # Outside a step nobody comes back for the job: a name of its own.
        of = (
            family(self._seed, secrets.token_hex(8))
            if effect is None
            else family(self._seed, effect.step, effect.next())
        )
        attempt = 1 if effect is None else effect.attempt
        with tempfile.TemporaryDirectory(prefix="kernelwright-arena-") as name:

            def make() -> tuple[Path, Sequence[Path]]:
                arms = self._arms
                return stage(Path(name), plan, arms.best.content, arms.candidate.content, arms.fixtures)

            return run_job(self._access.client, of, attempt, make, self._access.patience, self._access.job_seconds)
