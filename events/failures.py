"""Errors of the log, in words: what happened, to what, and what to do next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from eventsourcing.persistence import IntegrityError, PersistenceError


class LogError(Exception):
    """The log cannot be read or written. The message says what happened, to what, and what to do next."""


class ConflictError(LogError):
    """Another process has recorded events of the same aggregate since it was read."""


class RunHeldError(LogError):
    """Another process works at the run. The message says which one and since when."""


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn the store's errors into LogErrors; ``where`` names the store without credentials."""
    try:
        yield
    except IntegrityError as error:
        if "append only" in str(error):
            raise LogError(f"{where} is append only: what is recorded never changes") from error
        raise ConflictError(
            f"another process has written to the same run in {where}; nothing was recorded here. "
            "See who with `kernelwright status`, then `kernelwright resume`"
        ) from error
    except (PersistenceError, sqlite3.Error) as error:
        raise LogError(advice(where, str(error))) from error


def advice(where: str, error: str) -> str:
    """What went wrong with the store at ``where``, and what to do about it."""
    text = " ".join(error.lower().split())
    if "locked" in text or "busy" in text or "lock timeout" in text:
        return f"the log {where} is locked by another process that writes; try again when it is done ({error})"
    if "full" in text or "no space" in text or "disk i/o" in text:
        return f"the disk of {where} is full or failing; free some space, then `kernelwright resume` ({error})"
    if "password authentication" in text or "no password" in text:
        return f"the server of {where} refused the user or the password; check the URL or PGPASSWORD"
    if "connection" in text and ("refused" in text or "failed" in text or "timeout" in text or "closed" in text):
        return f"the server of {where} does not answer; check that it runs and that host and port are right"
    if "does not exist" in text and "database" in text:
        return f"there is no such database at {where}; make it with `createdb`"
    if "permission denied" in text:
        return f"{where}: permission denied; the user may not read or write the log's tables"
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return (
            f"{where} cannot be written or opened: check its folder and permissions, or give another --store ({error})"
        )
    if "not a database" in text or "malformed" in text:
        return f"{where} is not a kernelwright log, or is damaged; `kernelwright verify` says where ({error})"
    return f"the log {where} failed: {error}"
