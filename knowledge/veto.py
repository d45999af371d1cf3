"""The Reviewer's vetoes by rules: which rule matches a source, whether to audit it, and what its record is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..acceptance.policy import Policy
from ..events.views.items import RuleItem
from ..events.views.knowledge import KnowledgeView
from .conditions import Pattern, in_words, rung_that_spares
from .tokens import matches, tokenize

COIN_BITS = 63


@dataclass(frozen=True)
class Match:
    """A valid rule that matches a source. ``audited``: the source goes to the compiler anyway, to test the rule."""

    rule: str
    audited: bool
    reason: str


def matching(known: KnowledgeView, toolchain: str, source: str) -> list[RuleItem]:
    """The rules that are valid under a toolchain and match a source, those with the best record first."""
    valid = [r for r in known.rules.values() if r.standing(toolchain, known.toolchains).status == "valid"]
    if not valid:
        return []  # a source of some thousand tokens takes longer to cut up than everything else here
    tokens = tokenize(source)
    found = [rule for rule in valid if matches(rule.pattern, tokens)]
    return sorted(found, key=lambda rule: (-rule.precision[0], rule.id))


def veto(known: KnowledgeView, policy: Policy, toolchain: str, source: str, coin: int) -> Match | None:
    """The rule to veto by, None when no valid rule matches.

    ``coin`` (63 bits, drawn from the run's secret) sends a fixed share of vetoes to the compiler.
    """
    rules = matching(known, toolchain, source)
    if not rules:
        return None
    rule = rules[0]
    right, audits = rule.precision
    audited = coin < policy.veto_audit_share * 2**COIN_BITS
    record = f"right in {right} of {audits} audits" if audits else "not audited yet"
    reason = f"rule {rule.id} ({record}): {rule.derived.explanation}"
    return Match(rule.id, audited, reason)


@dataclass(frozen=True)
class Correction:
    """What a wrong veto does to its rule: it goes on by a more special pattern (``level``), or retires (None)."""

    level: int | None
    reason: str


def correct(rule: RuleItem, policy: Policy, wrongly_vetoed: str) -> Correction | None:
    """What to do about a rule that would have vetoed a source which passes; None while its record is good enough.

    The record counts the audit that showed it. A rule is narrowed to the first pattern that spares the source.
    """
    right, audits = rule.precision
    if audits and right / audits >= policy.veto_min_precision:
        return None
    level = rung_that_spares(rule.derived.condition, rule.level + 1, [tokenize(wrongly_vetoed)])
    record = f"right in {right} of {audits} audits, less than {policy.veto_min_precision:.0%}"
    if level < len(rule.derived.condition):
        return Correction(level, f"{record}; from now on told by {in_words(_pattern(rule, level))}")
    return Correction(None, f"{record}, and no more special pattern spares what passes")


def _pattern(rule: RuleItem, level: int) -> Pattern:
    return rule.derived.condition[level]


def record(rules: Mapping[str, RuleItem]) -> dict[str, float]:
    """What all vetoes together did: hits, vetoes, audits, wrong vetoes, compile seconds saved."""
    return {
        "hits": sum(rule.hits for rule in rules.values()),
        "vetoes": sum(rule.vetoes for rule in rules.values()),
        "audits": sum(len(rule.audits) for rule in rules.values()),
        "wrong_vetoes": sum(rule.wrong_vetoes for rule in rules.values()),
        "compile_seconds_saved": sum(rule.seconds_saved for rule in rules.values()),
    }
