"""Why a design is where it is: everything that the log says of it, as plain data, from events and blobs alone."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from ...acceptance.policy import Policy
from ..log import EventLog
from ..naming import told
from ..tree import DesignChecked, PairsRead
from .decisions import decision
from .design import Epoch
from .origin import origin_of
from .run import RunView
from .tree import DECIDING, DesignView, TreeView


def status_of(tree: TreeView, design: DesignView) -> str:
    """Where a design stands, in a word."""
    if design.id == tree.baseline:
        return "baseline"
    if design.revoked is not None:
        return "revoked"
    if design.failed is not None:
        return design.failed.outcome
    if design.accepted is not None:
        return "best" if design.id == tree.best else "accepted"
    if design.held and design.id == tree.provisional:
        return "provisional best by estimate"
    return design.verdict.verdict if design.verdict is not None else "in work"


def explain(log: EventLog, view: RunView, tree: TreeView, design: DesignView) -> dict[str, Any]:
    """The whole story of a design.

    Seconds are of one call. ``e_accept`` and ``e_futile`` of a pair are E after it, for pairs that take part in a
    decision. ``earlier`` holds what was found out under other toolchains.
    """
    proposed = design.proposed
    source = log.blobs.text(proposed.source)
    parent = tree.designs.get(proposed.parent or "")
    now = Epoch(
        design.judged_under,
        tuple(design.checks),
        tuple(design.readings),
        design.verdict,
        design.accepted,
        design.accepted_at,
        design.revoked,
        design.artifact,
        tuple(design.reopened),
    )
    return {
        "run": view.name,
        "kernel": tree.kernel,
        "design": design.id,
        "status": status_of(tree, design),
        "title": proposed.title,
        "by": proposed.by,
        "why": proposed.rationale,
        "kind": proposed.kind,
        "parent": proposed.parent,
        "levers": proposed.levers,
        "proposed_at": proposed.at.isoformat(timespec="seconds"),
        "toolchain": proposed.toolchain,
        "origin": origin_of(log, view, tree, design),
        **_found_out(log, view, now, design.id, proposed.source),
        "earlier": [_found_out(log, view, epoch, design.id, proposed.source) for epoch in design.epochs],
        **_later(tree, design),
        "events": _events(log, design),
        "diff": _diff(log.blobs.text(parent.proposed.source), source, parent.id, design.id) if parent else "",
    }


def _found_out(log: EventLog, view: RunView, epoch: Epoch, design: str, source: str) -> dict[str, Any]:
    """Checks, identity, readings and decision under one toolchain."""
    verdict, accepted = epoch.verdict, epoch.accepted
    against = verdict.against if verdict is not None else epoch.readings[-1].best if epoch.readings else ""
    policy = Policy.from_mapping(verdict.thresholds if verdict is not None else view.policy)
    deciding = [r for r in epoch.readings if r.purpose in DECIDING and r.best == against]
    made = decision(policy, deciding) if deciding else None
    e_of = dict(zip(_pairs_of(deciding), zip(made.e_accept, made.e_futile, strict=True), strict=False)) if made else {}
    return {
        "judged_under": epoch.toolchain,
        "identity": {
            "source": source,
            "artifact": epoch.artifact,
            "loaded": sorted({_own_artifact(reading, design) for reading in epoch.readings}),
        },
        "checks": [_check(log, check) for check in epoch.checks],
        "readings": [
            {
                "evidence": reading.ref,
                "at": reading.at.isoformat(timespec="seconds"),
                "purpose": reading.purpose,
                "against": reading.best,
                "calls": reading.calls,
                "scale": reading.scale,
                "outcome": reading.outcome,
                "reason": reading.reason,
                "artifacts": {"best": reading.best_artifact, "candidate": reading.candidate_artifact},
                "device_seconds": reading.device_seconds,
                "pairs": [
                    {
                        "order": order,
                        "best_seconds": best,
                        "candidate_seconds": candidate,
                        "e_accept": e_of.get((reading.ref, index), (None, None))[0],
                        "e_futile": e_of.get((reading.ref, index), (None, None))[1],
                    }
                    for index, (order, best, candidate) in enumerate(
                        zip(reading.orders, reading.best_seconds, reading.candidate_seconds, strict=True)
                    )
                ],
            }
            for reading in epoch.readings
        ],
        "verdict": None
        if verdict is None
        else {
            "verdict": verdict.verdict,
            "against": verdict.against,
            "reason": verdict.reason,
            "pairs": verdict.pairs,
            "e_accept": list(made.e_accept) if made else [],
            "e_futile": list(made.e_futile) if made else [],
            "policy": verdict.policy,
            "thresholds": verdict.thresholds,
            "evidence": list(verdict.evidence),
        },
        "accepted": None
        if accepted is None
        else {
            "over": accepted.over,
            "gain": accepted.gain,
            "gain_low": accepted.gain_low,
            "gain_high": accepted.gain_high,
            "confidence": accepted.confidence,
            "evidence": list(accepted.evidence),
        },
        "revoked": epoch.revoked.reason if epoch.revoked is not None else None,
        "reopened": [{"why": each.why, "reason": each.reason} for each in epoch.reopened],
    }


def _later(tree: TreeView, design: DesignView) -> dict[str, Any]:
    """What became of it: what was accepted over it, and its direct comparison with the baseline."""
    anchor = tree.anchor if tree.anchor is not None and tree.anchor.best == design.id else None
    return {
        "superseded_by": next((each.design for each in tree.lineage if each.over == design.id), None),
        "anchor": None
        if anchor is None
        else {
            "against": anchor.anchor,
            "ratio": anchor.ratio,
            "ratio_low": anchor.ratio_low,
            "ratio_high": anchor.ratio_high,
            "claimed": anchor.claimed,
            "alarm": anchor.alarm,
            "reason": anchor.reason,
        },
    }


def _events(log: EventLog, design: DesignView) -> list[dict[str, Any]]:
    """Every event of the design, by reference, so that each statement can be looked up."""
    return [
        {
            "position": recorded.position,
            "event": recorded.event.ref,
            "at": recorded.event.at.isoformat(timespec="seconds"),
            "kind": recorded.event.TOPIC,
            "cause": recorded.event.cause,
            "summary": told(recorded.event),
        }
        for recorded in log.at_positions(design.positions)
    ]


def _check(log: EventLog, check: DesignChecked) -> dict[str, Any]:
    return {
        "check": check.check,
        "outcome": check.outcome,
        "reason": check.reason,
        "seconds": check.seconds,
        "details": check.details,
        "artifact": check.artifact,
        "output": log.blobs.text(check.log) if check.log else None,
    }


def _pairs_of(readings: Sequence[PairsRead]) -> list[tuple[str, int]]:
    return [(reading.ref, index) for reading in readings for index in range(len(reading.orders))]


def _own_artifact(reading: PairsRead, design: str) -> str:
    return reading.candidate_artifact if reading.candidate == design else reading.best_artifact


def _diff(before: str, after: str, name_before: str, name_after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name_before, name_after, lineterm="", n=2)
    return "\n".join(lines)
