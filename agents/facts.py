"""What is known of a target, valid and relevant, with ids: from the knowledge base's views alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..events.views.answers import AnswersView
from .desk import Desk
from .roles import Fact, ProberAnswer

SHOWN_OF_EACH = 12
"""Items of each kind (probes, claims, rules, lessons, closed families) in a prompt at most, the most relevant ones."""


def facts(desk: Desk, kernel: str = "", answers: AnswersView | None = None) -> tuple[Fact, ...]:
    """Valid items for prompts about a kernel: those that speak of it and of its contract first.

    Probes that the prober chose come before others, in its order.
    """
    words = _words(f"{kernel} {desk.target.contract(desk.specs[kernel])}") if kernel in desk.specs else frozenset()
    kinds = (probes(desk, answers), claims(desk), rules(desk), lessons(desk, kernel), families(desk, kernel))
    found: list[Fact] = []
    for number, kind in enumerate(kinds):
        listed = list(kind)
        # Probes are in the prober's order already; of the rest, what shares most words with the contract comes first.
        ranked = listed if number == 0 else sorted(listed, key=lambda fact: -len(_words(fact.text) & words))
        found.extend(ranked[:SHOWN_OF_EACH])
    return tuple(found)


def all_facts(desk: Desk) -> tuple[Fact, ...]:
    """Every valid item, for looking up."""
    return (*probes(desk, None), *claims(desk), *rules(desk), *lessons(desk, ""), *families(desk, ""))


def probes(desk: Desk, answers: AnswersView | None) -> Iterator[Fact]:
    """Readings that hold, those that the prober chose first."""
    chosen = list(_chosen(desk, answers))
    names = [name for name in chosen if name in desk.known.probes]
    for name in (*names, *(name for name in desk.known.probes if name not in chosen)):
        probe = desk.known.probes[name]
        text = (
            f"{probe.question} {probe.value:.6g} {probe.unit}, half spread {probe.spread:.3g} ({probe.repeats} times)"
        )
        yield Fact(id=f"probe.{name}", text=text)


def _chosen(desk: Desk, answers: AnswersView | None) -> Iterable[str]:
    taken = answers.probes_chosen if answers is not None else None
    if taken is None or taken.answer is None:
        return ()
    return [choice.name for choice in ProberAnswer.model_validate_json(desk.blobs.get(taken.answer)).probes]


def claims(desk: Desk) -> Iterator[Fact]:
    """Claims that were checked and hold."""
    known = desk.known
    for claim in known.claims.values():
        if claim.standing(known.toolchain, known.toolchains).status == "valid":
            yield Fact(id=claim.id, text=f"{claim.made.sentence} ({claim.made.document}, {claim.made.heading})")


def rules(desk: Desk) -> Iterator[Fact]:
    """Rules of the compiler that hold."""
    known = desk.known
    for rule in known.rules.values():
        if rule.standing(known.toolchain, known.toolchains).status == "valid":
            yield Fact(id=rule.id, text=f"{rule.derived.kind}: {rule.derived.explanation}")


def lessons(desk: Desk, kernel: str) -> Iterator[Fact]:
    """What helped and what hurt, from decided comparisons; of ``kernel`` where it is given, others after them."""
    known = desk.known
    held = [i for i in known.lessons.values() if i.standing(known.toolchain, known.toolchains).status == "valid"]
    for lesson in sorted(held, key=lambda each: each.drawn.kernel != kernel):
        drawn = lesson.drawn
        moved = ", ".join(f"{name} {drawn.before.get(name, '-')} -> {value}" for name, value in drawn.after.items())
        yield Fact(
            id=lesson.id,
            text=f"{drawn.kernel}: {moved} {drawn.effect}: {drawn.ratio:.4f}x over {drawn.pairs} pairs"
            f" (in {drawn.whole}, bottleneck {drawn.bottleneck})",
        )


def families(desk: Desk, kernel: str) -> Iterator[Fact]:
    """Families of changes that are closed; of ``kernel`` where it is given."""
    known = desk.known
    for family in known.families.values():
        closed = family.closed
        if kernel in ("", closed.kernel) and family.standing(known.toolchain, known.toolchains).status == "valid":
            text = f"closed for {closed.kernel}: {closed.lever} = {closed.value} in {closed.whole}: {closed.reason}"
            yield Fact(id=family.id, text=text)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z][a-z0-9_]{3,}", text.lower()))
