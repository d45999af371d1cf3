"""The states of an Arena job, and what its client's answers mean."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["queued", "running", "succeeded", "failed", "completed", "cancelled", "unknown"]
TERMINAL: frozenset[State] = frozenset({"succeeded", "failed", "completed", "cancelled"})
_STATES: dict[str, State] = {
    "queued": "queued",
    "pending": "queued",
    "running": "running",
    "succeeded": "succeeded",
    "failed": "failed",
    "completed": "completed",
    "cancelled": "cancelled",
    "canceled": "cancelled",
}
_SUBMITTED = re.compile(r"\bsubmitted job (?P<job>[0-9]{1,12})\b")
_NUMBER = re.compile(r"[0-9]{1,12}")
_WHY: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("quota", re.compile(r"quota exceeded|too many (?:active )?jobs|active jobs? limit", re.IGNORECASE)),
    ("timeout", re.compile(r"exceeds (?:the )?server maximum|timeout_sec", re.IGNORECASE)),
    ("login", re.compile(r"log ?in|unauthori[sz]ed|not authenticated|invalid token|\b401\b|\b403\b", re.IGNORECASE)),
    ("network", re.compile(r"connect|network|timed out|resolve|\b50[0-9]\b|unavailable|reset by peer", re.IGNORECASE)),
)
Refusal = Literal["quota", "timeout", "login", "network", "unreadable"]


@dataclass(frozen=True)
class JobStatus:
    """A job as the service knows it. ``duration_seconds`` and ``exit_code`` are None while it has none."""

    job: int
    name: str
    state: State
    exit_code: int | None = None
    duration_seconds: float | None = None
    finished_at: str = ""

    @property
    def ended(self) -> bool:
        """Whether it will not change any more."""
        return self.state in TERMINAL


class UnreadableError(ValueError):
    """An answer of the client that has another form than the one that is known."""


def state_of(text: str) -> State:
    """A state by its name in any case; ``unknown`` for a new one, which is waited for like one that runs."""
    return _STATES.get(text.strip().lower(), "unknown")


def job_of(output: str) -> int | None:
    """The number in ``submitted job N``, None when there is no such line."""
    found = _SUBMITTED.search(output)
    return int(found.group("job")) if found else None


def refusal_of(output: str) -> Refusal:
    """Why a submission was refused, by its words."""
    for why, pattern in _WHY:
        if pattern.search(output):
            return why  # type: ignore[return-value]  # the names in the table are the literals
    return "unreadable"


def parse_status(output: str) -> JobStatus:
    """The JSON that ``status N`` prints, with or without lines around it. Raises UnreadableError."""
    begin, end = output.find("{"), output.rfind("}")
    try:
        found = json.loads(output[begin : end + 1]) if begin >= 0 else None
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"the status is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise UnreadableError(f"the status is not a JSON object: {output.strip()[:200]!r}")
    return _status(found)


def _status(found: dict[str, Any]) -> JobStatus:
    job = found.get("id")
    if isinstance(job, str) and _NUMBER.fullmatch(job):
        job = int(job)
    if not isinstance(job, int) or isinstance(job, bool) or not isinstance(found.get("status"), str):
        raise UnreadableError(f"the status lacks id or status: {sorted(found)}")
    code, spent = found.get("exit_code"), found.get("duration_sec")
    return JobStatus(
        job,
        str(found.get("name") or ""),
        state_of(found["status"]),
        code if isinstance(code, int) and not isinstance(code, bool) else None,
        float(spent) if isinstance(spent, int | float) and not isinstance(spent, bool) else None,
        str(found.get("finished_at") or ""),
    )


def parse_list(output: str) -> tuple[JobStatus, ...]:
    """What ``list --mine`` prints: a JSON list, or a table whose rows begin with the job's number.

    In a table the state is the first word that is one, and the name the first other word after the number.
    """
    text = output.strip()
    if text.startswith("["):
        try:
            rows = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UnreadableError(f"the list is not JSON: {error}") from error
        return tuple(_status(row) for row in rows if isinstance(row, dict))
    found = []
    for line in text.splitlines():
        words = [word for word in re.split(r"[\s|│]+", line.strip()) if word]
        if len(words) < 2 or not _NUMBER.fullmatch(words[0]):
            continue
        states = [word for word in words[1:] if state_of(word) != "unknown"]
        names = [word for word in words[1:] if word not in states]
        found.append(JobStatus(int(words[0]), names[0] if names else "", state_of(states[0]) if states else "unknown"))
    return tuple(found)
