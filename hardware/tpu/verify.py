"""Is a design right? The trace that was compiled is interpreted on fresh inputs of every family, on changed inputs for the
kernel's relations, once more for equal bits, and once watched for races; expected values never leave this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...kernels.metamorphic import broken_relations
from ...kernels.oracle import BatchReference, Prediction, judge
from ...kernels.spec import Array, Inputs, KernelSpec, Relation
from ..outcome import Outcome
from ..target import Build, CheckReport, TargetError
from .build import request
from .contract import inputs as taken
from .estimate import kept
from .inside import wire
from .workshop import Answer, Workshop

SEEDS = 1
"""How often every family is drawn: interpreting a kernel takes long, and every case is compared in full."""
VALUES_SECONDS = 3600.0
"""Wall-clock limit of all cases of one design together. A kernel of a thousand steps takes a minute for a call; one that
never ends does not come here, since its timeline does not end either."""
RELATION_STEPS = 400
"""Relations are checked of kernels with up to so many steps of their grids: they repeat what the reference says."""


@dataclass
class Spool:
    """Arrays in files that a candidate's process may read, each written once."""

    folder: Path
    inside: Path
    count: int = 0

    def place(self, values: Array, dtype: str) -> list[object]:
        """Write an array; where it lies, as a candidate is told. Raises TargetError when there is no room."""
        name = f"{self.count}.bin"
        self.count += 1
        try:
            with (self.folder / name).open("wb") as file:
                file.write(np.ascontiguousarray(values).tobytes())
        except OSError as error:
            raise TargetError(f"inputs cannot be written to {self.folder}: {error.strerror}") from error
        return [str(self.inside / name), dtype, list(values.shape), 0]

    def clear(self) -> None:
        """Delete every file."""
        for path in self.folder.iterdir():
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Case:
    """One call to be made: what it is for, its inputs, and the prediction where there is one."""

    name: str
    inputs: Inputs
    prediction: Prediction | None
    races: bool = False


@dataclass(frozen=True)
class Bound:
    """Relations with their changed inputs made, so that the same arrays are run and looked up."""

    relation: Relation
    changed: Inputs


def bind_relations(spec: KernelSpec, inputs: Inputs) -> list[Bound]:
    """The relations of a spec that apply to complete ``inputs``."""
    made = [(relation, relation.change(inputs)) for relation in spec.relations]
    return [Bound(relation, changed) for relation, changed in made if changed is not None]


def outputs_of(spec: KernelSpec, header: wire.Header, blob: bytes) -> dict[str, Array] | None:
    """The outputs in an answer, in their declared types and shapes; None for an answer of another length."""
    if [a.bytes for a in spec.outputs] != header.get("lengths"):
        return None
    found: dict[str, Array] = {}
    at = 0
    for argument in spec.outputs:
        part = np.frombuffer(blob[at : at + argument.bytes], dtype=argument.storage)
        found[argument.name] = part.reshape(argument.shape).copy()
        at += argument.bytes
    return found


class Verifier:
    """Draws cases, has them interpreted, and compares."""

    def __init__(self, shop: Workshop, spec: KernelSpec, weights: Inputs) -> None:
        self.shop, self.spec, self.weights = shop, spec, weights
        self.reference = BatchReference(spec, weights)

    def cases(self, seed: int, quick: bool = False) -> list[Case]:
        """What is run, from ``seed``: the first family watched for races, then it again and the other families.

        ``quick``: one of the others, which the seed chooses.
        """
        rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
        unset = {argument.name for argument in self.spec.arguments if argument.direction == "out"}
        drawn: list[tuple[str, dict[str, Array]]] = []
        first, *others = self.spec.families
        if quick and others:
            others = [others[int(rng.integers(len(others)))]]
        for _ in range(SEEDS):
            for family in (first, *others):
                values = self.spec.draw_activations(rng, family)
                drawn.append((f"family {family}", {n: v for n, v in values.items() if n not in unset}))
        predictions = self.reference.predict([(0, inputs) for _, inputs in drawn])
        made = [Case(name, inputs, p) for (name, inputs), p in zip(drawn, predictions, strict=True)]
        return [replace(made[0], races=True), *made]

    def run(self, build: Build, seed: int, quick: bool = False) -> CheckReport:
        """Verify one design on inputs drawn from ``seed``; ``quick`` on two families, without the relations."""
        start = time.perf_counter()
        if build.path is None:
            return CheckReport(Outcome.LOAD_FAILED, "the build is not kept any more", 0.0)
        source = build.path.with_name("source.py").read_bytes().decode(errors="surrogateescape")
        cases = self.cases(seed, quick)
        summary = kept(build)
        few = summary is not None and sum(part.steps for part in summary.parts) <= RELATION_STEPS and not quick
        bound = bind_relations(self.spec, {**self.weights, **cases[0].inputs}) if few else []
        calls = [*cases, *(Case(f"relation {each.relation.name}", each.changed, None) for each in bound)]
        with self.shop.lock:
            try:
                answer = self._ask(build, source, calls)
            finally:
                Spool(self.shop.spool, self.shop.inside).clear()
        outputs = [outputs_of(self.spec, header, blob) for header, blob in answer.frames if "case" in header]
        report = self._judge(cases, bound, outputs, answer)
        if report.ok and quick:
            names = " and ".join(sorted({case.name for case in cases}, key=len))
            report = replace(report, reason=f"right on {names}, interpreted; on the others only once it is the best")
        return CheckReport(report.outcome, report.reason, time.perf_counter() - start, report.details)

    def _ask(self, build: Build, source: str, calls: Sequence[Case]) -> Answer:
        spool = Spool(self.shop.spool, self.shop.inside)
        types = {argument.name: argument.dtype for argument in self.spec.arguments}
        order = [argument.name for argument in taken(self.spec)]
        held = {name: spool.place(values, types[name]) for name, values in self.weights.items() if name in order}
        listed = []
        for case in calls:
            own = {n: v for n, v in case.inputs.items() if n in order and v is not self.weights.get(n)}
            placed = {name: spool.place(values, types[name]) for name, values in own.items()}
            listed.append({"inputs": placed, "races": case.races})
        header = request(self.spec, source, self.shop.chip, "values", VALUES_SECONDS)
        return self.shop.ask_candidate(
            {**header, "digest": build.artifact, "held": held, "cases": listed, "order": order}
        )

    def _judge(
        self,
        cases: Sequence[Case],
        bound: Sequence[Bound],
        outputs: Sequence[dict[str, Array] | None],
        answer: Answer,
    ) -> CheckReport:
        worst = 0.0
        for case, got in zip(cases, outputs, strict=False):
            if got is None:
                return CheckReport(Outcome.CRASHED, f"{case.name}: an answer of another length", 0.0)
            assert case.prediction is not None
            found = judge(self.spec, case.prediction, case.inputs, got)
            worst = max(worst, found.worst_ratio)
            if not found.ok:
                where = f"{found.argument}[{', '.join(map(str, found.index))}]"
                text = f"{where} is {found.got:.6g}, expected {found.expected:.6g} within {found.bound:.3g}"
                details = {"worst_ratio": found.worst_ratio}
                return CheckReport(Outcome(found.kind), f"{case.name}: {text}: {found.reason}", 0.0, details)
        if answer.outcome is not Outcome.OK:
            number = len(outputs)
            names = [*(case.name for case in cases), *(each.relation.name for each in bound)]
            where = names[number] if number < len(names) else "at its end"
            return CheckReport(answer.outcome, f"{where}: {answer.text}", 0.0, {"worst_ratio": worst})
        if len(outputs) != len(cases) + len(bound):
            return CheckReport(Outcome.CRASHED, f"{len(outputs)} answers to {len(cases) + len(bound)} calls", 0.0)
        whole = [got for got in outputs if got is not None]
        if any(whole[0][name].tobytes() != whole[1][name].tobytes() for name in whole[1]):
            return CheckReport(Outcome.NOT_REPEATABLE, "two calls with the same inputs gave other bits", 0.0)
        return self._relations(cases, bound, whole, worst)

    def _relations(
        self, cases: Sequence[Case], bound: Sequence[Bound], outputs: Sequence[Mapping[str, Array]], worst: float
    ) -> CheckReport:
        complete = {**self.weights, **cases[1].inputs}
        known = {id(each.changed): got for each, got in zip(bound, outputs[len(cases) :], strict=True)}
        fixed = tuple(replace(each.relation, change=_giving(each)) for each in bound)
        broken = broken_relations(
            replace(self.spec, relations=fixed), lambda inputs: known.get(id(inputs), outputs[1]), complete
        )
        if broken:
            first = broken[0]
            text = f"relation {first.relation!r}: {first.argument}{list(first.index)} is {first.got:.6g}, not"
            return CheckReport(Outcome.WRONG_VALUE, f"{text} {first.predicted:.6g}", 0.0, {"worst_ratio": worst})
        details = {"worst_ratio": worst, "calls": len(outputs)}
        return CheckReport(Outcome.OK, "right on every family, interpreted", 0.0, details)


def _giving(bound: Bound) -> Callable[[Inputs], Inputs]:
    return lambda _inputs: bound.changed
