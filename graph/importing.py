"""Readings of past Arena logs become a run of their own: facts and verdicts as events, marked as imported.

So ``explain``, ``tree``, ``replay`` and ``verify`` work on them. Nothing is accepted: a gain is claimed from fresh pairs in
an order that was drawn, and these were taken in an order that someone chose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from ..events.base import Context
from ..events.log import EventLog
from ..events.run import Run
from ..events.tree import DesignTree
from ..hardware.rngd.chip import DEVICE_HZ
from ..hardware.rngd.visa.arena.imported import Collected, LogFile
from ..hardware.rngd.visa.target import NAME
from ..hardware.target import Toolchain
from .imported_tree import IMPORTED, ImportedTree, Wanted
from .runner import this_process


class UnusableLogsError(Exception):
    """The logs cannot be taken in as they were given. The message says what to change. Nothing was recorded."""


def import_arena(log: EventLog, files: Sequence[LogFile], found: Collected, wanted: Wanted) -> dict[str, Any]:
    """Record the readings and what the policy says of each pair of arms, in one transaction; JSON-ready findings.

    Raises UnusableLogsError for logs without readings or a baseline that is in none, InvariantError for a run that exists.
    """
    if not found.readings:
        raise UnusableLogsError("there is no reading in these logs that can be used")
    if wanted.baseline and not any(wanted.baseline in found.arms(each) for each in found.kernels):
        names = sorted({arm for each in found.kernels for arm in found.arms(each)})
        raise UnusableLogsError(f"no log holds the arm {wanted.baseline!r}; there are {', '.join(names)}")
    parts = {"dsl": "visa", "device": "arena", "readings": IMPORTED, "clock_hz": f"{DEVICE_HZ:g}"}
    toolchain = Toolchain(parts).fingerprint
    context = Context(step="import", toolchain=toolchain)
    run = log.load(Run, wanted.run)
    run.start(
        context,
        run=wanted.run,
        target=NAME,
        kernels=found.kernels,
        policy=wanted.policy.as_dict(),
        seed=0,
        entropy=hashlib.sha256("".join(file.digest for file in files).encode()).hexdigest()[:32],
        minutes=0.0,
        config={"target": NAME, IMPORTED: [f"{file.name} sha256:{file.digest}" for file in files]},
        version=wanted.version,
        holder=this_process(),
    )
    run.observe(context, toolchain, parts, ())
    trees, kernels = [], []
    for name in found.kernels:
        tree = ImportedTree(log, log.load(DesignTree, wanted.run, name), name, found, wanted, context)
        kernels.append(tree.take_in(files))
        trees.append(tree.tree)
    run.stop(context, "finished", f"imported from {len(files)} logs")
    log.record(*trees, run)
    return {
        "run": wanted.run,
        "readings": len(found.readings),
        "kernels": kernels,
        "unused": [{"file": u.file, "line": u.line, "text": u.text, "why": u.why} for u in found.unused],
        "notes": _notes(found),
    }


def _notes(found: Collected) -> list[str]:
    notes = [
        "imported pairs were read in an order that was not drawn at random: the error rates of the policy do not hold"
    ]
    if any("," in pair.file for pair in found.pairs):
        notes.append("some pairs span two jobs, which differ by more than their designs do")
    return notes
