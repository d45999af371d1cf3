"""The playbook behind the specialists' port: no model, no network, equal answers to equal tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..port import NothingLeft, Proposal, ProposeTask
from ..port import Tried as PortTried
from .chooser import Exhausted, Situation, Tried, choose
from .space import Place
from .spaces import find_space


class Playbook:
    """A deterministic specialist that searches the structured design space of a kernel."""

    name = "playbook"

    def propose(self, task: ProposeTask) -> Proposal | NothingLeft:
        """The next design of the space, chosen by what was measured, or by estimates where there is no device."""
        space = find_space(Place(task.target, task.kernel, task.dimensions, task.macros, task.probes))
        if space is None:
            return NothingLeft(
                reason=f"the playbook has no design space for {task.kernel} on {task.target}; "
                "submit designs of your own with `kernelwright submit`"
            )
        ratio = None
        if task.best_seconds is not None and task.floor_seconds is not None:
            ratio = task.best_seconds / task.floor_seconds
        situation = Situation(
            space=space,
            tried=relative_to_parents(task.tried, task.by_estimate),
            best=task.best,
            seed=task.seed,
            floor_ratio=ratio,
            elsewhere=_of_other_kernels(task),
            closed=frozenset(task.closed),
        )
        answer = choose(situation)
        if isinstance(answer, Exhausted):
            return NothingLeft(reason=answer.reason)
        return Proposal(
            kind=answer.kind,
            parent=answer.parent or task.best,
            role="architect" if answer.kind == "whole" else "engineer",
            title=answer.title,
            rationale=answer.rationale,
            levers=dict(answer.levers),
            source=answer.source,
        )


def relative_to_parents(tried: Iterable[PortTried], by_estimate: bool = False) -> list[Tried]:
    """Designs as the chooser wants them: gains over the parent, where the log has gains over the best of the time.

    Gains are put on one scale first: that of a design is its gain over the best that it was read against, plus that
    best's own. ``by_estimate`` takes gains in estimated seconds for readings; a held design with one was the best of its
    time, as an accepted one is where there are readings.
    """
    level: dict[str, float] = {}
    out = []
    for design in tried:
        against, log_gain, verdict = design.against, design.log_gain, design.verdict
        if by_estimate:
            against, log_gain = design.estimated_against, design.estimated_log_gain
            if verdict == "held":
                verdict = "accepted" if log_gain is not None and log_gain > 0 else "rejected"
        if design.kind == "baseline":
            level[design.id] = 0.0
        elif log_gain is not None and against in level:
            level[design.id] = level[against] + log_gain
        gain = None
        if design.id in level and design.parent in level:
            gain = level[design.id] - level[design.parent]
        out.append(Tried(design.id, design.parent, design.levers, design.outcome, verdict, gain))
    return out


def _of_other_kernels(task: ProposeTask) -> list[Tried]:
    """Designs of the run's other kernels, under names that are unique among them."""
    found = []
    for kernel, tried in task.elsewhere.items():
        for each in relative_to_parents(tried, task.by_estimate):
            parent = None if each.parent is None else f"{kernel}/{each.parent}"
            found.append(replace(each, id=f"{kernel}/{each.id}", parent=parent))
    return found
