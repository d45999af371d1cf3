"""Why a design is where it is: everything that the log says of it, as plain data."""

from __future__ import annotations

import difflib
from typing import Any

from ...acceptance.policy import Policy
from ...acceptance.sequential import decide
from ..log import EventLog
from ..tree import DesignJudged
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
    return design.verdict.verdict if design.verdict is not None else "in work"


def explain(log: EventLog, view: RunView, tree: TreeView, design: DesignView) -> dict[str, Any]:
    """The whole story of a design, from events and blobs alone."""
    proposed = design.proposed
    source = log.blobs.text(proposed.source)
    parent = tree.designs.get(proposed.parent or "")
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
        "identity": {
            "source": proposed.source,
            "artifact": design.artifact,
            "loaded": sorted({_own_artifact(r, design.id) for r in design.readings}),
        },
        "checks": [
            {
                "check": c.check,
                "outcome": c.outcome,
                "reason": c.reason,
                "seconds": c.seconds,
                "details": c.details,
                "output": log.blobs.text(c.log) if c.log else None,
            }
            for c in design.checks
        ],
        "readings": [
            {
                "evidence": r.ref,
                "purpose": r.purpose,
                "against": r.best,
                "calls": r.calls,
                "scale": r.scale,
                "outcome": r.outcome,
                "pairs": [
                    {"order": o, "best_seconds": b, "candidate_seconds": c}
                    for o, b, c in zip(r.orders, r.best_seconds, r.candidate_seconds, strict=True)
                ],
            }
            for r in design.readings
        ],
        "verdict": None if design.verdict is None else _verdict(design, design.verdict),
        "accepted": None
        if design.accepted is None
        else {
            "over": design.accepted.over,
            "gain": design.accepted.gain,
            "gain_low": design.accepted.gain_low,
            "gain_high": design.accepted.gain_high,
            "confidence": design.accepted.confidence,
            "evidence": design.accepted.evidence,
        },
        "superseded_by": next((a.design for a in tree.lineage if a.over == design.id), None),
        "revoked": design.revoked.reason if design.revoked is not None else None,
        "diff": _diff(log.blobs.text(parent.proposed.source), source, parent.id, design.id) if parent else "",
    }


def _own_artifact(reading: Any, design: str) -> str:
    own: str = reading.candidate_artifact if reading.candidate == design else reading.best_artifact
    return own


def _verdict(design: DesignView, verdict: DesignJudged) -> dict[str, Any]:
    """The verdict with E after each pair, computed again from the recorded pairs and thresholds."""
    against = verdict.against
    decision = decide(
        Policy.from_mapping(verdict.thresholds),
        design.scales(DECIDING, against),
        design.differences(DECIDING, against),
    )
    return {
        "verdict": verdict.verdict,
        "against": against,
        "reason": verdict.reason,
        "pairs": verdict.pairs,
        "e_accept": list(decision.e_accept),
        "e_futile": list(decision.e_futile),
        "policy": verdict.policy,
        "thresholds": verdict.thresholds,
        "evidence": verdict.evidence,
    }


def _diff(before: str, after: str, name_before: str, name_after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name_before, name_after, lineterm="", n=2)
    return "\n".join(lines)
