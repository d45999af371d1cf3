"""A knowledge base as plain data: its items with their status under a toolchain, and what an upgrade changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..events.knowledge import ProbeMeasured
from ..events.views.items import ClaimItem, ProbeItem, RuleItem
from ..events.views.knowledge import KnowledgeView
from ..events.views.standing import Standing
from .conditions import in_words
from .lessons import in_words as change_in_words
from .probing import interval, moved
from .trust import trust_of
from .veto import record


def knowledge_data(known: KnowledgeView, toolchain: str) -> dict[str, Any]:
    """Every item with its status under ``toolchain``; JSON-ready. Unknown numbers are None."""

    def standing(item: ClaimItem | RuleItem | ProbeItem) -> Standing:
        return item.standing(toolchain, known.toolchains)

    return {
        "toolchain": toolchain,
        "parts": dict(known.toolchains.get(toolchain, {})),
        "claims": [_claim(claim, standing(claim)) for claim in known.claims.values()],
        "probes": [_probe(probe, standing(probe)) for _, probe in sorted(known.probes_by_name.items())],
        "rules": [_rule(rule, standing(rule)) for rule in known.rules.values()],
        "lessons": [
            {
                "id": item.id,
                "status": item.standing(toolchain, known.toolchains).status,
                "toolchain": item.drawn.toolchain,
                "kernel": item.drawn.kernel,
                "change": change_in_words(item.drawn.before, item.drawn.after),
                "effect": item.drawn.effect,
                "ratio": item.drawn.ratio,
                "ratio_low": item.drawn.ratio_low,
                "ratio_high": item.drawn.ratio_high,
                "run": item.drawn.run,
                "design": item.drawn.design,
                "against": item.drawn.against,
                "evidence": list(item.drawn.evidence),
            }
            for item in known.lessons.values()
        ],
        "families": [
            {
                "id": item.id,
                "status": "closed" if item.standing(toolchain, known.toolchains).status == "valid" else "open again",
                "toolchain": item.closed.toolchain,
                "kernel": item.closed.kernel,
                "move": f"{item.closed.lever} = {item.closed.value}",
                "assumes": {
                    "whole": item.closed.whole,
                    "bottleneck": item.closed.bottleneck,
                    "parts": list(item.closed.depends),
                },
                "reason": item.closed.reason,
                "lessons": list(item.closed.lessons),
            }
            for item in known.families.values()
        ],
        "estimates": [_trust(known, toolchain, change) for change in sorted(known.trust)],
        "vetoes": record(known.rules),
    }


def _checked(standing: Standing, own: str) -> dict[str, Any]:
    finding = standing.finding
    return {
        "status": standing.status,
        "toolchain": finding.toolchain if finding is not None else own,
        "evidence": finding.ref if finding is not None else None,
        "reason": finding.reason if finding is not None else "",
    }


def _claim(claim: ClaimItem, standing: Standing) -> dict[str, Any]:
    made = claim.made
    return {
        "id": claim.id,
        **_checked(standing, made.toolchain),
        "sentence": made.sentence,
        "source": {
            "file": made.document,
            "heading": made.heading,
            "lines": list(claim.lines if claim.lines != (0, 0) else (made.first_line, made.last_line)),
            "digest": made.section,
            "current": claim.current,
        },
        "expect": {key: value for key, value in made.expect.items() if value},
        "by": made.by,
    }


def _probe(probe: ProbeItem, standing: Standing) -> dict[str, Any]:
    latest = probe.latest
    low, high = interval(latest.value, latest.spread, latest.repeats)
    return {
        "id": probe.id,
        **_checked(standing, latest.toolchain),
        "question": latest.question,
        "value": latest.value,
        "unit": latest.unit,
        "low": low,
        "high": high,
        "spread": latest.spread,
        "repeats": latest.repeats,
        "conditions": latest.conditions,
        "readings": len(probe.readings),
    }


def _rule(rule: RuleItem, standing: Standing) -> dict[str, Any]:
    right, audits = rule.precision
    return {
        "id": rule.id,
        **_checked(standing, rule.derived.toolchain),
        "kind": rule.derived.kind,
        "explanation": rule.derived.explanation,
        "condition": in_words(rule.pattern),
        "diagnostic": rule.derived.diagnostic,
        "fingerprint": rule.derived.fingerprint,
        "failing": rule.derived.failing,
        "passing": rule.derived.passing,
        "run": rule.derived.run,
        "design": rule.derived.design,
        "hits": rule.hits,
        "vetoes": rule.vetoes,
        "audits": audits,
        "right": right,
        "wrong_vetoes": rule.wrong_vetoes,
        "compile_seconds_saved": rule.seconds_saved,
    }


def _trust(known: KnowledgeView, toolchain: str, change: str) -> dict[str, Any]:
    trust = trust_of(known, toolchain, change)
    return {
        "change": change,
        "pairs": trust.pairs,
        "right_signs": trust.agreed,
        "share": trust.share,
        "sampled": trust.sampled,
        "wrongly_dropped": trust.wrongly_dropped,
    }


@dataclass(frozen=True)
class Best:
    """What became of a kernel's best in an upgrade: gains over the baseline are ratios with their intervals."""

    run: str
    kernel: str
    before: str | None
    after: str | None
    reopened: tuple[tuple[str, str], ...]
    """Designs that were opened again, with the rule or reason."""


def upgrade_data(known: KnowledgeView, old: str, new: str, bests: list[Best]) -> dict[str, Any]:
    """What the step from one toolchain to another changed; JSON-ready. Raises KeyError for one that was never seen."""
    before, after = known.toolchains[old], known.toolchains[new]
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    changes: dict[str, list[dict[str, Any]]] = {
        key: [] for key in ("retired", "refuted", "confirmed", "restored", "waiting", "new")
    }
    items: list[RuleItem | ClaimItem] = [*known.rules.values(), *known.claims.values()]
    for item in items:
        then, now = item.standing(old, known.toolchains), item.standing(new, known.toolchains)
        word = _word(then, now, new)
        if word is not None:
            changes[word].append(
                {
                    "id": item.id,
                    "what": item.derived.explanation if isinstance(item, RuleItem) else item.made.sentence,
                    "before": then.status,
                    "after": now.status,
                    "reason": now.finding.reason if now.finding is not None else "",
                    "evidence": now.finding.ref if now.finding is not None else None,
                }
            )
    return {
        "from": old,
        "to": new,
        "changed": {name: [before.get(name), after.get(name)] for name in names},
        **changes,
        "readings": _readings(known, old, new),
        "bests": [
            {
                "run": best.run,
                "kernel": best.kernel,
                "before": best.before,
                "after": best.after,
                "outcome": _outcome(best),
                "reopened": [{"design": design, "why": why} for design, why in best.reopened],
            }
            for best in bests
        ],
    }


def _word(then: Standing, now: Standing, new: str) -> str | None:
    """Which heading of the report an item belongs under; None when it is not touched by the upgrade."""
    if now.status in ("retired", "refuted"):
        return now.status if then.status != now.status else None
    if now.status == "stale":
        return "waiting"
    if now.status == "valid" and now.finding is not None and now.finding.toolchain == new:
        if then.status == "valid":
            return "confirmed"
        return "restored" if then.status in ("retired", "refuted") else "new"
    return None


def _readings(known: KnowledgeView, old: str, new: str) -> list[dict[str, Any]]:
    found = []
    for _, probe in sorted(known.probes_by_name.items()):
        then, now = probe.reading(old, known.toolchains), probe.reading(new, known.toolchains)
        if then is None or now is None or then.ref == now.ref:
            continue
        found.append(
            {
                "id": probe.id,
                "unit": now.unit,
                "before": _reading(then),
                "after": _reading(now),
                "moved": moved((then.value, then.spread, then.repeats), (now.value, now.spread, now.repeats)),
            }
        )
    return found


def _reading(reading: ProbeMeasured) -> dict[str, float]:
    low, high = interval(reading.value, reading.spread, reading.repeats)
    return {"value": reading.value, "low": low, "high": high}


def _outcome(best: Best) -> str:
    if best.before == best.after:
        return "confirmed"
    return "fell back" if best.after is not None else "waiting"
