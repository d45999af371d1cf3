"""What the compiler refused: how likely it is that a design is refused too, from the values that it shares with others.

A value, or a pair of values, is to blame when designs with it were refused and few with it were compiled. The refusals
that the worst culprit explains are set aside before the next one is looked for, so that what merely went along with it
is not blamed as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _Court:
    """What the designs of one place say: how often values and pairs compiled, and which are to blame for refusals."""

    compiled: Counter[Blame]
    culprits: Mapping[Blame, int]

    def share(self, blame: Blame, weight: float = 1.0) -> float:
        """Refusals among all that is known of ``blame``, with one success taken for granted."""
        refused = weight * self.culprits[blame]
        return refused / (refused + weight * self.compiled[blame] + 1) if refused >= REPEATEDLY else 0.0


class Refusals:
    """Values and pairs of values that designs were refused for.

    Of a lever that ``grows``, a value stands for itself and all larger ones.
    """

    def __init__(self, levers: Sequence[Lever], here: Iterable[Tried], elsewhere: Iterable[Tried] = ()) -> None:
        """``elsewhere`` are designs of other kernels. Theirs count half, and only while nothing with the same values has
        compiled here; what compiles there says nothing of what was refused here."""
        self._levers: Mapping[str, Lever] = {lever.name: lever for lever in levers}
        self._here, self._elsewhere = self._court(here), self._court(elsewhere)

    @property
    def culprits(self) -> Mapping[Blame, int]:
        """What is to blame here, and for how many refusals."""
        return self._here.culprits

    def chance(self, design: Design) -> float:
        """From 0 (nothing speaks against it) to below 1: how likely it is that ``design`` does not compile."""
        return max((share for share, _, _ in self._charges(design)), default=0.0)

    def reason(self, design: Design) -> str:
        """What speaks most against ``design``, for people; empty when nothing does."""
        charges = [charge for charge in self._charges(design) if charge[0]]
        if not charges:
            return ""
        _, worst, times = max(charges, key=lambda charge: charge[0])
        return f"{' with '.join(f'{name} {value}' for name, value in worst)} was refused {times} times"

    def _charges(self, design: Design) -> Iterator[tuple[float, Blame, int]]:
        for court, weight in ((self._here, 1.0), (self._elsewhere, 0.5)):
            for blame, times in court.culprits.items():
                acquitted = court is self._elsewhere and self._here.compiled[blame]
                if not acquitted and all(self._holds(design, *part) for part in blame):
                    yield court.share(blame, weight), blame, times

    def _court(self, designs: Iterable[Tried]) -> _Court:
        compiled: Counter[Blame] = Counter()
        refused: list[frozenset[Blame]] = []
        suspects: set[Blame] = set()
        for tried in designs:
            if not tried.levers or tried.outcome in _NOT_ASKED:
                continue
            if tried.outcome in REFUSED:
                refused.append(frozenset(self._blames(tried.levers)))
                suspects.update(_parts(tried.levers))
            else:
                compiled.update(self._blames(tried.levers))
        # Where nothing has compiled yet, nothing can be acquitted, and what all designs share would be to blame.
        return _Court(compiled, _convicted([blames & suspects for blames in refused], compiled) if compiled else {})

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


def _convicted(refused: list[frozenset[Blame]], compiled: Counter[Blame]) -> Mapping[Blame, int]:
    counts = Counter(blame for blames in refused for blame in blames)
    culprits: dict[Blame, int] = {}
    while True:
        often = [blame for blame, count in counts.items() if count >= REPEATEDLY]
        if not often:
            return culprits
        # What never compiled comes before what did at times, however often that was refused; then the surest, the
        # simplest; by name at last, so that luck has no part in it.
        worst = min(often, key=lambda b: (compiled[b] > 0, -counts[b] / (counts[b] + compiled[b] + 1), len(b), str(b)))
        culprits[worst] = counts[worst]
        for blames in refused:
            if worst in blames:
                counts.subtract(blames)
        refused = [blames for blames in refused if worst not in blames]
