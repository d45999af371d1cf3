"""What a settled design teaches: rules from failures, lessons from decided comparisons, trust in estimates."""

from __future__ import annotations

from dataclasses import replace

from ...events.experience import EstimatePaired, FamilyClosed, LessonDrawn, RuleFired, RuleMet, VetoAudited
from ...events.tree import DesignChecked
from ...events.views.design import DECIDING, DesignView
from ...events.views.tree import TreeView
from ...hardware.concerns import depends_on
from ...hardware.outcome import Outcome
from ...knowledge.conditions import in_words
from ...knowledge.lessons import bottleneck, closing, draw, whole_of
from ...knowledge.rules import Failure, concern_of, derive, identify, rule_id
from ...knowledge.tokens import matches, tokenize
from ...knowledge.veto import correct, veto
from ..step import Step
from ..workbench import Workbench
from .knowledge import verifier

GOOD_SOURCES = 24
"""How many sources that pass a new rule is tried on: it must match none of them."""


def review_by_rules(wb: Workbench, step: Step, source: str) -> tuple[Outcome, str, dict[str, str | int | float]]:
    """Veto a source that a valid rule matches, or let it go to the compiler as an audit of that rule."""
    toolchain = wb.view.toolchain
    assert toolchain is not None, "observed before any review"
    coin = wb.secret("audit", step.kernel, step.design, step.epoch)
    found = veto(wb.known, wb.policy, toolchain.fingerprint, source, coin)
    if found is None:
        return Outcome.OK, "", {}
    wb.knowledge.note(
        wb.context,
        RuleFired,
        rule=found.rule,
        run=wb.view.name,
        kernel=step.kernel,
        design=step.design,
        vetoed=not found.audited,
        seconds_saved=0.0 if found.audited else _mean_build_seconds(wb.view.trees[step.kernel]),
    )
    if found.audited:
        return Outcome.OK, f"let through to audit {found.reason}", {"audits": found.rule}
    return Outcome.VETOED, found.reason, {"rule": found.rule}


def _mean_build_seconds(tree: TreeView) -> float:
    """What a build took on average, by the latest twenty designs."""
    recent = [tree.designs[name] for name in list(tree.designs)[-20:]]
    seconds = [c.seconds for design in recent for c in design.checks if c.check == "build" and c.seconds > 0]
    return sum(seconds) / len(seconds) if seconds else 0.0


def failure_details(source: str, outcome: Outcome, said: str) -> dict[str, str | int | float]:
    """What a failed check says of the rule that stands for its failure: the rule's name, whether or not it exists yet."""
    identified = identify(Failure(source, outcome, said, ""))
    return {} if identified is None else {"rule": rule_id(identified[2]), "kind": identified[0]}


def learn(wb: Workbench, step: Step) -> str:
    """Take from a settled design what it teaches."""
    tree = wb.view.trees[step.kernel]
    design = tree.designs[step.design]
    taught = [_audit(wb, step, design), _rule(wb, step, tree, design), _lesson(wb, step, tree, design)]
    _estimate(wb, step, tree, design)
    return ", ".join(word for word in taught if word) or "nothing"


def _audit(wb: Workbench, step: Step, design: DesignView) -> str:
    """Settle the audit of the rule that would have vetoed a design, and correct the rule when it was wrong."""
    review = next((c for c in reversed(design.checks) if c.check == "review"), None)
    name = None if review is None else review.details.get("audits")
    rule = wb.known.rules.get(name) if isinstance(name, str) else None
    if rule is None:
        return ""
    failed = design.failed
    right = failed is not None and failed.details.get("kind") == rule.derived.kind
    seconds = sum(c.seconds for c in design.checks if c.check == "build")
    audited = wb.knowledge.note(
        wb.context,
        VetoAudited,
        rule=rule.id,
        run=wb.view.name,
        kernel=step.kernel,
        design=design.id,
        right=right,
        outcome=design.outcome,
        seconds=seconds,
    )
    assert isinstance(audited, VetoAudited)
    rule = replace(rule, audits=[*rule.audits, audited])
    source = wb.source(step.kernel, design.id)
    correction = None if right else correct(rule, wb.policy, source)
    if correction is None:
        return "audit"
    if correction.level is None:
        wb.knowledge.check(
            wb.context,
            item=rule.id,
            kind="rule",
            outcome="failed",
            reason=correction.reason,
            depends=depends_on(wb.target, concern_of(rule.derived)),
            seconds=0.0,
        )
        return "retired"
    wb.knowledge.narrow(wb.context, rule.id, correction.level, correction.reason)
    _spare(wb, rule.id, rule.derived.condition[correction.level])
    return "narrowed"


def _spare(wb: Workbench, rule: str, pattern: tuple[tuple[str, ...], ...]) -> None:
    """Open the designs again that the rule had vetoed and that its narrower pattern does not match."""
    for kernel, tree in wb.view.trees.items():
        for name, stopped_by in tree.stopped.items():
            failed = tree.designs[name].failed
            vetoed = stopped_by == rule and failed is not None and failed.check == "review"
            if vetoed and not matches(pattern, tokenize(wb.source(kernel, name))):
                reason = f"rule {rule} does not match it any more: it is told by {in_words(pattern)}"
                wb.trees[kernel].reopen(wb.context, name, "rule", reason, rule)


def _rule(wb: Workbench, step: Step, tree: TreeView, design: DesignView) -> str:
    """Derive the rule of a failure, or count one more design that met a known rule."""
    failed = design.failed
    if failed is None or failed.check == "review" or "kind" not in failed.details:
        return ""
    name = str(failed.details["rule"])
    if name in wb.known.rules:
        return _met(wb, step, failed, name)
    said = wb.log.blobs.text(failed.log) if failed.log is not None else failed.reason
    source = wb.source(step.kernel, design.id)
    parent = _passing_parent(wb, step.kernel, tree, design)
    failure = Failure(source, Outcome(failed.outcome), said, parent)
    spec = wb.specs[step.kernel]
    with wb.timed("build"):
        verify = verifier(wb.target, spec, wb.secret("rule", step.kernel, design.id))
        good = _good_sources(wb, step.kernel, tree, "build" if failed.check == "build" else "oracle")
        draft = derive(wb.target, spec, failure, good, verify)
    if draft is None or draft.rule in wb.known.rules:
        return ""
    wb.knowledge.derive(
        wb.context,
        rule=draft.rule,
        kind=draft.kind,
        explanation=draft.explanation,
        condition=draft.condition,
        level=draft.level,
        failing=wb.log.blobs.put(draft.failing),
        passing=wb.log.blobs.put(draft.passing),
        original=wb.log.blobs.put(source),
        kernel=step.kernel,
        diagnostic=draft.diagnostic,
        fingerprint=draft.fingerprint,
        run=wb.view.name,
        design=design.id,
        tries=draft.tries,
        by_run=draft.by_run,
        depends=depends_on(wb.target, concern_of(draft)),
    )
    return "rule"


def _met(wb: Workbench, step: Step, failed: DesignChecked, name: str) -> str:
    """A failure that a known rule stands for: it fired, and where it was stale or retired it holds again."""
    rule = wb.known.rules[name]
    wb.knowledge.note(wb.context, RuleMet, rule=name, run=wb.view.name, kernel=step.kernel, design=step.design)
    toolchain = wb.view.toolchain.fingerprint if wb.view.toolchain is not None else ""
    if rule.standing(toolchain, wb.known.toolchains).status != "valid":
        wb.knowledge.check(
            wb.context,
            item=name,
            kind="rule",
            outcome="held",
            reason=f"{step.design} of {step.kernel} failed as the rule says: {failed.outcome}",
            depends=depends_on(wb.target, concern_of(rule.derived)),
            seconds=failed.seconds,
        )
    return "met"


def _passing_parent(wb: Workbench, kernel: str, tree: TreeView, design: DesignView) -> str:
    """The source of the nearest ancestor that passes, the baseline's at last."""
    name = design.proposed.parent
    while name is not None and tree.designs[name].failed is not None:
        name = tree.designs[name].proposed.parent
    return wb.source(kernel, name or tree.baseline or design.id)


def _good_sources(wb: Workbench, kernel: str, tree: TreeView, check: str) -> list[str]:
    """Sources that pass a check here, the latest first, the baseline among them."""
    passing = [d.id for d in tree.designs.values() if d.passed(check)]
    chosen = dict.fromkeys([*([tree.baseline] if tree.baseline else []), *reversed(passing)])
    return [wb.source(kernel, name) for name in list(chosen)[:GOOD_SOURCES]]


def _lesson(wb: Workbench, step: Step, tree: TreeView, design: DesignView) -> str:
    """Write down what a decided comparison shows, and close a family when it is the loss that does so."""
    lesson = draw(wb.policy, wb.view.name, tree, design)
    if lesson is None or lesson.lesson in wb.known.lessons or wb.view.toolchain is None:
        return ""
    assert design.verdict is not None, "a lesson comes from a verdict"
    whole, limit = whole_of(tree, design.verdict.against), bottleneck(tree)
    depends = depends_on(wb.target, "code")
    wb.knowledge.note(
        wb.context,
        LessonDrawn,
        lesson=lesson.lesson,
        run=wb.view.name,
        kernel=step.kernel,
        design=design.id,
        against=design.verdict.against,
        before=lesson.before,
        after=lesson.after,
        effect=lesson.effect,
        ratio=lesson.ratio,
        ratio_low=lesson.ratio_low,
        ratio_high=lesson.ratio_high,
        pairs=lesson.pairs,
        whole=whole,
        bottleneck=limit,
        evidence=lesson.evidence,
        depends=depends,
    )
    fingerprint = wb.view.toolchain.fingerprint
    for family in closing(wb.policy, wb.known, fingerprint, step.kernel, whole, limit, lesson):
        wb.knowledge.note(
            wb.context,
            FamilyClosed,
            family=family.family,
            run=wb.view.name,
            kernel=step.kernel,
            lever=family.lever,
            value=family.value,
            whole=whole,
            bottleneck=limit,
            reason=family.reason,
            lessons=family.lessons,
            depends=depends,
        )
    return lesson.effect


def _estimate(wb: Workbench, step: Step, tree: TreeView, design: DesignView) -> None:
    """Put the reading beside the estimate that came before it."""
    check = next((c for c in reversed(design.checks) if c.check == "estimate"), None)
    if check is None or not design.readings:
        return
    against = str(check.details["against"])
    differences = sorted(design.differences(DECIDING, against))
    if not differences:
        return
    noise = tree.noise
    wb.knowledge.note(
        wb.context,
        EstimatePaired,
        run=wb.view.name,
        kernel=step.kernel,
        design=design.id,
        change=str(check.details["change"]),
        estimated=float(check.details["log_ratio"]),
        measured=differences[len(differences) // 2],
        resolution=0.0 if noise is None else noise.scale / len(differences) ** 0.5,
        sampled=bool(check.details["sampled"]),
        accepted=design.accepted is not None,
        evidence=tuple(reading.ref for reading in design.evidence(DECIDING, against)),
        depends=depends_on(wb.target, "code"),
    )
