"""Check a claim on the toolchain that is installed: review, build, run, as its expectation asks."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..events.knowledge import CheckOutcome
from ..hardware.concerns import Concern
from ..hardware.outcome import Outcome
from ..hardware.study import Estimates, SnippetHost, TriesSnippets
from ..hardware.target import Build, CheckReport, Target
from ..kernels.spec import Expected, Inputs, KernelSpec
from .diagnostics import RUN_TIME, is_about_machine, normalized
from .expectation import Expectation, compile_expression, parse_cost

COST_READINGS = 9
"""Pairs read for a claim about cost; the median of their ratios is compared with the bounds."""
COST_CALLS = 4
SLACK_ROUNDINGS = 64
"""How many roundings of f32 a snippet's value may be off by, beyond what the same expression in f32 is."""


@dataclass(frozen=True)
class Checked:
    """What a check found. ``concern`` says which parts of the toolchain it rests on; ``log`` is what the tools said."""

    outcome: CheckOutcome
    reason: str
    concern: Concern
    seconds: float
    log: str = ""


def check_claim(
    target: Target, snippet: str, expectation: Expectation, others: Mapping[str, str], seed: int
) -> Checked:
    """Check a snippet. ``others`` are the document's other snippets by name, for claims about cost.

    ``seed`` draws the inputs. Raises TargetError when the machine is unfit.
    """
    begun = time.perf_counter()
    if not isinstance(target, TriesSnippets):
        return Checked("unable", f"target {target.name} does not try snippets", "compile", 0.0)
    check = {"builds": _builds, "refused": _refused, "yields": _yields, "costs": _costs}[expectation.kind]
    found = check(_Trial(target, target, seed), snippet, expectation, others)
    return dataclasses.replace(found, seconds=time.perf_counter() - begun)


@dataclass(frozen=True)
class _Tried:
    """What became of one reading of a snippet; ``build`` is None where review refused it."""

    report: CheckReport
    build: Build | None

    @property
    def ok(self) -> bool:
        return self.report.ok and self.build is not None and self.build.ok

    @property
    def outcome(self) -> Outcome:
        return self.report.outcome if self.build is None else self.build.outcome

    @property
    def said(self) -> str:
        return self.report.reason if self.build is None else self.build.diagnostics


@dataclass(frozen=True)
class _Trial:
    target: Target
    host: TriesSnippets
    seed: int

    def spec(self) -> SnippetHost:
        return self.host.snippets()

    def all(self, snippet: str) -> list[_Tried]:
        """Every way to read the snippet, up to the first that builds."""
        tried: list[_Tried] = []
        for source in self.host.complete(snippet):
            report = self.target.review(self.spec().spec, source)
            build = self.target.build(self.spec().spec, source) if report.ok else None
            tried.append(_Tried(report, build))
            if tried[-1].ok:
                break
        return tried


def _builds(trial: _Trial, snippet: str, _expectation: Expectation, _others: Mapping[str, str]) -> Checked:
    tried = trial.all(snippet)
    if any(each.ok for each in tried):
        return Checked("held", "it builds", "compile", 0.0, _said(tried))
    return _unable(tried) or Checked(
        "failed", f"{tried[0].outcome}: {first_line(tried[0].said)}", "compile", 0.0, _said(tried)
    )


def _refused(trial: _Trial, snippet: str, expectation: Expectation, _others: Mapping[str, str]) -> Checked:
    tried = trial.all(snippet)
    if any(each.ok for each in tried):
        return Checked("failed", "it is not refused: it builds", "compile", 0.0, _said(tried))
    unable = _unable(tried)
    if unable is not None:
        return unable
    wanted = normalized(expectation.text)
    matching = [each for each in tried if wanted in normalized(each.said)]
    if not matching:
        reason = f"it is refused, but not with {expectation.text!r}: {first_line(tried[0].said)}"
        return Checked("failed", reason, "compile", 0.0, _said(tried))
    return Checked("held", f"it is refused: {first_line(matching[0].said)}", "compile", 0.0, _said(tried))


def _yields(trial: _Trial, snippet: str, expectation: Expectation, _others: Mapping[str, str]) -> Checked:
    spec = yielding(trial.spec().spec, expectation.text)
    tried = trial.all(snippet)
    built = next((each.build for each in tried if each.ok), None)
    if built is None:
        unable = _unable(tried)
        return unable or Checked(
            "failed", f"it does not build: {first_line(tried[0].said)}", "value", 0.0, _said(tried)
        )
    with trial.target.open(spec, trial.seed) as bench:
        report = bench.verify(built, trial.seed + 1)
    if report.ok:
        return Checked("held", f"it yields {expectation.text}", "value", 0.0)
    if report.outcome in (Outcome.NO_DEVICE, Outcome.NO_VALUES):
        return Checked("unable", report.reason, "value", 0.0)
    return Checked("failed", f"{report.outcome}: {report.reason}", "value", 0.0)


def _costs(trial: _Trial, snippet: str, expectation: Expectation, others: Mapping[str, str]) -> Checked:
    low, high, name = parse_cost(expectation.text)
    if name not in others:
        return Checked("unable", f"the document has no snippet called {name}", "code", 0.0)
    builds: list[Build] = []
    for text in (others[name], snippet):
        tried = trial.all(text)
        built = next((each.build for each in tried if each.ok), None)
        if built is None:
            return Checked("failed", f"it does not build: {first_line(tried[0].said)}", "code", 0.0, _said(tried))
        builds.append(built)
    if not trial.target.has_device:
        return _costs_by_estimate(trial, builds, (low, high), name)
    with (
        trial.target.open(trial.spec().spec, trial.seed) as bench,
        bench.pair(builds[0], builds[1], trial.seed) as session,
    ):
        orders = np.random.default_rng(trial.seed).integers(0, 2, COST_READINGS)
        taken = session.read(["BC" if coin else "CB" for coin in orders], COST_CALLS)
    if taken.outcome is not Outcome.OK:
        outcome: CheckOutcome = "unable" if taken.outcome is Outcome.NO_DEVICE else "failed"
        return Checked(outcome, f"{taken.outcome}: {taken.reason}", "code", 0.0)
    ratio = float(np.median([pair.candidate_seconds / pair.best_seconds for pair in taken.pairs]))
    text = f"{ratio:.2f} times the time of {name}, said to be {low:g} to {high:g}"
    return Checked("held" if low <= ratio <= high else "failed", text, "code", 0.0)


def _costs_by_estimate(trial: _Trial, builds: Sequence[Build], bounds: tuple[float, float], name: str) -> Checked:
    """Without a device a cost is what the target predicts it to be."""
    unable = Checked("unable", "there is no device, and no estimate of both snippets", "code", 0.0)
    if not isinstance(trial.target, Estimates):
        return unable
    spec = trial.spec().spec
    before, after = (trial.target.estimate(spec, build, {}) for build in builds)
    if before is None or after is None or before.seconds <= 0:
        return unable
    ratio, (low, high) = after.seconds / before.seconds, bounds
    text = f"by estimate {ratio:.2f} times the time of {name}, said to be {low:g} to {high:g}"
    return Checked("held" if low <= ratio <= high else "failed", text, "code", 0.0)


def yielding(host: KernelSpec, expression: str) -> KernelSpec:
    """The host's kernel with ``expression`` as what its output must hold."""
    evaluate = compile_expression(expression)
    output = host.outputs[0].name

    def reference(dtype: Any) -> Callable[[Inputs], Expected]:
        return lambda inputs: {output: evaluate(inputs["x"], dtype)}

    def slack(inputs: Inputs) -> Expected:
        size = np.abs(evaluate(inputs["x"], np.float64))
        return {output: SLACK_ROUNDINGS * np.finfo(np.float32).eps * size}

    return dataclasses.replace(
        host, reference=reference(np.float64), rounded=reference(np.float32), slack=slack, prepare=None, relations=()
    )


def _unable(tried: Sequence[_Tried]) -> Checked | None:
    for each in tried:
        if each.outcome is Outcome.BUILD_HUNG or each.outcome in RUN_TIME or is_about_machine(each.said):
            return Checked("unable", f"{each.outcome}: {first_line(each.said)}", "compile", 0.0, each.said)
    return None


def _said(tried: Sequence[_Tried]) -> str:
    return "\n".join(each.said for each in tried if each.said)


def first_line(text: str) -> str:
    """The line that says what is wrong, at most 200 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "nothing was said")[:200]
