"""The space of Pallas on a TPU: whole-kernel designs to start from, and what makes two designs the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..space import Design, Lever, Place, Whole, start
from .emit import KERNELS, emit
from .levers import F8_DECODES, FP4_DECODES, levers, promising


def space(place: Place) -> TpuSpace | None:
    """The space at the kernel's sizes; None for a kernel that there is no Pallas for."""
    return TpuSpace(place.kernel, place.dimensions) if place.kernel in KERNELS else None


@dataclass(frozen=True)
class TpuSpace:
    """Designs of ``kernel`` at some sizes. What compiles, and how fast it is, depends on the chip; the space does not."""

    kernel: str
    dimensions: Mapping[str, int]

    @cached_property
    def levers(self) -> tuple[Lever, ...]:
        """The levers of the kernel at these sizes."""
        return levers(self.kernel, self.dimensions)

    def emit(self, design: Design, says: str = "") -> str:
        """The whole Pallas source of a design."""
        return emit(self.kernel, design, says)

    def canonical(self, design: Design) -> Design:
        """The order of parts and what comes with them do not matter where there is one part; a decode in the vector unit
        gives its sums in float32."""
        fixed = dict(design)
        if fixed.get("split") == 1:
            fixed["order"] = "rows"
            if fixed.get("input") == "streamed":
                fixed["input"] = "resident"
        if fixed["decode"] == "vector":
            fixed["sum"], fixed["precision"] = "f32", "default"
        return fixed

    def wholes(self) -> tuple[Whole, ...]:
        """A design for each decode."""
        base = start(self)
        says = FP4_DECODES if self.kernel == "decoder_feedforward" else F8_DECODES
        return tuple(
            Whole(f"decode by {name}", text, self.canonical({**base, "decode": name}), first=promising(name))
            for name, text in says.items()
        )
