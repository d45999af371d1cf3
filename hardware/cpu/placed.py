"""A kernel's weights and inputs in memory: the copies that rotate, the pool of inputs, and the buffers of an arm."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...kernels.oracle import BatchReference, Prediction
from ...kernels.spec import Array, Inputs, KernelSpec
from .layout import (
    CANARY,
    WEIGHT_ALIGNMENT,
    Place,
    Placement,
    Region,
    Slot,
    is_own,
    place_slot,
    place_weights,
)
from .machine import Machine
from .relations import Change, weight_changes

ROTATION_FACTOR = 2.0
"""Weights rotate through copies that together exceed the last-level cache by this factor."""
MEMORY_SHARE = 0.25
"""The part of the host's memory that copies may take."""
MAX_COPIES = 64
"""A kernel so small that this many copies fit the cache is read from the cache, as it would be in use."""
POOL_OPERATIONS = 16e9
"""Arithmetic operations that predicting the results of a whole pool may take, about."""
BATCH = 48
"""Calls whose predictions are computed together."""
POISONS = (0xFF, 0x7F)
"""Bytes that outputs are filled with before a call: NaN in every floating-point format here (0x7f7f.. is a huge number)."""

VERIFY_SLOTS = 6
"""Slots of a verification that use the copies which rotate; slots for changed weights come after them."""

_PLACEMENTS: tuple[Placement, ...] = ("end", "start", "odd")


def copies_needed(spec: KernelSpec, machine: Machine) -> int:
    """How many copies of the weights rotate."""
    streamed = spec.streamed_bytes or sum(a.bytes for a in spec.arguments if a.role == "weight")
    whole = sum(a.bytes for a in spec.arguments if not is_own(a))
    if streamed == 0 or whole == 0:
        return 1
    wanted = math.ceil(ROTATION_FACTOR * machine.llc_bytes / streamed)
    return max(2, min(wanted, MAX_COPIES, int(MEMORY_SHARE * machine.memory_bytes / whole)))


@dataclass
class Weights:
    """All copies of the weights in one sealed memory file, and what predicts calls that use them.

    ``places`` are the copies that rotate, and after them one for each of ``changes``: weights as a metamorphic relation
    changes them. ``drawn`` is copy 0.
    """

    region: Region
    places: list[dict[str, Place]]
    reference: BatchReference
    drawn: Inputs
    changes: tuple[Change, ...] = ()

    @property
    def copies(self) -> int:
        """How many copies rotate."""
        return len(self.places) - len(self.changes)


def lay_weights(
    spec: KernelSpec, copies: int, seed: np.random.SeedSequence, relations_seed: np.random.SeedSequence | None = None
) -> Weights:
    """Draw weights and lay ``copies`` of them into sealed memory.

    With ``relations_seed``, which draws inputs, the weights of the spec's metamorphic relations are laid as well.
    """
    drawn = spec.draw_weights(np.random.default_rng(seed))
    changes: list[Change] = []
    if relations_seed is not None and spec.relations:
        sample = spec.draw_activations(np.random.default_rng(relations_seed), spec.families[0])
        changes = weight_changes(spec, {**drawn, **sample})
    region = Region("weights", huge=True)
    places = place_weights(region, spec, copies)
    for change in changes:
        own = {name: region.place(spec.argument(name).bytes, WEIGHT_ALIGNMENT, "end", False) for name in change.weights}
        places.append({**places[0], **own})
    region.map()
    done: set[int] = set()
    for copy, where in enumerate(places):
        varied = spec.vary(drawn, copy) if copy < copies else changes[copy - copies].weights
        for name, place in where.items():
            if place.offset not in done:
                done.add(place.offset)
                region.view(place)[:] = raw(varied[name])
    region.seal()
    return Weights(region, places, BatchReference(spec, drawn), drawn, tuple(change.laid() for change in changes))


def raw(values: Array) -> Array:
    """The bytes of an array (uint8, one axis)."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def outputs_only(spec: KernelSpec) -> frozenset[str]:
    """Names of the arguments that have no value before a call."""
    return frozenset(a.name for a in spec.arguments if a.direction == "out")


class Buffers:
    """The own arguments of a number of slots, shared with one worker at a time."""

    def __init__(self, spec: KernelSpec, region: Region, slots: Sequence[Slot]) -> None:
        self.spec = spec
        self.region = region
        self.slots = list(slots)
        region.map()
        self.clean_slack()
        self._views = [
            {
                name: region.view(place).view(spec.argument(name).storage).reshape(spec.argument(name).shape)
                for name, place in slot.own.items()
            }
            for slot in slots
        ]

    def write(self, slot: int, inputs: Inputs, skip: frozenset[str] = frozenset(), poison: int = POISONS[0]) -> None:
        """Put inputs into a slot and poison into what is only written. Arguments in ``skip`` are left as they are."""
        for argument in self.spec.arguments:
            if not is_own(argument) or argument.name in skip:
                continue
            view = self.region.view(self.slots[slot].own[argument.name])
            if argument.direction == "out":
                view[:] = poison
            else:
                view[:] = raw(inputs[argument.name])

    def outputs(self, slot: int) -> dict[str, Array]:
        """Views of every argument that the kernel writes."""
        return {a.name: self._views[slot][a.name] for a in self.spec.outputs}

    def view(self, slot: int, name: str) -> Array:
        """A view of one argument, in its dtype and shape."""
        return self._views[slot][name]

    def raw_outputs(self, slot: int) -> dict[str, bytes]:
        """A copy of the bits of every output."""
        return {a.name: self.region.view(self.slots[slot].own[a.name]).tobytes() for a in self.spec.outputs}

    def modified_input(self, slot: int, inputs: Inputs) -> str:
        """The name of an ``in`` argument that is not as it was written; an empty string when all are."""
        for argument in self.spec.arguments:
            if is_own(argument) and argument.direction == "in":
                view = self.region.view(self.slots[slot].own[argument.name])
                if not np.array_equal(view, raw(inputs[argument.name])):
                    return argument.name
        return ""

    def spilled(self, slot: int) -> str:
        """The name of an argument beside which a page was written; an empty string when there is none."""
        for argument in self.spec.outputs:
            for part in self.region.slack(self.slots[slot].own[argument.name]):
                if part.size and not (part == CANARY).all():
                    return argument.name
        return ""

    def clean_slack(self) -> None:
        """Put back what a design wrote beside its arguments."""
        for slot in self.slots:
            for argument in self.spec.outputs:
                for part in self.region.slack(slot.own[argument.name]):
                    part[:] = CANARY

    def close(self) -> None:
        """Give the memory back."""
        self._views.clear()
        self.region.close()


def reading_slots(spec: KernelSpec, copies: int, calls: int) -> tuple[Region, list[Slot]]:
    """Slots for a reading of ``calls`` calls and the untimed one: a multiple of the copies, so that slots rotate too."""
    region = Region("arguments", huge=True)
    count = math.ceil((calls + 1) / copies) * copies
    return region, [place_slot(region, spec, number % copies, "end") for number in range(count)]


def verify_slots(
    spec: KernelSpec, copies: int, seed: np.random.SeedSequence, changed: int = 0
) -> tuple[Region, list[Slot]]:
    """Six slots, each placement twice, with changing copies (the first has copy 0) and random odd addresses; after them
    one for each of ``changed`` sets of weights that lie behind the copies."""
    rng = np.random.default_rng(seed)
    region = Region("arguments", huge=True)
    slots = []
    for number, placement in enumerate((*_PLACEMENTS, *_PLACEMENTS)):
        shift = 1 + 2 * int(rng.integers(0, 15))
        slots.append(place_slot(region, spec, (number + number // 3) % copies, placement, shift))
    slots += [place_slot(region, spec, copies + number, "end") for number in range(changed)]
    return region, slots


@dataclass
class Pool:
    """Inputs of the ordinary family with what each must give on each copy. ``state`` holds the state of each copy.

    A process never gets the same combination of copy and inputs twice, so that an answer kept from an earlier call is of
    no use to it.
    """

    spec: KernelSpec
    inputs: list[dict[str, Array]]
    state: list[dict[str, Array]]
    reference: BatchReference
    known: dict[tuple[int, int], Prediction] = field(default_factory=dict)

    def call(self, copy: int, number: int) -> Inputs:
        """Inputs of a call: activations ``number``, state of the copy."""
        return {**self.inputs[number], **self.state[copy]}

    def predict(self, wanted: Sequence[tuple[int, int]]) -> list[Prediction]:
        """Predictions for (copy, number); computed in one batch for those not yet known."""
        missing = [key for key in dict.fromkeys(wanted) if key not in self.known]
        if missing:
            # A batch costs little more than one call, so that others are computed along with what is wanted.
            others = itertools.product(range(len(self.state)), range(len(self.inputs)))
            ahead = (key for key in others if key not in self.known and key not in missing)
            missing += itertools.islice(ahead, max(0, BATCH - len(missing)))
            calls = [(copy, self.call(copy, number)) for copy, number in missing]
            self.known.update(zip(missing, self.reference.predict(calls), strict=True))
        return [self.known[key] for key in wanted]


def pool_size(spec: KernelSpec, copies: int, limit: int) -> int:
    """How many inputs a pool holds: up to ``limit``, less where predicting their results on all copies would take long."""
    multiplied = sum(a.bytes * (2 if a.dtype == "f4e2m1x2" else 1) for a in spec.arguments if a.role == "weight")
    return max(8, min(limit, int(POOL_OPERATIONS / (2 * multiplied * copies + 1))))


def draw_pool(spec: KernelSpec, weights: Weights, count: int, seed: np.random.SeedSequence) -> Pool:
    """Draw ``count`` inputs and a state for each copy."""
    rng = np.random.default_rng(seed)
    unset = outputs_only(spec)
    states = {a.name for a in spec.arguments if a.role == "state"}
    state: list[dict[str, Array]] = []
    inputs: list[dict[str, Array]] = []
    for _ in range(max(count, weights.copies if states else 0)):
        drawn = spec.draw_activations(rng, spec.families[0])
        if len(state) < weights.copies:  # a state can be large: no more are kept than are used
            state.append({name: drawn[name] for name in states})
        inputs.append({n: v for n, v in drawn.items() if n not in states and n not in unset})
    if not states:
        state = [{} for _ in range(weights.copies)]
    del inputs[count:]
    return Pool(spec, inputs, state, weights.reference)
