"""Static estimates: made before the device is asked, and believed as far as their record goes."""

from __future__ import annotations

import time
from math import log

from ...events.views.tree import TreeView
from ...hardware.outcome import Outcome
from ...hardware.study import Estimates
from ...knowledge.lessons import changed_levers, classes
from ...knowledge.trust import screen, trust_of
from ..step import Step
from ..workbench import Workbench


def drops(wb: Workbench, step: Step) -> bool:
    """Estimate a candidate against the best and record that; whether it is dropped without a reading.

    A target that does not estimate drops nothing. A best of another toolchain is read in any case.
    """
    tree = wb.view.trees[step.kernel]
    design = tree.designs[step.design]
    if not isinstance(wb.target, Estimates) or wb.view.toolchain is None or design.passed("estimate"):
        return False
    best = tree.best or ""
    probes = {name: probe.value for name, probe in wb.known.probes.items()}
    spec = wb.specs[step.kernel]
    with wb.timed("build"):
        mine = wb.target.estimate(spec, wb.build(step.kernel, step.design), probes)
        other = wb.target.estimate(spec, wb.build(step.kernel, best), probes)
    if mine is None or other is None or mine.seconds <= 0 or other.seconds <= 0:
        return False
    change = change_of(tree, step.design, best)
    ratio = log(other.seconds / mine.seconds)
    trust = trust_of(wb.known, wb.view.toolchain.fingerprint, change)
    coin = wb.secret("estimate", step.kernel, step.design, step.epoch)
    found = screen(wb.policy, trust, ratio, coin)
    dropped = found.drop and not any(each.why == "confirm" for each in design.reopened)
    wb.trees[step.kernel].check(
        wb.context,
        design=step.design,
        check="estimate",
        outcome=Outcome.TOO_SLOW if dropped else Outcome.OK,
        reason=found.reason,
        seconds=0.0,
        details={
            "seconds": mine.seconds,
            "best_seconds": other.seconds,
            "log_ratio": ratio,
            "change": change,
            "against": best,
            "model": mine.model,
            "sampled": int(found.sampled),
            "right_signs": trust.agreed,
            "pairs": trust.pairs,
        },
    )
    return dropped


def estimate(wb: Workbench, step: Step) -> str:
    """Predict a design where no device can tell, and stop it when it is not better than the provisional best.

    A design that was the best under another toolchain goes on in any case. Without a prediction (a toolchain that gives
    none) it goes on too, and is held with no rank.
    """
    view, tree = wb.view.trees[step.kernel], wb.trees[step.kernel]
    design = view.designs[step.design]
    built = wb.build(step.kernel, step.design)
    probes = {name: probe.value for name, probe in wb.known.probes.items()}
    begun = time.perf_counter()
    with wb.timed("build"):
        found = wb.target.estimate(wb.specs[step.kernel], built, probes) if isinstance(wb.target, Estimates) else None
    outcome, reason, details = Outcome.OK, "this toolchain gives no estimate", {}
    if found is not None:
        details = {**found.details, "seconds": found.seconds, "model": found.model, "limit": found.limit}
        reason = f"estimated {found.seconds * 1e6:.1f} us" + (f", limited by {found.limit}" if found.limit else "")
        against = view.leader if view.leader != step.design else None
        other = view.leader_seconds
        if against is not None and other is not None:
            ratio = log(other / found.seconds)
            details |= {"best_seconds": other, "log_ratio": ratio, "against": against}
            details["change"] = change_of(view, step.design, against)
            kept = any(each.why == "confirm" for each in design.reopened) or design.proposed.kind == "baseline"
            if ratio <= 0 and not kept:
                outcome = Outcome.TOO_SLOW
                reason += f"; {against} is estimated at {other * 1e6:.1f} us"
    tree.check(
        wb.context,
        design=step.design,
        check="estimate",
        outcome=outcome,
        reason=reason,
        seconds=time.perf_counter() - begun,
        details=details,
        artifact=built.artifact,
    )
    return outcome


def hold(wb: Workbench, step: Step) -> str:
    """Go as far as a design can go without a device: held, for a reading when there is one."""
    view = wb.view.trees[step.kernel]
    design = view.designs[step.design]
    reasons = ["no device"]
    if design.estimate is not None:
        reasons.append(design.estimate.reason)
    if not design.passed("oracle"):
        reasons.append("its values are unknown: the toolchain cannot run it")
    against = design.estimate.details.get("against") if design.estimate is not None else None
    wb.trees[step.kernel].judge(
        wb.context,
        design=step.design,
        against=str(against or view.baseline),
        verdict="held",
        outcome=Outcome.OK,
        reason="; ".join(reasons),
        pairs=0,
        e_accept=1.0,
        e_futile=1.0,
        scale=0.0,
        policy=wb.policy.digest,
        thresholds=wb.policy.as_dict(),
        evidence=(),
    )
    return "held"


def change_of(tree: TreeView, design: str, against: str) -> str:
    """The class of the change from one design to another."""
    here, there = tree.designs[design].proposed, tree.designs[against].proposed
    _, after = changed_levers(there.levers, here.levers)
    return classes(tuple(after), here.kind if here.kind == "whole" or not there.levers else "small")
