"""A kernel where its designs can be run for values, and not for time."""

from __future__ import annotations

import shutil
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import NoReturn

import numpy as np

from ....kernels.oracle import BatchReference, judge
from ....kernels.spec import Array, KernelSpec
from ...outcome import Outcome
from ...target import Build, CheckReport, Probe, Session, TargetError
from .build import CROSS_COMPILER, Compilation, read_record
from .build import build as compile_program
from .contract import given
from .floor import floor_probe
from .values import Evaluation, ValuesError, evaluate


class TclBench:
    """See :class:`kernelwright.hardware.target.Bench`. ``evaluation`` is None where there is no way to get values.

    ``tools`` are what the floor is asked with, and what compiles a verified design to the chip's binary where there are
    ``binary_seconds`` (wall clock) for it.
    """

    def __init__(
        self, spec: KernelSpec, seed: int, evaluation: Evaluation | None, tools: Compilation, binary_seconds: float
    ) -> None:
        self.spec, self._evaluation, self._tools, self._binary_seconds = spec, evaluation, tools, binary_seconds
        self._seed = seed
        self._weights: dict[str, Array] | None = None
        self._reference: BatchReference | None = None

    def _prepare(self) -> tuple[dict[str, Array], BatchReference]:
        """Weights and expected values, drawn when they are first needed: they take memory and seconds."""
        if self._weights is None or self._reference is None:
            self._weights = dict(self.spec.draw_weights(np.random.default_rng(self._seed)))
            self._reference = BatchReference(self.spec, self._weights)
        return self._weights, self._reference

    def verify(self, build: Build, seed: int) -> CheckReport:
        """Compile the design to a binary, and evaluate it on fresh inputs of the families, the ordinary one first and last.

        Families that there was no time for are named in the reason. Without values the outcome is ``no-values``.
        """
        begun = time.perf_counter()
        if not build.ok or build.path is None:
            return CheckReport(build.outcome, build.diagnostics, 0.0)
        source = read_record(build.path).source
        refused, compiled = self._binary(source)
        if refused is not None:
            return CheckReport(refused.outcome, refused.diagnostics, time.perf_counter() - begun)
        if self._evaluation is None:
            reason = f"this toolchain has no environment that evaluates TCL; add one with --torch-env; {compiled}"
            return CheckReport(Outcome.NO_VALUES, reason, time.perf_counter() - begun)
        weights, reference = self._prepare()
        rng = np.random.default_rng(np.random.SeedSequence([seed, 1]))
        others = list(self.spec.families[1:])
        rng.shuffle(others)
        names = (self.spec.families[0], *others)
        taken = {argument.name for argument in given(self.spec)}
        drawn = [self.spec.draw_activations(rng, family) for family in names]
        cases = [{name: value for name, value in each.items() if name in taken} for each in drawn]
        repeated = [*cases, cases[0]]
        try:
            got = evaluate(self._evaluation, self.spec, source, weights, repeated)
        except ValuesError as error:
            outcome = Outcome.HUNG if error.hung else Outcome.CRASHED
            return CheckReport(outcome, str(error), time.perf_counter() - begun)
        worst = 0.0
        predictions = reference.predict([(0, case) for case in cases[: len(got)]])
        for number, (prediction, case, outputs) in enumerate(zip(predictions, cases, got, strict=False)):
            found = judge(self.spec, prediction, case, outputs)
            worst = max(worst, found.worst_ratio)
            if not found.ok:
                where = f"{found.argument}[{', '.join(map(str, found.index))}]"
                text = f"{where} is {found.got:.6g}, expected {found.expected:.6g} within {found.bound:.3g}: {found.reason}"
                reason = f"inputs {names[number]}: {text}"
                return CheckReport(Outcome(found.kind), reason, time.perf_counter() - begun, {"family": names[number]})
        again = got[-1] if len(got) == len(repeated) else got[0]
        if any(got[0][name].tobytes() != again[name].tobytes() for name in again):
            return CheckReport(Outcome.NOT_REPEATABLE, "equal inputs gave other bits", time.perf_counter() - begun)
        left_out = names[len(predictions) :]
        reason = f"right on {len(predictions)} input families by the vendor's CPU evaluation, which is not the chip"
        if left_out:
            reason += f"; no time for {', '.join(left_out)}"
        details = {"families": len(predictions), "worst_ratio": worst}
        return CheckReport(Outcome.OK, f"{reason}; {compiled}", time.perf_counter() - begun, details)

    def _binary(self, source: str) -> tuple[Build | None, str]:
        """Compile to the chip's binary: what refuses the program, if anything does, and what to say of it otherwise.

        Evaluation takes programs that compilation refuses, so a price alone does not make a design possible.
        """
        if self._binary_seconds <= 0 or not self._tools.tool.estimates:
            return (
                None,
                "compiled to the chip's binary" if not self._tools.tool.estimates else "not compiled to a binary",
            )
        if shutil.which(CROSS_COMPILER) is None:
            return None, f"not compiled to a binary, for want of {CROSS_COMPILER}"
        tools = replace(self._tools, binary=True, compile_seconds=self._binary_seconds)
        made = compile_program(tools, self.spec, source)
        if made.ok:
            return None, "compiled to the chip's binary"
        if made.outcome is Outcome.BUILD_HUNG:
            return None, f"not compiled to a binary within {self._binary_seconds:.0f} s"
        return made, ""

    def floor_seconds(self) -> Probe:
        """Time (seconds) in which the schedule's transfers can move the kernel's weights, by arithmetic."""
        return floor_probe(self.spec, self._tools)

    def pair(self, best: Build, candidate: Build, seed: int) -> AbstractContextManager[Session]:
        """Raises TargetError: the tcl toolchain has no device."""
        del best, candidate, seed
        _no_device()


def _no_device() -> NoReturn:
    raise TargetError("the tcl toolchain of rngd compiles and estimates; it takes no readings")
