"""What the designs tried so far say about levers: gains of moves, the fastest designs, runs of misses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .space import Design, Value

_TOO_SLOW_LOG_GAIN = -0.15
"""What counts as measured for a design that the short probe found plainly slower."""
_FAILED_LOG_GAIN = -0.3
"""The same for one that did not build or was wrong: its move is not worth repeating soon."""
_NOT_THE_DESIGNS_FAULT = frozenset({"duplicate", "no-device"})


@dataclass(frozen=True)
class Tried:
    """A design of this kernel and what became of it.

    ``levers`` is empty for a design that the playbook did not write. ``outcome`` is a value of
    :class:`~kernelwright.hardware.outcome.Outcome`; ``verdict`` is ``accepted``, ``rejected``, ``undecided``, ``held`` or
    None when there was no comparison; ``log_gain`` is log(seconds of its parent / its own seconds), None when it was not
    measured. Where there is no device, seconds are estimates, and ``accepted`` means the smallest estimate of its time.
    """

    id: str
    parent: str | None
    levers: Design
    outcome: str
    verdict: str | None
    log_gain: float | None


class Tree:
    """The designs of one kernel by id, and what follows from their places."""

    def __init__(self, tried: Sequence[Tried]) -> None:
        """``tried`` in the order of proposing."""
        self.tried = tried
        self.by_id = {t.id: t for t in tried}

    def changes(self, tried: Tried) -> Mapping[str, Value]:
        """The levers in which a design differs from its parent; empty when either is not the playbook's."""
        parent = None if tried.parent is None else self.by_id.get(tried.parent)
        if parent is None or not parent.levers or not tried.levers:
            return {}
        return {name: value for name, value in tried.levers.items() if parent.levers.get(name) != value}

    def fastest_first(self) -> list[Tried]:
        """Designs that ran and were measured, by their gain over the root, the largest first."""
        level: dict[str, float] = {}
        ran: list[Tried] = []
        for t in self.tried:
            above = level.get(t.parent, 0.0) if t.parent is not None else 0.0
            level[t.id] = above + (t.log_gain or 0.0)
            if t.log_gain is not None and t.outcome == "ok":
                ran.append(t)
        return sorted(ran, key=lambda t: (-level[t.id], t.id))

    def misses(self) -> int:
        """How many designs in a row, up to the latest, were not accepted."""
        count = 0
        for t in reversed(self.tried):
            if t.verdict == "accepted":
                break
            count += 1
        return count


class Evidence:
    """Log-gains by lever and value, from designs that differ from their parent in few levers."""

    def __init__(self, here: Tree, elsewhere: Tree) -> None:
        """``here`` is the kernel's own tree; what was measured ``elsewhere`` counts half."""
        self._found: dict[tuple[str, Value], list[tuple[float, float]]] = {}
        for tree, weight in ((here, 1.0), (elsewhere, 0.5)):
            for t in tree.tried:
                changes = tree.changes(t)
                gain = _measured(t)
                if gain is None or not changes:
                    continue
                for name, value in changes.items():
                    self._found.setdefault((name, value), []).append((weight / len(changes), gain))

    def mean(self, name: str, value: Value, prior: float) -> float:
        """Expected log-gain of moving lever ``name`` to ``value``: the prior counts as one measurement."""
        found = self._found.get((name, value), [])
        return (prior + sum(w * g for w, g in found)) / (1.0 + sum(w for w, _ in found))

    def words(self, name: str, value: Value) -> str:
        """What was measured of that move, for people."""
        found = self._found.get((name, value), [])
        if not found:
            return "not measured before"
        mean = sum(w * g for w, g in found) / sum(w for w, _ in found)
        times = "once" if len(found) == 1 else f"{len(found)} times"
        return f"measured {times} from other parents, {100 * mean:+.1f} % on average"


def _measured(t: Tried) -> float | None:
    if t.log_gain is not None:
        return t.log_gain
    if t.outcome == "ok" or t.outcome in _NOT_THE_DESIGNS_FAULT:
        return None
    return _TOO_SLOW_LOG_GAIN if t.outcome == "too-slow" else _FAILED_LOG_GAIN
