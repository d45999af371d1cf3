"""The designs of a tree by name: the latest ones in memory, all others read from the log when somebody asks for them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView

from ..log import Recorded
from ..tree import DesignProposed, TreeEvent
from .design import DesignView

KEPT = 1_000
"""How many settled designs stay in memory: more than a campaign of days proposes, so that only a log of hundreds of
thousands of events is ever read again."""
Fetch = Callable[[Sequence[int]], Sequence[Recorded]]
"""Reads the events at some positions of the log, in their order."""


class Designs(Mapping[str, DesignView]):
    """The designs of a tree by name, in the order of their registration.

    With a log to read from (``fetch``), only :data:`KEPT` settled designs are held, and of the others the positions of
    their events: a view of a long log never holds the log. So does a view that was restored from a snapshot.
    """

    def __init__(self, fetch: Fetch | None = None) -> None:
        self.fetch = fetch
        self._views: dict[str, DesignView | None] = {}
        self._positions: dict[str, array[int]] = {}
        self._settled: dict[str, None] = {}
        """Designs in memory that may be left to the log, the longest settled first."""

    def add(self, design: DesignView) -> None:
        """Take in a new design."""
        self._views[design.id] = design

    def leave_in_log(self, positions: Mapping[str, Sequence[int]]) -> None:
        """Take in designs by the positions of their events."""
        for name, each in positions.items():
            self._views[name], self._positions[name] = None, array("q", each)

    def settle(self, name: str) -> None:
        """Nothing remains to be done with a design: it may be left to the log, and those settled long ago are."""
        self._settled[name] = None
        self._leave(KEPT)

    def _leave(self, kept: int) -> None:
        while self.fetch is not None and len(self._settled) > kept:
            oldest = next(iter(self._settled))
            del self._settled[oldest]
            view = self._views[oldest]
            if view is not None:
                self._views[oldest], self._positions[oldest] = None, array("q", view.positions)

    def take_up(self, name: str) -> None:
        """Work at a design goes on: it stays in memory."""
        self._settled.pop(name, None)

    def events_of(self, name: str) -> int:
        """How many events a design was folded from: it is as it was as long as this number is."""
        view = self._views[name]
        return len(self._positions[name]) if view is None else len(view.positions)

    @property
    def positions(self) -> dict[str, list[int]]:
        """The positions of each design's events."""
        return {
            name: list(self._positions[name]) if view is None else view.positions for name, view in self._views.items()
        }

    def __getitem__(self, name: str) -> DesignView:
        view = self._views[name]
        if view is None:
            self._load([name])
            view = self._views[name]
            assert view is not None
            # The one that was asked for stays: something may be about to become of it.
            self._leave(max(KEPT, 1))
        return view

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def __eq__(self, other: object) -> bool:
        """Whether both hold equal designs, wherever they come from."""
        return isinstance(other, Designs) and dict(self.items()) == dict(other.items())

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __contains__(self, name: object) -> bool:
        return name in self._views

    def values(self) -> ValuesView[DesignView]:
        """All designs, read together where they are in the log; they are held until the next one settles."""
        self._load(list(self._positions))
        return super().values()

    def items(self) -> ItemsView[str, DesignView]:
        """All designs with their names, as :meth:`values`."""
        self._load(list(self._positions))
        return super().items()

    def _load(self, names: Sequence[str]) -> None:
        wanted = {position: name for name in names for position in self._positions[name]}
        if not wanted:
            return
        assert self.fetch is not None, "designs are left to a log only where there is one"
        for recorded in self.fetch(list(wanted)):
            name, event = wanted[recorded.position], recorded.event
            assert isinstance(event, TreeEvent)
            if isinstance(event, DesignProposed):
                self._views[name] = DesignView(event, event.ref, positions=[recorded.position])
                continue
            view = self._views[name]
            assert view is not None, "a design is registered before anything else is said of it"
            view.apply(event, recorded.position)
        for name in names:
            del self._positions[name]
            self._settled[name] = None
