"""Which effect of which step is under way, for targets whose effects outlive the process that asked for them.

A reading on a remote device goes on when its submitter dies. Its job therefore carries a name that follows from the step,
so that the next attempt at the same step finds the job instead of handing it in again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count


@dataclass(frozen=True)
class Effect:
    """The step in flight: its key (the same for every attempt at it), and the number of this attempt."""

    step: str
    attempt: int
    _ordinals: Iterator[int] = field(default_factory=count, compare=False, repr=False)

    def next(self) -> int:
        """A number for the next request of this effect; every attempt makes the same requests in the same order."""
        return next(self._ordinals)


_current: ContextVar[Effect | None] = ContextVar("kernelwright_effect", default=None)


@contextmanager
def under(step: str, attempt: int) -> Iterator[None]:
    """For the body, what is asked of a device belongs to this step."""
    token = _current.set(Effect(step, attempt))
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Effect | None:
    """The effect in flight; None outside any step (a calibration from the command line)."""
    return _current.get()
