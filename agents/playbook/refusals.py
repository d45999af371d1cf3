"""What the compiler refused: how likely it is that a design is refused too, from the values that it shares with others.

A value, or a pair of values, is to blame when designs with it were refused and few with it were compiled. The refusals
that the worst culprit explains are set aside before the next one is looked for, so that what merely went along with it
is not blamed as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from .evidence import Tried
from .space import Design, Lever, Value

REFUSED = frozenset({"vetoed", "build-failed", "build-crashed", "build-hung", "bad-symbols"})
"""Outcomes (of :class:`~kernelwright.hardware.outcome.Outcome`) that say: this does not compile."""
_NOT_ASKED = frozenset({"duplicate", "no-device"})
REPEATEDLY = 2
"""So many refusals of a value or a pair before it is thought to be the reason."""
HOPELESS = 0.65
"""From this chance on a small change is left alone: two refusals of the same value or pair, and never a success."""

Blame = tuple[tuple[str, Value], ...]
"""One value or a pair of values, by lever."""


class Refusals:
    """Values and pairs of values that designs were refused for.

    Of a lever that ``grows``, a value stands for itself and all larger ones.
    """

    def __init__(self, levers: Sequence[Lever], here: Iterable[Tried], elsewhere: Iterable[Tried] = ()) -> None:
        """``elsewhere`` are designs of other kernels; theirs count half."""
        self._levers: Mapping[str, Lever] = {lever.name: lever for lever in levers}
        self._compiled: Counter[Blame] = Counter()
        refused: list[tuple[int, frozenset[Blame]]] = []
        suspects: set[Blame] = set()
        for designs, weight in ((here, 2), (elsewhere, 1)):  # in halves, so that counts are whole numbers
            for tried in designs:
                if not tried.levers or tried.outcome in _NOT_ASKED:
                    continue
                if tried.outcome in REFUSED:
                    refused.append((weight, frozenset(self._blames(tried.levers))))
                    suspects.update(_parts(tried.levers))
                else:
                    self._compiled.update(dict.fromkeys(self._blames(tried.levers), weight))
        refused = [(weight, blames & suspects) for weight, blames in refused]
        # Where nothing has compiled yet, nothing can be acquitted, and what all designs share would be to blame.
        self.culprits: Mapping[Blame, int] = self._convict(refused) if self._compiled else {}
        """What is to blame, and by how many refusals, times two."""

    def chance(self, design: Design) -> float:
        """From 0 (nothing speaks against it) to below 1: how likely it is that ``design`` does not compile."""
        return max((self._share(blame, self.culprits[blame]) for blame in self._found_in(design)), default=0.0)

    def reason(self, design: Design) -> str:
        """What speaks most against ``design``, for people; empty when nothing does."""
        found = self._found_in(design)
        if not found:
            return ""
        worst = max(found, key=lambda blame: self._share(blame, self.culprits[blame]))
        times = self.culprits[worst] / 2
        return f"{' with '.join(f'{name} {value}' for name, value in worst)} was refused {times:g} times"

    def _convict(self, refused: list[tuple[int, frozenset[Blame]]]) -> Mapping[Blame, int]:
        counts: Counter[Blame] = Counter()
        for weight, blames in refused:
            counts.update(dict.fromkeys(blames, weight))
        culprits: dict[Blame, int] = {}
        while True:
            often = [blame for blame, count in counts.items() if count >= 2 * REPEATEDLY]
            if not often:
                return culprits
            # What never compiled comes before what did at times, however often that was refused; then the surest, the one
            # that explains most, the simplest; by name at last, so that luck has no part in it.
            worst = min(often, key=lambda b: (self._compiled[b] > 0, -self._share(b, counts[b]), len(b), str(b)))
            culprits[worst] = counts[worst]
            for weight, blames in refused:
                if worst in blames:
                    counts.subtract(dict.fromkeys(blames, weight))
            refused = [(weight, blames) for weight, blames in refused if worst not in blames]

    def _share(self, blame: Blame, refused: int) -> float:
        return refused / (refused + self._compiled[blame] + 2)

    def _found_in(self, design: Design) -> list[Blame]:
        return [blame for blame in self.culprits if all(self._holds(design, *part) for part in blame)]

    def _holds(self, design: Design, name: str, value: Value) -> bool:
        return name in design and value in self._reach(name, design[name])

    def _blames(self, design: Design) -> Iterator[Blame]:
        """The values and pairs that a design's fate says something about."""
        said = [[(name, value) for value in self._reach(name, design[name])] for name in sorted(design)]
        for values in said:
            yield from ((value,) for value in values)
        for ones, others in combinations(said, 2):
            yield from ((one, other) for one in ones for other in others)

    def _reach(self, name: str, value: Value) -> list[Value]:
        """The values that stand for ``value``: itself, and smaller ones of a lever that grows."""
        lever = self._levers.get(name)
        if lever is None or not lever.grows or not isinstance(value, int):
            return [value]
        return [value, *(each for each in lever.values if isinstance(each, int) and each < value)]


def _parts(design: Design) -> Iterator[Blame]:
    items = sorted(design.items())
    yield from ((item,) for item in items)
    yield from combinations(items, 2)
