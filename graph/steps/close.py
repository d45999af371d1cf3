"""Looking back: what was accepted is checked once more, and the best is compared with where it came from."""

from __future__ import annotations

from ...acceptance.alarm import check_anchor
from ...acceptance.estimate import Gain, hodges_lehmann
from ...acceptance.sequential import log_ratio
from ...events.tree import AnchorCompared
from ...hardware.outcome import Outcome
from ..step import Step
from ..workbench import Workbench
from .compare import read_pairs


def recheck(wb: Workbench, step: Step) -> str:
    """Run an accepted design on seeds that it has not seen; one that fails loses its place."""
    bench = wb.bench(step.kernel)
    built = wb.build(step.kernel, step.design)
    with wb.timed("values"):
        report = bench.verify(built, wb.secret("recheck", step.kernel, step.design, wb.context.attempt))
    tree = wb.trees[step.kernel]
    tree.check(
        wb.context,
        design=step.design,
        check="recheck",
        outcome=report.outcome,
        reason=report.reason,
        seconds=report.seconds,
        details=dict(report.details),
        artifact=built.artifact,
    )
    unknown = report.outcome is Outcome.NO_VALUES  # its outputs are compared in every timed call all the same
    if not report.ok and not unknown and step.design in tree.lineage:
        tree.revoke(wb.context, step.design, f"{report.outcome} on unseen seeds: {report.reason}")
    return report.outcome


def anchor(wb: Workbench, step: Step) -> str:
    """Compare the best with its anchor directly, and the measured gain with the product of the claims since then.

    The anchor is the earlier best that the step names, or the baseline.
    """
    view = wb.view.trees[step.kernel]
    best, earlier = view.best or "", step.item or view.baseline or ""
    taken = read_pairs(wb, step, "anchor", earlier, best, wb.policy.anchor_pairs, step.turn)
    if taken.outcome is not Outcome.OK:
        return taken.outcome
    differences = [log_ratio(pair.best_seconds, pair.candidate_seconds) for pair in taken.pairs]
    measured = hodges_lehmann(differences, wb.policy.anchor_confidence)
    since = [each.design for each in view.lineage].index(earlier) + 1 if step.item else 0
    claims = [
        Gain(each.gain, each.gain_low, each.gain_high, wb.policy.confirm_pairs, each.confidence)
        for each in view.lineage[since:]
    ]
    finding = check_anchor(claims, measured)
    wb.trees[step.kernel].note(
        wb.context,
        AnchorCompared,
        best=best,
        anchor=earlier,
        ratio=measured.ratio,
        ratio_low=measured.low,
        ratio_high=measured.high,
        claimed=finding.claimed.ratio,
        best_seconds=_median([pair.candidate_seconds for pair in taken.pairs]),
        anchor_seconds=_median([pair.best_seconds for pair in taken.pairs]),
        alarm=finding.alarm,
        reason=finding.reason,
        evidence=(wb.trees[step.kernel].latest_evidence,),
    )
    return "alarm" if finding.alarm else "ok"


def finish(wb: Workbench, _step: Step) -> str:
    """End the run."""
    wb.run.stop(wb.context, "finished")
    return "finished"


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
