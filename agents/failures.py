"""Why a call gave no answer, as a closed set, and whether to send it again."""

from __future__ import annotations

import email.utils
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum


class CallOutcome(StrEnum):
    """How an attempt at a request ended. Stored in events by value: never rename a member, only add."""

    OK = "ok"
    RATE_LIMITED = "rate-limited"
    SERVER_ERROR = "server-error"
    TIMEOUT = "timeout"
    DROPPED = "dropped"
    """The connection ended, or the stream did, before the answer did."""
    UNREACHABLE = "unreachable"
    BAD_RESPONSE = "bad-response"
    """The provider said something that is not its own protocol."""
    BAD_KEY = "bad-key"
    BAD_REQUEST = "bad-request"
    EMPTY = "empty"
    REFUSED = "refused"
    """The model or its provider declined to answer."""
    CUT_OFF = "cut-off"
    """The answer reached the limit of tokens."""
    TOO_LARGE = "too-large"
    UNAVAILABLE = "unavailable"
    """The model cannot be asked here: its key or its client is missing."""
    NOT_RECORDED = "not-recorded"
    """A replay has no answer to this request."""
    BUDGET = "budget"
    """The call could break a budget and was not sent."""


RETRIED = frozenset(
    {
        CallOutcome.RATE_LIMITED,
        CallOutcome.SERVER_ERROR,
        CallOutcome.TIMEOUT,
        CallOutcome.DROPPED,
        CallOutcome.UNREACHABLE,
        CallOutcome.BAD_RESPONSE,
    }
)
ANSWERED = frozenset(
    {CallOutcome.OK, CallOutcome.EMPTY, CallOutcome.REFUSED, CallOutcome.CUT_OFF, CallOutcome.TOO_LARGE}
)
"""An answer was given, if not a useful one: it was paid for, and the request is not sent again."""


@dataclass(frozen=True)
class Failure:
    """A failed attempt: its outcome, a reason for people, the HTTP status and the wait that the provider asked for."""

    outcome: CallOutcome
    reason: str
    status: int | None = None
    retry_after_seconds: float | None = None


class CallFailedError(Exception):
    """A request has no usable answer. ``failure`` says why; nothing of the provider's exception is kept."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.outcome}: {failure.reason}")
        self.failure = failure


def classify(error: BaseException) -> Failure:
    """The failure behind an exception of a provider's client, of the network, or of reading what came back."""
    kinds = {cls.__name__ for cls in type(error).__mro__}
    status = getattr(error, "status_code", None)
    reason = f"{type(error).__name__}: {error}"
    if isinstance(status, int) and status > 0:
        response = getattr(error, "response", None)
        headers: Mapping[str, str] = getattr(response, "headers", None) or {}
        return Failure(_of_status(status), reason, status, retry_after(headers.get("retry-after")))
    if kinds & {"APITimeoutError", "TimeoutException", "TimeoutError"}:
        return Failure(CallOutcome.TIMEOUT, reason or "no answer in time")
    if "ConnectError" in kinds or isinstance(error, ConnectionRefusedError) or _cause_is_connect(error):
        return Failure(CallOutcome.UNREACHABLE, reason)
    if kinds & {"APIConnectionError", "TransportError", "ConnectionError", "OSError"}:
        return Failure(CallOutcome.DROPPED, reason)
    if "APIError" in kinds:  # an error that was sent inside a stream
        return Failure(CallOutcome.SERVER_ERROR, reason)
    return Failure(CallOutcome.BAD_RESPONSE, reason)


def _of_status(status: int) -> CallOutcome:
    if status == 429:
        return CallOutcome.RATE_LIMITED
    if status in (401, 403):
        return CallOutcome.BAD_KEY
    if status == 408 or status >= 500:
        return CallOutcome.SERVER_ERROR
    return CallOutcome.BAD_REQUEST


def _cause_is_connect(error: BaseException) -> bool:
    cause = error.__cause__ or error.__context__
    return cause is not None and any(cls.__name__ == "ConnectError" for cls in type(cause).__mro__)


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait by a Retry-After header (RFC 9110, 10.2.3: seconds or a date); None when it says nothing usable."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def backoff(
    number: int, base_seconds: float, request: str, asked_seconds: float | None, longest_seconds: float
) -> float | None:
    """Seconds to wait after failed attempt ``number`` (from 1); None when the provider asks for more than the longest.

    Doubles with each attempt, stretched by up to a quarter by a coin that follows from the request's digest, so that
    callers do not come back together. A wait that the provider asked for is kept to.
    """
    own = base_seconds * 2.0 ** (number - 1) * (1 + int(request[:4] or "0", 16) / 0xFFFF / 4)
    if asked_seconds is not None:
        return None if asked_seconds > longest_seconds else max(asked_seconds, 0.0)
    return min(own, longest_seconds)
