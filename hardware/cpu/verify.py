"""Is a design right? Fresh inputs of every family, several placements, the same bits when asked again, the relations
that the kernel's spec declares, and many calls without a look."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...kernels.oracle import Prediction, judge
from ...kernels.spec import Array, Inputs, KernelSpec
from ..outcome import Outcome
from ..target import Build, CheckReport
from .faults import ending, load_outcome
from .loading import Loader
from .placed import POISONS, VERIFY_SLOTS, Buffers, outputs_only, raw
from .protocol import Status
from .relations import first_broken
from .workers import Conductor, LoadError, Worker

SEEDS = 2
"""How often every family is drawn."""
SOAK_CALLS = 96
SOAK_SECONDS = 0.25
"""After the families, so many calls without a look, or for so long; then one more that is checked. What a design does in
calls that nobody looks at is not known: this bounds how long it would have to behave."""
_SOAK_BATCH = 8


@dataclass(frozen=True)
class Verdict:
    """What the checks of one call say: ``ok``, or an outcome and its reason. ``worst_ratio``: error over bound."""

    outcome: Outcome
    reason: str
    worst_ratio: float = 0.0


def poisoned(spec: KernelSpec, prediction: Prediction, outputs: Inputs, poison: int) -> str:
    """The name of an ``out`` argument that still holds nothing but poison somewhere it should not; empty when none does."""
    for argument in spec.outputs:
        if argument.direction == "out":
            written = np.ascontiguousarray(outputs[argument.name][prediction.regions[argument.name]])
            items = written.reshape(-1).view(np.uint8).reshape(-1, argument.storage.itemsize)
            if argument.storage.kind != "i" and argument.storage.itemsize > 1 and (items == poison).all(axis=1).any():
                return argument.name
    return ""


def check_call(
    spec: KernelSpec, buffers: Buffers, slot: int, prediction: Prediction, before: Inputs, poison: int
) -> Verdict:
    """Everything that one call must have left behind in its slot."""
    name = buffers.modified_input(slot, before)
    if name:
        return Verdict(Outcome.INPUT_MODIFIED, f"{name} was changed")
    name = buffers.spilled(slot)
    if name:
        return Verdict(Outcome.OUT_OF_BOUNDS, f"memory beside {name} was written")
    outputs = buffers.outputs(slot)
    name = poisoned(spec, prediction, outputs, poison)
    if name:
        return Verdict(Outcome.WRONG_VALUE, f"{name} was not written completely")
    found = judge(spec, prediction, before, outputs)
    if found.ok:
        return Verdict(Outcome.OK, "", found.worst_ratio)
    where = f"{found.argument}[{', '.join(map(str, found.index))}]"
    text = f"{where} is {found.got:.6g}, expected {found.expected:.6g} within {found.bound:.3g}: {found.reason}"
    return Verdict(Outcome(found.kind), text, found.worst_ratio)


class _StoppedError(Exception):
    """A call of a relation did not come to a good end."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.reason)
        self.verdict = verdict


@dataclass
class Verifier:
    """Runs the checks on slots of its own."""

    loader: Loader
    conductor: Conductor
    buffers: Buffers
    call_seconds: float

    def run(self, build: Build, seed: int, number: int) -> CheckReport:
        """Verify one design on inputs drawn from ``seed``, in place ``number`` of the conductor."""
        start = time.perf_counter()
        spec = self.loader.spec
        rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
        unset = outputs_only(spec)
        cases: list[tuple[str, int, dict[str, Array]]] = []
        for turn in range(SEEDS):
            for index, family in enumerate(spec.families):
                drawn = {n: v for n, v in spec.draw_activations(rng, family).items() if n not in unset}
                cases.append((family, (index + turn) % VERIFY_SLOTS, drawn))
        calls = [(self.buffers.slots[slot].copy, inputs) for _, slot, inputs in cases]
        predictions = self.loader.weights.reference.predict(calls)
        drawn_seconds = time.perf_counter() - start
        try:
            worker = self.loader.load(self.loader.design(build), self.buffers)
        except LoadError as failure:
            return CheckReport(load_outcome(failure), str(failure), time.perf_counter() - start)
        try:
            self.conductor.add(number, worker)
            report = self._cases(worker, number, cases, predictions)
        finally:
            worker.close()
            self.buffers.clean_slack()
            self.conductor.drop(number)
        details = {**report.details, "reference_seconds": drawn_seconds}
        return CheckReport(report.outcome, report.reason, time.perf_counter() - start, details)

    def _cases(
        self,
        worker: Worker,
        number: int,
        cases: Sequence[tuple[str, int, dict[str, Array]]],
        predictions: Sequence[Prediction],
    ) -> CheckReport:
        worst = 0.0
        spec = self.loader.spec
        for case, prediction in zip(cases, predictions, strict=True):
            family, slot, inputs = case
            for again, poison in enumerate(POISONS):
                self.buffers.write(slot, inputs, poison=poison)
                verdict = self._call(worker, number, slot)
                if verdict is None:
                    verdict = check_call(spec, self.buffers, slot, prediction, inputs, poison)
                if verdict.outcome is not Outcome.OK:
                    where = f"family {family}, {'second' if again else 'first'} call: "
                    return CheckReport(
                        verdict.outcome, where + verdict.reason, 0.0, {"worst_ratio": verdict.worst_ratio}
                    )
                worst = max(worst, verdict.worst_ratio)
                bits = {n: raw(v) for n, v in self.buffers.outputs(slot).items()} if again else None
                if bits is None:
                    first = self.buffers.raw_outputs(slot)
                elif any(bits[n].tobytes() != first[n] for n in bits):
                    reason = f"family {family}: two calls with the same inputs gave other bits"
                    return CheckReport(Outcome.NOT_REPEATABLE, reason, 0.0, {"worst_ratio": worst})
        verdict, held = self._relations(worker, number, cases[0][2])
        if verdict.outcome is not Outcome.OK:
            return CheckReport(verdict.outcome, verdict.reason, 0.0, {"worst_ratio": worst})
        verdict, calls = self._soak(worker, number, cases[0], predictions[0])
        if verdict.outcome is not Outcome.OK:
            where = f"after {calls} more calls: "
            return CheckReport(verdict.outcome, where + verdict.reason, 0.0, {"worst_ratio": verdict.worst_ratio})
        details = {"worst_ratio": worst, "calls": 2 * len(cases) + held + calls + 1}
        return CheckReport(Outcome.OK, "right on every family", 0.0, details)

    def _relations(self, worker: Worker, number: int, inputs: dict[str, Array]) -> tuple[Verdict, int]:
        """One input for each metamorphic relation of the spec; the verdict and how many calls there were."""
        spec, weights = self.loader.spec, self.loader.weights
        calls = 0

        def at(slot: int) -> Callable[[Inputs], Inputs]:
            def run(given: Inputs) -> Inputs:
                nonlocal calls
                calls += 1
                self.buffers.write(slot, given)
                verdict = self._call(worker, number, slot)
                if verdict is not None:
                    raise _StoppedError(verdict)
                return {name: values.copy() for name, values in self.buffers.outputs(slot).items()}

            return run

        changed = [at(VERIFY_SLOTS + index) for index in range(len(weights.changes))]
        try:
            broken = first_broken(spec, at(0), {**weights.drawn, **inputs}, weights.changes, changed)
        except _StoppedError as stopped:
            return Verdict(stopped.verdict.outcome, f"in a relation's call: {stopped.verdict.reason}"), calls
        if broken is None:
            return Verdict(Outcome.OK, ""), calls
        where = f"{broken.argument}[{', '.join(map(str, broken.index))}]"
        reason = f"relation {broken.relation!r}: {where} is {broken.got:.6g}, and should be {broken.predicted:.6g}"
        return Verdict(Outcome.WRONG_VALUE, reason), calls

    def _soak(
        self, worker: Worker, number: int, case: tuple[str, int, dict[str, Array]], prediction: Prediction
    ) -> tuple[Verdict, int]:
        """Many calls, then one that is checked; the verdict and how many there were."""
        _, slot, inputs = case
        spec, calls = self.loader.spec, 0
        begun = time.perf_counter()
        while calls < SOAK_CALLS and time.perf_counter() - begun < SOAK_SECONDS:
            self.buffers.write(slot, inputs)
            verdict = self._call(worker, number, slot, _SOAK_BATCH)
            calls += _SOAK_BATCH
            if verdict is not None:
                return verdict, calls
        self.buffers.write(slot, inputs)
        verdict = self._call(worker, number, slot) or check_call(
            spec, self.buffers, slot, prediction, inputs, POISONS[0]
        )
        return verdict, calls

    def _call(self, worker: Worker, number: int, slot: int, calls: int = 1) -> Verdict | None:
        reading = self.conductor.read(number, slot, 0, calls, self.call_seconds * calls)
        if reading.status is not Status.OK:
            found = ending(reading, worker, self.loader.weights.places, self.buffers.slots, self.call_seconds)
            return Verdict(*found)
        return side_effect(worker, reading.threads, self.loader.threads)


def side_effect(worker: Worker, threads: int, expected_threads: int) -> Verdict | None:
    """Whether a batch left its process changed."""
    if worker.control().changed:
        return Verdict(Outcome.SIDE_EFFECT, "the floating-point control state was left changed")
    if threads > expected_threads:
        return Verdict(Outcome.SIDE_EFFECT, f"{threads} threads were left; there may be {expected_threads}")
    return None
