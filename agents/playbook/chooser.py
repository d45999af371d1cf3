"""What to try next: a pure function of what was tried, what was measured, and a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .emit import emit
from .isa import Isa
from .levers import Design, Value, levers
from .space import DesignKey, key, moved, small_changes, valid, whole_designs

_PATIENCE = 8
"""Small changes of one design in a row without an acceptance before another whole design is tried."""


@dataclass(frozen=True)
class Tried:
    """A design of this kernel and what became of it.

    ``levers`` is empty for a design that the playbook did not write. ``outcome`` is a value of
    :class:`~kernelwright.hardware.outcome.Outcome`; ``verdict`` is ``accepted``, ``rejected``, ``undecided``, ``held`` or
    None when there was no comparison; ``log_gain`` is log(seconds of the design ``against`` / its own seconds), None when
    it was not measured.
    """

    id: str
    parent: str | None
    levers: Design
    outcome: str
    verdict: str | None
    log_gain: float | None
    against: str | None = None


@dataclass(frozen=True)
class Situation:
    """All that a choice may depend on. ``elsewhere`` holds designs of other kernels on the same target."""

    kernel: str
    isa: Isa
    tried: Sequence[Tried]
    best: str | None
    seed: int
    floor_ratio: float | None = None
    probes: Mapping[str, float] = field(default_factory=dict)
    elsewhere: Sequence[Tried] = ()


@dataclass(frozen=True)
class Proposal:
    """A design to register: where it hangs in the tree, its levers, why, and its C."""

    kind: Literal["whole", "small"]
    parent: str | None
    levers: Design
    title: str
    rationale: str
    source: str


@dataclass(frozen=True)
class Exhausted:
    """Nothing is left to try, and why."""

    reason: str


def choose(situation: Situation) -> Proposal | Exhausted:
    """The next design for the kernel of ``situation``."""
    return _Chooser(situation).choose()


@dataclass(frozen=True)
class _Move:
    """A lever set to a value, and what was measured when that was tried: this kernel counts in full, others by half."""

    lever: str
    value: Value


class _Chooser:
    def __init__(self, situation: Situation) -> None:
        self.s = situation
        self.by_id = {t.id: t for t in situation.tried}
        self.seen: set[DesignKey] = {key(t.levers) for t in situation.tried if t.levers}
        self.levers = {lever.name: lever for lever in levers(situation.kernel, situation.isa)}

    def choose(self) -> Proposal | Exhausted:
        for stage in (self._first_wholes, self._combination, self._small, self._other_whole, self._elsewhere_in_tree):
            proposal = stage()
            if proposal is not None:
                return proposal
        return Exhausted(f"every design within one move of those worth building on was tried ({len(self.seen)} in all)")

    # -- whole designs ------------------------------------------------------------------------------------------------

    def _first_wholes(self) -> Proposal | None:
        return self._whole(first_only=True, why="a structure of its own, to be measured before any small change")

    def _other_whole(self) -> Proposal | None:
        return self._whole(first_only=False, why="small changes of the best are spent")

    def _whole(self, *, first_only: bool, why: str) -> Proposal | None:
        for whole in whole_designs(self.s.kernel, self.s.isa):
            if (whole.first or not first_only) and key(whole.design) not in self.seen:
                return self._proposal("whole", self.s.best, whole.design, whole.title, f"{whole.says}; {why}.")
        return None

    # -- small changes ------------------------------------------------------------------------------------------------

    def _combination(self) -> Proposal | None:
        """Changes of the best that looked good on their own, together."""
        base = self._base()
        if base is None:
            return None
        near = [
            (t.log_gain, self._difference(t))
            for t in self.s.tried
            if t.parent == base.id and t.verdict == "undecided" and t.log_gain is not None and t.log_gain > 0
        ]
        near = sorted((pair for pair in near if pair[1]), key=lambda pair: -(pair[0] or 0.0))
        for i, (gain, one) in enumerate(near):
            for other_gain, other in near[i + 1 :]:
                if one.keys() & other.keys():
                    continue
                design = moved(base.levers, {**one, **other})
                if design is not None and key(design) not in self.seen:
                    title = f"{_words(one)} and {_words(other)}"
                    why = (
                        f"each was undecided with a positive gain on the best ({_percent(gain)} and "
                        f"{_percent(other_gain)}); together they may be enough to tell."
                    )
                    return self._proposal("small", base.id, design, title, why)
        return None

    def _small(self) -> Proposal | None:
        base = self._base()
        return None if base is None else self._small_of(base)

    def _elsewhere_in_tree(self) -> Proposal | None:
        """Small changes of other designs that ran, the fastest first."""
        others = [t for t in self.s.tried if self._usable(t) and t.log_gain is not None and t.outcome == "ok"]
        for base in sorted(others, key=lambda t: (-(t.log_gain or 0.0), t.id)):
            proposal = self._small_of(base)
            if proposal is not None:
                return proposal
        return None

    def _small_of(self, base: Tried) -> Proposal | None:
        candidates = [
            (self._score(change.moves), self._coin(change.moves), change)
            for change in small_changes(self.s.kernel, self.s.isa, base.levers)
            if key(change.design) not in self.seen
        ]
        if not candidates:
            return None
        score, _, change = max(candidates, key=lambda c: (c[0], c[1]))
        (name, value) = next(iter(change.moves.items()))
        lever = self.levers[name]
        evidence = self._evidence(name, value)
        measured = (
            f"measured {_percent(sum(evidence) / len(evidence))} on average in {len(evidence)} earlier trial(s)"
            if evidence
            else "not tried before"
        )
        why = f"{lever.says} ({lever.bottleneck}); from {base.levers[name]} to {value}; {measured}."
        return self._proposal("small", base.id, change.design, _words(change.moves), why)

    def _score(self, changes: Mapping[str, Value]) -> float:
        """Expected log-gain of a change: what was measured, shrunk towards a small prior by the order of the values."""
        total = 0.0
        for name, value in changes.items():
            lever = self.levers[name]
            prior = 0.01 / (1 + lever.values.index(value))
            evidence = self._evidence(name, value)
            total += (prior + sum(evidence)) / (1 + len(evidence))
        return total

    def _evidence(self, name: str, value: Value) -> list[float]:
        """Log-gains of the trials that moved ``name`` to ``value``, here and, at half weight, elsewhere."""
        here = [t.log_gain for t in self.s.tried if t.log_gain is not None and self._difference(t).get(name) == value]
        return here

    def _coin(self, changes: Mapping[str, Value]) -> bytes:
        text = f"{self.s.seed}|{self.s.kernel}|{sorted(changes.items())}"
        return hashlib.sha256(text.encode()).digest()

    # -- the tree -----------------------------------------------------------------------------------------------------

    def _usable(self, tried: Tried) -> bool:
        return bool(tried.levers) and valid(self.s.kernel, self.s.isa, tried.levers)

    def _base(self) -> Tried | None:
        best = None if self.s.best is None else self.by_id.get(self.s.best)
        return best if best is not None and self._usable(best) else None

    def _difference(self, tried: Tried) -> Mapping[str, Value]:
        """The levers in which a design differs from its parent; empty when the parent is not the playbook's."""
        parent = None if tried.parent is None else self.by_id.get(tried.parent)
        if parent is None or not parent.levers or not tried.levers:
            return {}
        return {name: value for name, value in tried.levers.items() if parent.levers.get(name) != value}

    def _proposal(
        self, kind: Literal["whole", "small"], parent: str | None, design: Design, title: str, rationale: str
    ) -> Proposal:
        source = emit(self.s.kernel, self.s.isa, design, title[0].upper() + title[1:] + ".")
        return Proposal(kind, parent, design, title, rationale, source)


def _words(changes: Mapping[str, Value]) -> str:
    return " and ".join(f"{name} {value}" for name, value in changes.items())


def _percent(log_gain: float | None) -> str:
    return "nothing" if log_gain is None else f"{100 * log_gain:+.1f} %"
