"""The playbook behind the specialists' port: no model, no network, equal answers to equal tasks."""

from __future__ import annotations

from ..port import NothingLeft, Proposal, ProposeTask
from ..port import Tried as PortTried
from .chooser import Exhausted, Situation, Tried, choose
from .isa import from_macros
from .space import supported


class Playbook:
    """A deterministic specialist that searches the structured design space of a kernel."""

    name = "playbook"

    def propose(self, task: ProposeTask) -> Proposal | NothingLeft:
        """The next design of the space, chosen by what was measured."""
        isa = from_macros(task.macros)
        if not supported(task.kernel, isa):
            return NothingLeft(
                reason=f"the playbook has no design space for {task.kernel} on {task.target}; "
                "submit designs of your own with `kernelwright submit`"
            )
        ratio = None
        if task.best_seconds is not None and task.floor_seconds is not None:
            ratio = task.best_seconds / task.floor_seconds
        situation = Situation(
            kernel=task.kernel,
            isa=isa,
            tried=relative_to_parents(task.tried),
            best=task.best,
            seed=task.seed,
            floor_ratio=ratio,
            probes=task.probes,
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


def relative_to_parents(tried: tuple[PortTried, ...]) -> list[Tried]:
    """Designs as the chooser wants them: gains over the parent, where the log has gains over the best of the time.

    Gains are put on one scale first: that of a design is its gain over the best that it was read against, plus that
    best's own.
    """
    level: dict[str, float] = {}
    out = []
    for design in tried:
        if design.kind == "baseline":
            level[design.id] = 0.0
        elif design.log_gain is not None and design.against in level:
            level[design.id] = level[design.against] + design.log_gain
        gain = None
        if design.id in level and design.parent in level:
            gain = level[design.id] - level[design.parent]
        out.append(Tried(design.id, design.parent, design.levers, design.outcome, design.verdict, gain))
    return out
