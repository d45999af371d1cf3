"""Build and values: the checks that every design passes before the device is asked."""

from __future__ import annotations

from ...events.tree import TreeRefused
from ...hardware.outcome import Outcome
from ...hardware.target import QuickLook
from ..step import Step
from ..workbench import Workbench
from .learn import failure_details


def build(wb: Workbench, step: Step) -> str:
    """Compile a design. An artifact that an earlier design has already given is a duplicate: A would be compared with A."""
    tree = wb.trees[step.kernel]
    view = wb.view.trees[step.kernel]
    built = wb.build(step.kernel, step.design)
    log = wb.log.blobs.put(built.diagnostics) if built.diagnostics else None
    check = "symbols" if built.outcome is Outcome.BAD_SYMBOLS else "build"
    outcome, reason = built.outcome, "" if built.ok else _first_error(built.diagnostics)
    if built.ok:
        twin = view.artifact_twin(step.design, built.artifact)
        if twin is not None:
            check, outcome = "identity", Outcome.DUPLICATE
            reason = f"compiles to the same artifact as {twin}"
    tree.check(
        wb.context,
        design=step.design,
        check=check,
        outcome=outcome,
        reason=reason,
        seconds=built.seconds,
        details={}
        if built.ok
        else failure_details(wb.source(step.kernel, step.design), built.outcome, built.diagnostics),
        artifact=built.artifact,
        log=log,
    )
    if outcome is not Outcome.OK:
        refuse_baseline(wb, step, f"its baseline does not pass: {outcome}: {reason}")
    return outcome


def verify(wb: Workbench, step: Step) -> str:
    """Run a design on fresh inputs of every family and compare with the reference."""
    bench = wb.bench(step.kernel)
    built = wb.build(step.kernel, step.design)
    attempt = wb.context.attempt
    seed = wb.secret("verify", step.kernel, step.design, attempt)
    with wb.timed("values"):
        quick = isinstance(bench, QuickLook) and not wb.view.device
        report = bench.look(built, seed) if isinstance(bench, QuickLook) and quick else bench.verify(built, seed)
    details = dict(report.details)
    if not report.ok and report.outcome is not Outcome.NO_VALUES:
        details |= failure_details(wb.source(step.kernel, step.design), report.outcome, report.reason)
    wb.trees[step.kernel].check(
        wb.context,
        design=step.design,
        check="oracle",
        outcome=report.outcome,
        reason=report.reason,
        seconds=report.seconds,
        details=details,
        artifact=built.artifact,
    )
    if not report.ok and report.outcome is not Outcome.NO_VALUES:
        refuse_baseline(wb, step, f"its baseline gives wrong results: {report.outcome}: {report.reason}")
    return report.outcome


def refuse_baseline(wb: Workbench, step: Step, reason: str) -> None:
    """A kernel whose baseline fails cannot be searched: say so once, and leave it out of the run."""
    if step.design == wb.view.trees[step.kernel].baseline:
        wb.trees[step.kernel].note(wb.context, TreeRefused, reason=reason)


def _first_error(diagnostics: str) -> str:
    """The line of a compiler's output that says what is wrong."""
    lines = [line.strip() for line in diagnostics.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "the compiler said nothing")[:500]
