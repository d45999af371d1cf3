"""From the way that a worker ended to a typed outcome with a reason."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from ..outcome import Outcome
from .layout import ARGUMENT_REGION, WEIGHT_REGION, Place, Slot
from .protocol import Control, Status
from .workers import LoadError, Reading, Worker

_NO_MEMORY = ("cannot allocate memory", "failed to map segment", "no memory", "cannot map zero-fill pages")


def load_outcome(failure: LoadError) -> Outcome:
    """Why a design could not be loaded."""
    if failure.hung:
        return Outcome.HUNG
    text = str(failure).lower()
    if "static tls" in text:
        # The loader's words for thread-local data that no program can have: a matter of the source, not of the machine.
        return Outcome.LOAD_FAILED
    return Outcome.OUT_OF_MEMORY if any(words in text for words in _NO_MEMORY) else Outcome.LOAD_FAILED


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def locate(
    address: int, control: Control, weights: Sequence[dict[str, Place]], slots: Sequence[Slot]
) -> tuple[str, int, int] | None:
    """The argument nearest to an address: name, offset (bytes) from its start, size. None when no region holds it."""
    own = [(name, place) for slot in slots for name, place in slot.own.items()]
    shared = [(name, place) for copy in weights for name, place in copy.items()]
    best: tuple[int, str, int, int] | None = None
    for region, places in ((ARGUMENT_REGION, own), (WEIGHT_REGION, shared)):
        for name, place in places:
            offset = address - control.bases[region] - place.offset
            distance = max(-offset, offset - place.size + 1, 0)
            if best is None or distance < best[0]:
                best = (distance, name, offset, place.size)
    # The guards are a page; an access with a larger stride is told from a wild pointer by its distance.
    if best is None or best[0] > 1 << 20:
        return None
    return best[1], best[2], best[3]


def ending(
    reading: Reading,
    worker: Worker,
    weights: Sequence[dict[str, Place]],
    slots: Sequence[Slot],
    timeout_seconds: float,
) -> tuple[Outcome, str]:
    """Outcome and reason of a reading whose status is not ``ok``."""
    if reading.status is Status.HUNG:
        return Outcome.HUNG, f"no end after {timeout_seconds:g} s"
    control = worker.control()
    number = control.fault_signal or worker.exit_signal()
    if number == signal.SIGSYS:
        return Outcome.FORBIDDEN_CALL, f"system call {control.fault_address} is not allowed to a design"
    if number in (signal.SIGSEGV, signal.SIGBUS) and control.fault_address:
        found = locate(control.fault_address, control, weights, slots)
        if found is not None:
            name, offset, size = found
            if 0 <= offset < size:
                return Outcome.INPUT_MODIFIED, f"wrote to {name}, which is read only, at byte {offset}"
            side = f"{-offset} bytes before the start" if offset < 0 else f"{offset - size + 1} bytes past the end"
            return Outcome.OUT_OF_BOUNDS, f"touched memory {side} of {name}"
    if number:
        hint = ""
        if number == signal.SIGSEGV and control.fault_signal and not control.fault_address:
            hint = ": an aligned access to an unaligned address, or a wild pointer"
        return Outcome.CRASHED, f"{_signal_name(number)}{hint}"
    return Outcome.CRASHED, "the process ended without being told to"
