"""What to try next: a pure function of what was tried, what was measured, and a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from .evidence import Evidence, Tree, Tried
from .refusals import HOPELESS, Refusals
from .space import Design, DesignKey, Lever, Space, Value, key, moved, small_changes, valid

__all__ = ["Exhausted", "Proposal", "Situation", "Tried", "choose"]

_PATIENCE = 8
"""Small changes in a row without an acceptance before the runner-up is built on as well."""
REFUSED_LOG_GAIN = -0.3
"""What a small change that the compiler refuses is worth: it costs a turn, and its move is not worth repeating soon."""


@dataclass(frozen=True)
class Situation:
    """All that a choice may depend on. ``tried`` is in the order of proposing.

    ``floor_ratio`` is the best's seconds over the floor's. ``elsewhere`` holds designs of other kernels on the same target,
    with their parents: their levers of the same name count half.
    """

    space: Space
    tried: Sequence[Tried]
    best: str | None
    seed: int
    floor_ratio: float | None = None
    elsewhere: Sequence[Tried] = ()
    closed: frozenset[tuple[str, Value]] = frozenset()
    """Moves (lever, value) that are not worth a trial as things stand."""


@dataclass(frozen=True)
class Proposal:
    """A design to register: where it hangs in the tree, its levers, why, and its source."""

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
    """The next design of the space of ``situation``."""
    return _Chooser(situation).choose()


class _Chooser:
    def __init__(self, situation: Situation) -> None:
        self.s, self.space = situation, situation.space
        self.tree = Tree(situation.tried)
        self.evidence = Evidence(self.tree, Tree(situation.elsewhere))
        self.levers = {lever.name: lever for lever in self.space.levers}
        self.structural = frozenset(lever.name for lever in self.space.levers if lever.structural)
        self.seen: set[DesignKey] = {key(self.space, t.levers) for t in situation.tried if self._usable(t)}
        self.refusals = Refusals(self.space.levers, situation.tried, situation.elsewhere)
        self.hopeless: set[DesignKey] = set()

    def choose(self) -> Proposal | Exhausted:
        stages = (self._first_wholes, self._combination, self._runner_up, self._small, self._other_wholes, self._others)
        for stage in stages:
            proposal = stage()
            if proposal is not None:
                return proposal
        left = f"; {len(self.hopeless)} more hold what the compiler refused again and again" if self.hopeless else ""
        return Exhausted(f"every design within one move of one that ran was tried ({len(self.seen)} in all){left}")

    # -- whole designs ------------------------------------------------------------------------------------------------

    def _first_wholes(self) -> Proposal | None:
        return self._whole(first_only=True, why="a structure of its own, measured before any small change")

    def _other_wholes(self) -> Proposal | None:
        return self._whole(first_only=False, why="small changes of the best are spent")

    def _whole(self, *, first_only: bool, why: str) -> Proposal | None:
        for whole in self.space.wholes():
            closed = any((name, whole.design[name]) in self.s.closed for name in self.structural)
            if (whole.first or not first_only) and not (closed or self._tried(whole.design)):
                rationale = f"{_sentence(whole.says)} {_sentence(why)}{self._floor()}"
                return self._proposal("whole", self.s.best, whole.design, whole.title, rationale)
        return None

    # -- small changes ------------------------------------------------------------------------------------------------

    def _combination(self) -> Proposal | None:
        """Changes of the best that were undecided with a positive gain, two at a time, the largest gains first."""
        base = self._best()
        if base is None:
            return None
        near = [
            (gain, changes)
            for tried in self.s.tried
            if tried.parent == base.id and tried.verdict == "undecided"
            for gain, changes in [(tried.log_gain or 0.0, self.tree.changes(tried))]
            if gain > 0 and changes
        ]
        near.sort(key=lambda pair: (-pair[0], sorted(pair[1].items(), key=str)))
        for (gain, one), (other_gain, other) in combinations(near, 2):
            design = moved(self.space, base.levers, {**one, **other})
            if one.keys() & other.keys() or design is None or self._tried(design):
                continue
            why = (
                f"Each was undecided with a positive gain on the best ({_percent(gain)} and {_percent(other_gain)}); "
                f"together they may be enough to tell.{self._floor()}"
            )
            return self._proposal("small", base.id, design, f"{_words(one)}, {_words(other)}", why)
        return None

    def _small(self) -> Proposal | None:
        base = self._best()
        return None if base is None else self._small_of(base, "")

    def _runner_up(self) -> Proposal | None:
        """After a run of misses, every other time: a small change of the fastest design of another structure."""
        misses, best = self.tree.misses(), self._best()
        if best is None or misses < _PATIENCE or misses % 2:
            return None
        ranked = [
            t for t in self.tree.fastest_first() if self._usable(t) and self._structure(t) != self._structure(best)
        ]
        why = f"Of the runner-up, since {misses} changes in a row were not accepted. "
        return self._small_of(ranked[0], why) if ranked else None

    def _others(self) -> Proposal | None:
        """Small changes of any design that ran, the fastest first."""
        for base in self.tree.fastest_first():
            if self._usable(base):
                proposal = self._small_of(base, "Everything near faster designs was tried. ")
                if proposal is not None:
                    return proposal
        return None

    def _small_of(self, base: Tried, preface: str) -> Proposal | None:
        candidates = []
        for change in small_changes(self.space, base.levers):
            if self._tried(change.design) or self.s.closed.intersection(change.moves.items()):
                continue
            chance = self.refusals.chance(change.design)
            if chance >= HOPELESS:
                self.hopeless.add(key(self.space, change.design))
                continue
            promise = (1 - chance) * self._promise(change.moves) + chance * REFUSED_LOG_GAIN
            candidates.append((promise, self._coin(change.moves), change))
        if not candidates:
            return None
        change = max(candidates, key=lambda c: c[:2])[2]
        ((name, value),) = change.moves.items()
        lever = self.levers[name]
        why = (
            f"{preface}{_sentence(lever.says)} It addresses {lever.bottleneck}. From {base.levers[name]} to {value}: "
            f"{self.evidence.words(name, value)}.{self._floor()}"
        )
        return self._proposal("small", base.id, change.design, _words(change.moves), why)

    def _promise(self, changes: Mapping[str, Value]) -> float:
        """Expected log-gain: what was measured, shrunk towards a prior by the order of values and the bottleneck."""
        total = 0.0
        for name, value in changes.items():
            lever = self.levers[name]
            prior = 0.01 / (1 + lever.values.index(value)) * self._weight(lever)
            total += self.evidence.mean(name, value, prior)
        return total

    def _weight(self, lever: Lever) -> float:
        """Far from the floor, the loop over weights matters; near it, what surrounds it."""
        if self.s.floor_ratio is None:
            return 1.0
        return 1.5 if (lever.bottleneck == "overhead") == (self.s.floor_ratio < 1.2) else 1.0

    def _coin(self, changes: Mapping[str, Value]) -> bytes:
        text = f"{self.s.seed}|{self.space.kernel}|{sorted(changes.items())}"
        return hashlib.sha256(text.encode()).digest()

    # -- shared -------------------------------------------------------------------------------------------------------

    def _usable(self, tried: Tried) -> bool:
        return bool(tried.levers) and valid(self.space, tried.levers)

    def _tried(self, design: Design) -> bool:
        return key(self.space, design) in self.seen

    def _structure(self, tried: Tried) -> Mapping[str, Value]:
        return {name: tried.levers[name] for name in self.structural}

    def _best(self) -> Tried | None:
        best = None if self.s.best is None else self.tree.by_id.get(self.s.best)
        return best if best is not None and self._usable(best) else None

    def _floor(self) -> str:
        return "" if self.s.floor_ratio is None else f" The best takes {self.s.floor_ratio:.2f} times the floor."

    def _proposal(
        self, kind: Literal["whole", "small"], parent: str | None, design: Design, title: str, rationale: str
    ) -> Proposal:
        source = self.space.emit(design, _sentence(title))
        return Proposal(kind, parent, design, title, rationale, source)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _words(changes: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} {value}" for name, value in changes.items())


def _percent(log_gain: float) -> str:
    return f"{100 * log_gain:+.1f} %"
