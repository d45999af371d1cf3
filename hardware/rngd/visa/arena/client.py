"""The client of the Arena: one method for each command of the vendor's tool, each answer typed.

The tool holds the login, which is a human step; nothing here sees a token. Older versions call it ``rngd``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ....sandbox import Finished, run_bounded
from ....target import TargetError
from .states import JobStatus, Refusal, UnreadableError, job_of, parse_list, parse_status, refusal_of

NAMES = ("furiosa-arena", "rngd")
ASK_SECONDS = 60.0
UPLOAD_SECONDS = 600.0
LOG_LIMIT_BYTES = 16 << 20
_SEEN = ("PATH", "HOME", "LANG", "XDG_CONFIG_HOME", "FURIOSA_ARENA_URL", "FURIOSA_ARENA_TOKEN", "RNGD_URL",
         "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy", "NO_PROXY")  # fmt: skip
"""Variables that the client needs to find its login and the service; it gets no others."""


@dataclass(frozen=True)
class Refused:
    """A submission that the service, or the client, did not take. ``quota`` passes by itself, ``login`` needs a person."""

    why: Refusal
    said: str


class ArenaUnreachableError(Exception):
    """The service gives no answer that can be used now; asking again may help."""


@dataclass(frozen=True)
class ArenaClient:
    """``command`` starts the tool; ``seconds`` is how long it may take to answer."""

    command: tuple[str, ...]
    seconds: float = ASK_SECONDS
    upload_seconds: float = UPLOAD_SECONDS

    def _run(self, *arguments: str, seconds: float | None = None, cwd: Path | None = None) -> Finished:
        seen = {name: os.environ[name] for name in _SEEN if name in os.environ}
        try:
            return run_bounded(
                [*self.command, *arguments],
                timeout_seconds=seconds or self.seconds,
                environment=seen,
                cwd=cwd,
                output_limit_bytes=LOG_LIMIT_BYTES,
            )
        except OSError as error:
            raise TargetError(f"{self.command[0]} cannot be started: {error.strerror}") from error

    def _answer(self, *arguments: str) -> str:
        done = self._run(*arguments)
        if done.status == 0:
            return done.output
        if done.status is None:
            raise ArenaUnreachableError(
                f"`{self.command[0]} {' '.join(arguments)}` gave no answer in {self.seconds:.0f} s"
            )
        if refusal_of(done.output) == "login":
            raise TargetError(f"the Arena asks for a login: run `{self.command[0]} login` ({_last(done.output)})")
        raise ArenaUnreachableError(f"`{self.command[0]} {' '.join(arguments)}`: {_last(done.output)}")

    def submit(self, entry: Path, files: Sequence[Path], name: str, seconds: int) -> int | Refused:
        """Hand in a job: the number, or why not. ``seconds`` is the limit of its run.

        ``unreadable`` and ``network`` leave open whether the service took it: look for it by its name before another try.
        """
        options = ["--name", name, "--entrypoint", entry.name, "--timeout", str(seconds)]
        done = self._run("submit", str(entry), *map(str, files), *options, seconds=self.upload_seconds)
        job = job_of(done.output)
        if job is not None:
            return job
        if done.status is None:
            return Refused("network", f"no answer in {self.upload_seconds:.0f} s")
        return Refused(refusal_of(done.output), _last(done.output))

    def status(self, job: int) -> JobStatus:
        """The state of a job. Raises ArenaUnreachableError, TargetError."""
        try:
            return parse_status(self._answer("status", str(job)))
        except UnreadableError as error:
            raise ArenaUnreachableError(str(error)) from error

    def logs(self, job: int) -> str:
        """What a job has printed. Raises ArenaUnreachableError, TargetError."""
        return self._answer("logs", str(job))

    def result(self, job: int) -> str:
        """What the service collected of a job that has ended. Raises ArenaUnreachableError, TargetError."""
        return self._answer("result", str(job))

    def mine(self) -> tuple[JobStatus, ...]:
        """The account's own jobs. Raises ArenaUnreachableError, TargetError."""
        try:
            return parse_list(self._answer("list", "--mine"))
        except UnreadableError as error:
            raise ArenaUnreachableError(str(error)) from error

    def cancel(self, job: int) -> None:
        """Ask for the end of a job; one that has ended already is left alone. Raises ArenaUnreachableError, TargetError."""
        try:
            self._answer("cancel", str(job))
        except ArenaUnreachableError:
            if not self.status(job).ended:
                raise

    def rerun(self, job: int) -> int | Refused:
        """Run a job again as it was handed in, as a new job: its number, or why not."""
        done = self._run("rerun", str(job))
        found = job_of(done.output)
        return found if found is not None else Refused(refusal_of(done.output), _last(done.output))


def find_client(configured: str | None = None) -> ArenaClient | None:
    """The client: ``configured``, or the newest name on the search path; None when there is none.

    Raises TargetError for a configured one that is not there.
    """
    if configured is not None:
        named = shutil.which(configured)
        if named is None:
            raise TargetError(f"the Arena client {configured!r} is not installed: `cargo binstall furiosa-arena-cli`")
        return ArenaClient((named,))
    found = next((path for path in map(shutil.which, NAMES) if path is not None), None)
    return ArenaClient((found,)) if found is not None else None


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing was said"
