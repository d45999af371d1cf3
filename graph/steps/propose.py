"""Asking the specialists: proposals are registered before any work on them starts."""

from __future__ import annotations

import hashlib
import re
import time

from ...agents.port import Proposal, ProposeTask, Tried
from ...events.views.tree import DECIDING, DesignView, TreeView
from ...hardware.outcome import Outcome
from ...knowledge.lessons import bottleneck, closed_moves, whole_of
from ..step import Step
from ..workbench import Workbench
from .learn import review_by_rules
from .team import desk, propose_round


def normalized_digest(source: str) -> str:
    """The digest (sha256 hex) of a C-like source without comments and with runs of space as one: near-copies agree."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)
    return hashlib.sha256(re.sub(r"\s+", " ", text).strip().encode()).hexdigest()


def log_gain(design: DesignView) -> tuple[str | None, float | None, int]:
    """Against which best a design was read last, the median of its log ratios there, and how many pairs that rests on."""
    if not design.readings:
        return None, None, 0
    against = design.readings[-1].best
    differences = design.differences(DECIDING, against)
    if not differences:
        return against, None, 0
    ordered = sorted(differences)
    return against, ordered[len(ordered) // 2], len(ordered)


def tried(design: DesignView) -> Tried:
    """A design as a specialist is told of it."""
    against, gain, pairs = log_gain(design)
    estimated_against, estimated_gain = estimated_log_gain(design)
    proposed = design.proposed
    return Tried(
        id=design.id,
        parent=proposed.parent,
        kind=proposed.kind,
        by=proposed.by,
        title=proposed.title,
        levers=proposed.levers,
        outcome=design.outcome,
        verdict="accepted" if design.accepted else design.verdict.verdict if design.verdict else None,
        against=against,
        log_gain=gain,
        pairs=pairs,
        estimated_against=estimated_against,
        estimated_log_gain=estimated_gain,
    )


def designs_tried(wb: Workbench, kernel: str) -> tuple[Tried, ...]:
    """All designs of a kernel as a specialist is told of them; only those are looked at again that something became of."""
    designs = wb.view.trees[kernel].designs
    told = wb.told.setdefault(kernel, {})
    for name in designs:
        events = designs.events_of(name)
        if name not in told or told[name][0] != events:
            told[name] = events, tried(designs[name])
    return tuple(told[name][1] for name in designs)


def estimated_log_gain(design: DesignView) -> tuple[str | None, float | None]:
    """Against which best a design was estimated last, and log(that one's estimate / its own); None where it was not."""
    for check in reversed(design.checks):
        if check.check == "estimate" and "log_ratio" in check.details:
            against = check.details.get("against")
            return (None if against is None else str(against)), float(check.details["log_ratio"])
    return None, None


def propose_task(wb: Workbench, kernel: str, turn: int) -> ProposeTask:
    """What a specialist is asked, made from views alone."""
    tree: TreeView = wb.view.trees[kernel]
    spec = wb.specs[kernel]
    best = tree.leader or ""
    toolchain = wb.view.toolchain.fingerprint if wb.view.toolchain is not None else ""
    closed = closed_moves(wb.known, toolchain, kernel, whole_of(tree, best), bottleneck(tree))
    return ProposeTask(
        kernel=spec.name,
        target=wb.target.name,
        contract=wb.target.contract(spec),
        macros=dict(wb.target.macros()),
        dimensions=dict(spec.dimensions),
        as_of=wb.view.position,
        turn=turn,
        seed=wb.view.started.seed if wb.view.started else 0,
        best=best,
        best_seconds=tree.leader_seconds,
        floor_seconds=tree.floor.seconds if tree.floor else None,
        probes={name: probe.value for name, probe in wb.known.probes.items()},
        tried=designs_tried(wb, kernel),
        best_source=wb.source(kernel, best),
        closed=tuple(sorted(closed, key=str)),
        elsewhere={name: designs_tried(wb, name) for name in wb.view.trees if name != kernel},
        by_estimate=not wb.target.has_device,
    )


def propose(wb: Workbench, step: Step) -> str:
    """Ask for the next design and register it, or note that nothing is left."""
    task = propose_task(wb, step.kernel, step.turn)
    found, over = propose_round(wb, task)
    for proposal in found.proposals:
        _register(wb, step.kernel, proposal)
    return over or "ok"


def _register(wb: Workbench, kernel: str, proposal: Proposal) -> None:
    design = register(
        wb,
        kernel,
        parent=proposal.parent,
        kind=proposal.kind,
        by=f"{wb.panel.author(proposal)}/{proposal.role}",
        title=proposal.title,
        rationale=proposal.rationale,
        levers=dict(proposal.levers),
        source=proposal.source,
    )
    answers = wb.panel.attribute(desk(wb), kernel, design, proposal)
    if answers is not None and answers not in wb.extras:
        wb.extras.append(answers)


def register(
    wb: Workbench,
    kernel: str,
    *,
    parent: str | None,
    kind: str,
    by: str,
    title: str,
    rationale: str,
    levers: dict[str, str | int],
    source: str,
) -> str:
    """Record a proposal with the next free name; returns that name."""
    name = f"d{len(wb.trees[kernel].designs):04d}"
    wb.trees[kernel].propose(
        wb.context,
        design=name,
        parent=parent,
        kind=kind,
        by=by,
        title=title,
        rationale=rationale,
        levers=levers,
        source=wb.log.blobs.put(source),
        normalized=normalized_digest(source),
    )
    return name


def review(wb: Workbench, step: Step) -> str:
    """The Reviewer's cheap veto: the contract's rules, and a source that was tried before."""
    tree = wb.view.trees[step.kernel]
    design = tree.designs[step.design]
    begun = time.perf_counter()
    report = wb.target.review(wb.specs[step.kernel], wb.source(step.kernel, step.design))
    outcome, reason, details = report.outcome, report.reason, dict(report.details)
    twin = tree.source_twin(design)
    if report.ok and twin is not None:
        outcome, reason = Outcome.DUPLICATE, f"the same source as {twin}"
    elif report.ok:
        outcome, reason, more = review_by_rules(wb, step, wb.source(step.kernel, step.design))
        details |= more
    if outcome is Outcome.OK:
        veto = wb.panel.review(desk(wb), step.kernel, step.design)
        if veto is not None:
            outcome, reason = Outcome.VETOED, f"the reviewer: {veto}"
    wb.trees[step.kernel].check(
        wb.context,
        design=step.design,
        check="review",
        outcome=outcome,
        reason=reason,
        seconds=time.perf_counter() - begun,
        details=details,
    )
    return outcome
