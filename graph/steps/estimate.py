"""Static estimates: made before the device is asked, and believed as far as their record goes."""

from __future__ import annotations

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


def change_of(tree: TreeView, design: str, against: str) -> str:
    """The class of the change from one design to another."""
    here, there = tree.designs[design].proposed, tree.designs[against].proposed
    _, after = changed_levers(there.levers, here.levers)
    return classes(tuple(after), here.kind if here.kind == "whole" or not there.levers else "small")
