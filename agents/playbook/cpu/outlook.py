"""What the probes of a chip say of the levers before any design was read: a prior, which readings of designs outweigh.

Three readings decide: the throughput of the instructions that a decode is made of, what software prefetch is worth, and
what a parallel region costs beside the time that the weights take to come. What was not measured changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..space import Place, Value

CLEAR = 1.25
"""A decode is put before a more promising one when it takes so many times fewer nanoseconds: counts are no measurement."""
HOPELESS = 2.5
"""A decode that takes this many times as long as the quickest is not tried before small changes."""
USELESS_PREFETCH = 0.99
"""A benefit below this speaks for leaving prefetch out early on."""
DEAR_REGION = 0.02
"""A region that costs more than this share of the time of streaming the weights makes what threads share worth avoiding."""

Mix = Mapping[str, int]
MIXES: Mapping[tuple[str, str], Mapping[str, Mix]] = {
    ("f8", "avx2"): {
        "bits16": {"simple": 18, "fma": 8},
        "bits32": {"simple": 22, "fma": 8},
        "half": {"simple": 10, "permute": 4, "convert": 8, "fma": 8},
        "table": {"permute": 8, "gather": 8, "fma": 8},
    },
    ("fp4", "avx2"): {
        "planes": {"simple": 16, "permute": 8, "dot": 10, "convert": 1, "fma": 2},
        "int16": {"simple": 23, "permute": 8, "dot": 8, "convert": 1, "fma": 2},
        "half": {"simple": 5, "permute": 16, "convert": 8, "fma": 12},
        "table": {"simple": 8, "permute": 8, "gather": 8, "fma": 12},
    },
}
"""Instructions for 64 weights of one row, by class, counted in the emitters' fragments: what turns codes into numbers and
multiplies them. ``simple`` are shifts, masks and additions, which are taken to be as quick as fma."""


@dataclass(frozen=True)
class Outlook:
    """``nanoseconds`` of throughput by class of instruction; ``prefetch``: how many times faster memory is read with
    software prefetch; ``region``: a parallel region's share of the time of streaming the kernel's weights.
    """

    nanoseconds: Mapping[str, float] = field(default_factory=dict, hash=False)
    prefetch: float | None = None
    region: float | None = None

    @classmethod
    def of(cls, place: Place) -> Outlook:
        """From the valid probes where a space is asked for."""
        probes = place.probes
        known = {
            n.removeprefix("throughput."): 1.0 / v for n, v in probes.items() if n.startswith("throughput.") and v > 0
        }
        return cls(known, probes.get("prefetch.benefit"), _region(place))

    def cost(self, weights: str, dialect: str, decode: str) -> float | None:
        """Nanoseconds of instructions for 64 weights of a row; None where something in it was not counted or measured."""
        mix = MIXES.get((weights, dialect), {}).get(decode)
        if mix is None:
            return None
        each = {**self.nanoseconds, **({"simple": self.nanoseconds["fma"]} if "fma" in self.nanoseconds else {})}
        return sum(n * each[name] for name, n in mix.items()) if mix.keys() <= each.keys() else None

    def decodes(self, weights: str, dialect: str, promising: Sequence[str]) -> tuple[str, ...]:
        """Decodes in order of promise; one that is clearly quicker by its instructions comes before the one ahead of it."""
        order = list(promising)
        costs = {decode: self.cost(weights, dialect, decode) for decode in order}
        for end in range(len(order) - 1, 0, -1):
            for at in range(end):
                ahead, behind = costs[order[at]], costs[order[at + 1]]
                if ahead is not None and behind is not None and ahead > CLEAR * behind:
                    order[at], order[at + 1] = order[at + 1], order[at]
        return tuple(order)

    def words(self, weights: str, dialect: str, decode: str) -> str:
        """What the probes say of a decode, for its rationale; empty where they say nothing."""
        own = self.cost(weights, dialect, decode)
        return "" if own is None else f"; by this chip's probes, {own:.1f} ns of instructions for 64 weights"

    def worth_a_start(self, weights: str, dialect: str, decode: str, others: Sequence[str]) -> bool:
        """Whether a decode is tried before small changes; tables are not where nothing was measured."""
        own = self.cost(weights, dialect, decode)
        known = [cost for other in others if (cost := self.cost(weights, dialect, other)) is not None]
        if own is None or not known:
            return decode != "table"
        return own <= HOPELESS * min(known)

    def prefetches(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Values of the lever ``prefetch``: none comes second where memory is read no faster with it."""
        if self.prefetch is None or self.prefetch >= USELESS_PREFETCH or "off" not in values:
            return tuple(values)
        return (values[0], "off", *(value for value in values[1:] if value != "off"))

    def stagings(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Values of the lever ``staging``: where regions are dear, each thread first does its own, with no barrier."""
        if self.region is None or self.region <= DEAR_REGION or "private" not in values:
            return tuple(values)
        return ("private", *(value for value in values if value != "private"))


NOTHING_MEASURED = Outlook()


def _region(place: Place) -> float | None:
    """What a parallel region costs, as a share of the time of streaming the weights; None where one is not known."""
    size = weight_bytes(place.kernel, place.dimensions)
    known = {
        int(name.rpartition(".")[2]): seconds
        for name, seconds in place.probes.items()
        if name.startswith("region.start.") and name.rpartition(".")[2].isdigit()
    }
    threads = max(known, default=0)
    bandwidth = place.probes.get(f"bandwidth.memory.{threads}", 0.0)
    if not known or not size or bandwidth <= 0:
        return None
    return known[threads] * bandwidth * 1e9 / size


def weight_bytes(kernel: str, dimensions: Mapping[str, int]) -> float | None:
    """Bytes of a kernel's matrices, from its dimensions; None when they do not say."""
    try:
        match kernel:
            case "sliding_attention_output":
                return float(dimensions["HIDDEN"] * dimensions["HEADS"] * dimensions["HEAD_DIM"])
            case "sliding_project_qkv":
                heads = dimensions["HEADS"] + 2 * dimensions["KV_HEADS"]
                return float(dimensions["HIDDEN"] * heads * dimensions["HEAD_DIM"])
            case "decoder_feedforward":
                # Half a byte for each code, and a byte for the scale of each group.
                each = 0.5 + 1 / dimensions["GROUP"]
                return 3 * dimensions["HIDDEN"] * dimensions["INTERMEDIATE"] * each
            case _:
                return None
    except KeyError:
        return None
