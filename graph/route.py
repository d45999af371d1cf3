"""The router: a pure function from the folded run to the next step. No clock, no device, no randomness.

Time enters through the log alone: the run's age is that of its latest event.
"""

from __future__ import annotations

from math import inf, log, sqrt

from ..acceptance.alarm import anchors_due
from ..acceptance.policy import Policy
from ..events.views.decisions import comparison
from ..events.views.knowledge import KnowledgeView
from ..events.views.run import RunView
from ..events.views.tree import DesignView, TreeView
from ..knowledge.due import due_items, stale_probes, unstudied
from ..knowledge.reopening import reopenable
from .step import Step

CLOSING_SECONDS = 10.0
"""Kept back for each kernel at the end: its last floor and the comparison of its best with the baseline."""
RECHECK_SECONDS = 2.0
"""Kept back for each accepted design: its recheck on unseen seeds."""
RECALIBRATE_RATIO = 1.5
"""A best this many times faster than the design that the noise was calibrated with is calibrated itself."""
PATIENCE = 2
"""How many designs without a gain make a kernel count as a little stuck."""


def route(view: RunView, policy: Policy, known: KnowledgeView | None = None) -> Step:
    """The next step of a run, from what is folded of it and of its target's knowledge base."""
    if view.toolchain is None or not view.observed:
        return Step("observe", turn=view.observations)
    if known is not None:
        step = _know(view, known, view.toolchain.fingerprint)
        if step is not None:
            return step
    elif view.finished("probe") < 1:
        return Step("probe")
    trees = [tree for tree in view.trees.values() if tree.refused is None]
    for tree in trees:
        step = _prepare(view, tree)
        if step is not None:
            return step
    for tree in trees:
        if tree.unlearned:
            name = next(iter(tree.unlearned))
            return Step("learn", tree.kernel, name, turn=len(tree.designs[name].positions))
    for tree in trees:
        step = _again(tree, known, view.toolchain.fingerprint)
        if step is not None:
            return step
    for tree in trees:
        if tree.working is not None:
            design = tree.designs[tree.working]
            return _advance(tree, design, policy) if view.device else _advance_held(tree, design)
    for tree in trees if view.device else ():
        step = _anchor(view, tree, policy, ended=False)
        if step is not None:
            return step
    if searching(view):
        candidates = [tree for tree in trees if not tree.exhausted]
        tree = max(candidates, key=promise)
        # A round may register no design or several: counting both tells each from the one before.
        return Step("propose", tree.kernel, turn=len(tree.designs) + view.finished("propose", tree.kernel))
    for tree in trees:
        step = _close(view, tree, policy) if view.device else _close_held(tree)
        if step is not None:
            return step
    return Step("finish", turn=view.starts)


def _know(view: RunView, known: KnowledgeView, toolchain: str) -> Step | None:
    """What has to be studied, checked or measured before anyone relies on it: documents, items, probes."""
    for document in unstudied(known):
        return Step("study", item=f"{document}@{known.documents[document].digest}")
    for due in known.once(("due", toolchain), lambda: due_items(known, toolchain)):
        return Step("check_item", item=due.item, turn=due.turn)
    if view.finished("probe") < 1 or (toolchain not in view.probed and stale_probes(known, toolchain)):
        return Step("probe", turn=view.finished("probe"))
    return None


def _again(tree: TreeView, known: KnowledgeView | None, toolchain: str) -> Step | None:
    """A design to take up again: the best of another toolchain, or one that only a rule had stopped."""
    if tree.retry:
        # The bests of another toolchain come first: what is opened again is then compared with the one that stands.
        if tree.working is not None:
            return None
        name = tree.retry[0]
        return Step("reopen", tree.kernel, name, epoch=len(tree.designs[name].epochs))
    found = reopenable(tree, known, toolchain) if known is not None else None
    if found is None:
        return None
    name, rule = found
    return Step("reopen", tree.kernel, name, item=rule, epoch=len(tree.designs[name].epochs))


def searching(view: RunView) -> bool:
    """Whether there is time and something left to search."""
    trees = [tree for tree in view.trees.values() if tree.refused is None]
    closing = sum(CLOSING_SECONDS + RECHECK_SECONDS * len(tree.lineage) for tree in trees)
    reserve = min(closing, 0.25 * view.minutes * 60)
    return view.elapsed_seconds < view.minutes * 60 - reserve and any(not tree.exhausted for tree in trees)


def promise(tree: TreeView) -> float:
    """How much a kernel is worth another design: its distance from the floor, less when it has long been stuck."""
    ratio = tree.floor_ratio
    distance = inf if ratio is None else max(log(ratio), 0.01)
    return distance / sqrt(1 + tree.fruitless / PATIENCE)


def _prepare(view: RunView, tree: TreeView) -> Step | None:
    """What a kernel needs before it can be searched: admission, a verified baseline, its floor, its noise."""
    kernel = tree.kernel
    if tree.started is None:
        return Step("admit", kernel)
    if tree.baseline is None:
        return Step("baseline", kernel)
    baseline = tree.designs[tree.baseline]
    epoch = len(baseline.epochs)
    if not baseline.passed("build"):
        return Step("build", kernel, baseline.id, epoch=epoch)
    if not baseline.went_through("oracle"):
        return Step("verify", kernel, baseline.id, epoch=epoch)
    if tree.floor is None:
        return Step("floor", kernel, turn=tree.floors)
    if not view.device:
        return None if baseline.passed("estimate") else Step("estimate", kernel, baseline.id, epoch=epoch)
    if tree.noise is None or tree.noise.refused or _outgrown(tree):
        return Step("calibrate", kernel, turn=view.finished("calibrate", kernel))
    return None


def _outgrown(tree: TreeView) -> bool:
    """Whether the best has become so much faster that what one reading is has to be chosen anew."""
    if tree.noise is None or tree.best_seconds is None or tree.working is not None:
        return False
    return tree.noise.design != tree.best and tree.noise.seconds > RECALIBRATE_RATIO * tree.best_seconds


def _advance(tree: TreeView, design: DesignView, policy: Policy) -> Step:
    """The next step of a design that is being worked on: checks in rising order of cost, then the comparison."""
    kernel, name, best, epoch = tree.kernel, design.id, tree.best or "", len(design.epochs)
    for check, step in (("review", "review"), ("build", "build"), ("oracle", "verify"), ("screen", "screen")):
        # Where values cannot be had beforehand, the outputs of the timed calls are compared, as they are in any case.
        if not design.went_through(check):
            return Step(step, kernel, name, epoch=epoch)  # type: ignore[arg-type]  # the four are step names
    if design.verdict is not None and design.verdict.against == best:
        if not design.evidence(("confirm",), best):
            return Step("confirm", kernel, name, epoch=epoch)
        return Step("accept", kernel, name, epoch=epoch)
    if comparison(policy, design, best).verdict == "continue":
        return Step("compare", kernel, name, turn=len(design.evidence(("decide",), best)), epoch=epoch)
    return Step("judge", kernel, name, epoch=epoch)


def _advance_held(tree: TreeView, design: DesignView) -> Step:
    """The same without a device. The estimate comes before the values: running for them takes longer than predicting."""
    for check, step in (("review", "review"), ("build", "build"), ("estimate", "estimate"), ("oracle", "verify")):
        if not design.went_through(check):
            return Step(step, tree.kernel, design.id, epoch=len(design.epochs))  # type: ignore[arg-type]  # the four are step names
    return Step("judge", tree.kernel, design.id, epoch=len(design.epochs))


def _close_held(tree: TreeView) -> Step | None:
    """At the end the provisional best is run on unseen seeds, if it could be run at all; one that fails loses its place."""
    design = tree.designs[tree.provisional] if tree.provisional is not None else None
    if design is None or not design.passed("oracle") or design.passed("recheck"):
        return None
    return Step("recheck", tree.kernel, design.id, epoch=len(design.epochs))


def _anchor(view: RunView, tree: TreeView, policy: Policy, *, ended: bool) -> Step | None:
    """A comparison of the best with where it came from: the baseline, and the best of some acceptances ago."""
    for acceptances in anchors_due(policy, len(tree.lineage), ended=ended):
        earlier = tree.lineage[acceptances - 1].design if acceptances else ""
        if not tree.anchored(earlier or tree.baseline or ""):
            return Step("anchor", tree.kernel, tree.best or "", turn=view.finished("anchor", tree.kernel), item=earlier)
    return None


def _close(view: RunView, tree: TreeView, policy: Policy) -> Step | None:
    """What a kernel gets at the end: its floor again, what was accepted on unseen seeds, its best against its anchors."""
    kernel, best = tree.kernel, tree.best or ""
    for accepted in tree.lineage:
        design = tree.designs[accepted.design]
        if not design.went_through("recheck"):
            return Step("recheck", kernel, design.id, epoch=len(design.epochs))
    if tree.floor_with_best != best:
        return Step("floor", kernel, turn=tree.floors)
    return _anchor(view, tree, policy, ended=True)
