"""The space of TCL on RNGD: which engine multiplies, and what surrounds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..space import Design, Lever, Place, Value, Whole, start
from .designs import WRITERS
from .levers import ENGINE_SAYS, KERNELS, levers, weight_format

_USES: Mapping[str, frozenset[str]] = {
    "sliding_project_qkv": frozenset(("HIDDEN", "HEADS", "KV_HEADS", "HEAD_DIM", "WINDOW", "POSITIONS")),
    "sliding_attention_output": frozenset(("HIDDEN", "HEADS", "HEAD_DIM")),
    "decoder_feedforward": frozenset(("HIDDEN", "INTERMEDIATE")),
}
_SMALLEST_PART = 64
"""Fewest rows of a chunk: one for each slice of a processing element."""


def space(place: Place) -> TclSpace | None:
    """The space of a kernel; None for one that there is no TCL for, or whose dimensions are not known."""
    if place.kernel not in KERNELS or not _USES[place.kernel] <= place.dimensions.keys():
        return None
    return TclSpace(place.kernel, tuple(sorted(place.dimensions.items())))


@dataclass(frozen=True)
class TclSpace:
    """Designs of ``kernel`` for its ``sizes``."""

    kernel: str
    sizes: tuple[tuple[str, int], ...]

    @property
    def levers(self) -> tuple[Lever, ...]:
        """The levers of the kernel."""
        return levers(self.kernel)

    def emit(self, design: Design, says: str = "") -> str:
        """The whole TCL program of a design."""
        return WRITERS[self.kernel](dict(self.sizes), self.canonical(design), says)

    def canonical(self, design: Design) -> Design:
        """Levers of another engine take their first value; parts of rows are no smaller than slices are many."""
        fixed: dict[str, Value] = dict(design)
        if "stream" in fixed and fixed["engine"] != "vector":
            fixed["stream"] = "activation"
        if "halves" in fixed and fixed["engine"] != "halves":
            fixed["halves"] = "apart"
        for name, rows in self._rows().items():
            while int(fixed[name]) > 1 and (rows % int(fixed[name]) or rows // int(fixed[name]) < _SMALLEST_PART):
                fixed[name] = int(fixed[name]) // 2
        if "row_axis" in fixed:
            width, parts = int(fixed["row_axis"]), int(fixed["chunks"])
            in_part = [rows // parts for rows in self._rows().values()]
            fixed["row_axis"] = width if width and all(n > width and n % width == 0 for n in in_part) else 0
        return fixed

    def _rows(self) -> dict[str, int]:
        """The smallest number of rows that a lever of chunks divides."""
        sizes = dict(self.sizes)
        if self.kernel == "sliding_project_qkv":
            return {"chunks": sizes["KV_HEADS"] * sizes["HEAD_DIM"]}
        if self.kernel == "sliding_attention_output":
            return {"chunks": sizes["HIDDEN"]}
        return {"chunks": sizes["INTERMEDIATE"], "down_chunks": sizes["HIDDEN"]}

    def wholes(self) -> tuple[Whole, ...]:
        """A design for each engine, then the same in parts."""
        base, form = start(self), weight_format(self.kernel)
        engine = next(lever for lever in self.levers if lever.name == "engine")
        wholes = []
        for value in engine.values:
            says = ENGINE_SAYS[form, str(value)]
            design = self.canonical({**base, "engine": value})
            wholes.append(Whole(f"product by {value}", says, design, first=True))
        for value in engine.values:
            moves: dict[str, Value] = dict.fromkeys(self._rows(), 4)
            design = self.canonical({**base, "engine": value, **moves})
            says = f"{ENGINE_SAYS[form, str(value)]}, in four parts of the rows"
            wholes.append(Whole(f"product by {value} in parts", says, design, first=False))
        return tuple(wholes)
