"""Derive a rule from a failure, and check a rule again: both ask the toolchain, neither asks an opinion."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..events.knowledge import CheckOutcome, RuleDerived, RuleKind
from ..hardware.concerns import Concern
from ..hardware.outcome import Outcome
from ..hardware.target import Target
from ..kernels.spec import KernelSpec
from .checking import Checked, first_line
from .conditions import Pattern, in_words, ladder, rung_that_spares
from .diagnostics import BUILD_TIME, LOADING, all_messages, diagnose, kind_of
from .reduce import nearest_passing, reduce_change, reduce_source
from .tokens import tokenize

BUILD_TRIES = 90
"""Builds that the reduction of one failure may ask for; a third of them are kept for the passing witness."""
REDUCE_SECONDS = 20.0
"""And how long that may take, in seconds of wall clock; finding the passing witness may take half as long again."""
HANG_TRIES = 8
"""The same for a compiler that does not end: each yes costs the whole time limit of a build."""
RUN_TRIES = 10
"""The same for failures that only a run shows."""
Verify = Callable[[str], tuple[Outcome, str]]
"""Builds and runs a source on fresh inputs: its outcome and reason."""


@dataclass(frozen=True)
class Failure:
    """A design that the toolchain refused, or that failed when it ran. ``parent`` is the nearest source that passed."""

    source: str
    outcome: Outcome
    said: str
    parent: str


@dataclass(frozen=True)
class Witnesses:
    """Sources of a rule: the reduced one that fails, the near one that passes, and the one that it was reduced from."""

    failing: str
    passing: str
    original: str


@dataclass(frozen=True)
class Draft:
    """A rule before it is recorded."""

    rule: str
    kind: RuleKind
    explanation: str
    condition: tuple[Pattern, ...]
    level: int
    failing: str
    passing: str
    diagnostic: str
    fingerprint: str
    tries: int
    by_run: bool
    """Whether it takes a run to see it, not a build alone."""


def rule_id(fingerprint: str) -> str:
    """The name of the rule for a diagnostic: one cluster of failures, one rule."""
    return f"r-{fingerprint[:12]}"


def identify(failure: Failure) -> tuple[RuleKind, str, str] | None:
    """Kind, normalized message and fingerprint of a failure; None when it says nothing about the toolchain."""
    kind = kind_of(failure.outcome, failure.said)
    return None if kind is None else (kind, *diagnose(kind, failure.said, failure.source))


def takes_run(rule: Draft | RuleDerived) -> bool:
    """Whether only a run shows what a rule is about."""
    return rule.by_run or rule.kind not in BUILD_TIME


def concern_of(rule: Draft | RuleDerived) -> Concern:
    """Which parts of the toolchain a rule rests on."""
    return "value" if takes_run(rule) else "compile"


def derive(
    target: Target, spec: KernelSpec, failure: Failure, good: Sequence[str], verify: Verify | None = None
) -> Draft | None:
    """The rule that a failure teaches, None when it teaches none or does not happen again.

    ``good`` are sources that pass: the rule must not match them. ``verify`` is needed for failures that a run shows.
    Raises TargetError when the machine is unfit.
    """
    identified = identify(failure)
    if identified is None:
        return None
    kind, message, fingerprint = identified

    original = set(all_messages(kind, failure.said, failure.source))
    by_build = kind in BUILD_TIME and failure.outcome not in LOADING

    def same_way(source: str) -> bool:
        if by_build:
            built = target.build(spec, source)
            outcome, said = built.outcome, built.diagnostics
        else:
            assert verify is not None
            outcome, said = verify(source)
        found = identify(Failure(source, outcome, said, ""))
        if found is None or found[2] != fingerprint:
            return False
        # A smaller source that is broken in other ways as well would be no witness of this.
        return not by_build or original.issuperset(all_messages(kind, said, source))

    if by_build:
        if not same_way(failure.source):
            return None
        tries = HANG_TRIES if kind == "compiler-hang" else BUILD_TRIES
        reduced = reduce_source(
            failure.source, same_way, tries * 2 // 3, REDUCE_SECONDS, contract(spec, failure.source)
        )
        failing = reduced.source if same_way(reduced.source) else failure.source
        found, asked = nearest_passing(failing, lambda s: target.build(spec, s).ok, tries // 3, REDUCE_SECONDS / 2)
        passing, spent = found or failure.parent, reduced.tries + asked
    elif verify is not None:
        failing, passing, spent = reduce_change(failure.parent, failure.source, same_way, RUN_TRIES, REDUCE_SECONDS)
    else:
        return None
    rungs = ladder(failing, passing, kind, message)
    # A design that fails in this way may well have built, and so stand among those that pass.
    level = rung_that_spares(rungs, 0, [tokenize(source) for source in good if source != failure.source])
    pattern = rungs[level] if level < len(rungs) else ()
    explanation = f"{_WORDS[kind]}: {first_line(message)}; told by {in_words(pattern)}"
    return Draft(
        rule_id(fingerprint),
        kind,
        explanation,
        rungs,
        level,
        failing,
        passing,
        message,
        fingerprint,
        spent,
        not by_build,
    )


def contract(spec: KernelSpec, source: str) -> Callable[[str], bool]:
    """What a reduction of ``source`` must not lose: the entry, and the includes of the contract's own header.

    Without them a witness could not pass whatever else is taken out of it.
    """
    includes = re.findall(r'(?m)^[ \t]*#[ \t]*include[ \t]*"[^"\n]*"', source)
    entry = re.compile(rf"\b{re.escape(spec.name)}\s*\(")
    needed = entry.search(source) is not None

    def keeps(candidate: str) -> bool:
        return all(line in candidate for line in includes) and (not needed or entry.search(candidate) is not None)

    return keeps


_WORDS: dict[RuleKind, str] = {
    "compile-error": "the compiler refuses it",
    "compiler-crash": "the compiler crashes",
    "compiler-hang": "the compiler does not end",
    "link-refusal": "it cannot be linked or loaded",
    "run-time-trap": "it traps when it runs",
    "wrong-value": "it builds, and gives wrong values",
}


def check_rule(
    target: Target, spec: KernelSpec, rule: RuleDerived, witnesses: Witnesses, verify: Verify | None = None
) -> Checked:
    """Try the witnesses again. The rule holds while the failing one fails in the same way.

    A witness that was reduced may fail for another reason under another toolchain; then the source that it was reduced
    from decides. Raises TargetError when the machine is unfit.
    """
    begun = time.perf_counter()
    concern = concern_of(rule)

    def found(outcome: CheckOutcome, reason: str, log: str) -> Checked:
        return Checked(outcome, reason, concern, time.perf_counter() - begun, log)

    def ask(source: str) -> tuple[Outcome, str]:
        if rule.kind in BUILD_TIME:
            built = target.build(spec, source)
            if not built.ok or not takes_run(rule):
                return built.outcome, built.diagnostics
        assert verify is not None
        return verify(source)

    if takes_run(rule) and verify is None:
        return found("unable", "it takes a run to tell, and there is no device", "")
    outcome, said = ask(witnesses.failing)
    if outcome is Outcome.OK:
        return found("failed", "its failing witness passes", said)
    now = identify(Failure(witnesses.failing, outcome, said, ""))
    if now is None:
        return found("unable", f"{outcome}: {first_line(said)}", said)
    if now[2] == rule.fingerprint:
        passes = takes_run(rule) or target.build(spec, witnesses.passing).ok
        note = "" if passes else "; its passing witness fails by now as well"
        return found("held", f"its failing witness still fails{note}", said)
    outcome, original = ask(witnesses.original)
    if outcome is Outcome.OK:
        return found("failed", f"the source that showed it passes; its witness fails otherwise: {now[1]}", original)
    return found("held", f"it still fails, with other words: {now[1]}", said)
