"""The space of C on a CPU: one dialect, whole-kernel designs to start from, and what makes two designs the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..space import Design, Lever, Place, Value, Whole, start
from .emit import emit
from .isa import Isa, from_macros
from .levers import DECODE_SAYS, KERNELS, levers, weight_format
from .outlook import NOTHING_MEASURED, Outlook


def space(place: Place) -> CpuSpace | None:
    """The space in the dialect that the compiler's macros allow; None for a kernel that there is no C for."""
    if place.kernel not in KERNELS:
        return None
    return CpuSpace(place.kernel, from_macros(place.macros), Outlook.of(place))


@dataclass(frozen=True)
class CpuSpace:
    """Designs of ``kernel`` written in the dialect of ``isa``; ``outlook`` is what the chip's probes say of them."""

    kernel: str
    isa: Isa
    outlook: Outlook = NOTHING_MEASURED

    @property
    def levers(self) -> tuple[Lever, ...]:
        """The levers of the kernel in this dialect."""
        return levers(self.kernel, self.isa, self.outlook)

    def emit(self, design: Design, says: str = "") -> str:
        """The whole C source of a design."""
        return emit(self.kernel, self.isa, design, says)

    def canonical(self, design: Design) -> Design:
        """Hints without prefetches, grains without blocks and the like take one value for all."""
        fixed = dict(design)
        if fixed.get("prefetch") == "off" and fixed.get("scale_prefetch", "off") == "off":
            fixed["hint"] = "l2"
        if fixed.get("epilogue") == "head":
            fixed["grain"] = 128
        if fixed.get("pairing") == "fused" and fixed["rows"] == 1:
            fixed["pairing"] = "separate"
        if fixed["rows"] == 1 and fixed.get("down_rows", 1) == 1:
            fixed["order"] = "spread"
        return fixed

    def wholes(self) -> tuple[Whole, ...]:
        """A design for each decode, then two other orders of the rows."""
        base = start(self)
        decode = next(lever for lever in self.levers if lever.name == "decode")
        wholes = []
        for value in decode.values:
            weights = weight_format(self.kernel)
            says = DECODE_SAYS[weights, str(value)] + self.outlook.words(weights, self.isa.dialect, str(value))
            design = self.canonical({**base, "decode": value})
            first = self.outlook.worth_a_start(
                weights, self.isa.dialect, str(value), [str(each) for each in decode.values]
            )
            wholes.append(Whole(f"decode by {value}", says, design, first=first))
        rows_alone = {"rows": 1, "accumulators": 4, **({"down_rows": 1} if "down_rows" in base else {})}
        structures: tuple[tuple[str, str, Mapping[str, Value]], ...] = (
            (
                "neighbouring rows",
                "rows in flight are neighbours, and lines are asked for one group of rows ahead",
                {"order": "adjacent", "prefetch": "next"},
            ),
            ("one row at a time", "a single stream of weights, with four sums to keep the FMAs apart", rows_alone),
        )
        for title, says, moves in structures:
            wholes.append(Whole(title, says, self.canonical({**base, **moves}), first=False))
        return tuple(wholes)
