"""Tasks for the roles, made from views alone: equal logs give equal tasks."""

from __future__ import annotations

import difflib
from math import exp
from typing import Any

from ..events.views.answers import AnswersView
from ..events.views.tree import DECIDING, DesignView, TreeView
from ..knowledge.documents import Section
from .desk import Desk, asks
from .facts import all_facts, facts
from .menu import served
from .roles import (
    AnalystAnswer,
    AnalystTask,
    ArchitectTask,
    EngineerTask,
    LibrarianTask,
    Piece,
    ProbeOffer,
    ProberTask,
    Repair,
    ReviewerTask,
    Story,
)
from .settings import RoleSettings

SHOWN = 6
"""Designs of each kind (helped, hurt, near misses, failed) in a prompt, the latest ones."""
NEAR = 0.97
"""A design that read at least this fast relative to its best, and was not accepted, is a near miss."""


def story(design: DesignView) -> Story:
    """A design as a specialist is told of it."""
    ratio, against, pairs = None, None, 0
    if design.readings:
        against = design.readings[-1].best
        differences = sorted(design.differences(DECIDING, against))
        pairs = len(differences)
        ratio = round(exp(differences[pairs // 2]), 4) if pairs else None
    verdict = design.verdict
    reason = design.failed.reason if design.failed else verdict.reason if verdict else ""
    return Story(
        design=design.id,
        parent=design.proposed.parent,
        by=design.proposed.by,
        title=design.proposed.title,
        outcome=design.outcome,
        verdict="accepted" if design.accepted else verdict.verdict if verdict else None,
        against=against,
        ratio=ratio,
        pairs=pairs,
        gain=round(design.accepted.gain, 4) if design.accepted else None,
        reason=reason,
    )


def path(tree: TreeView, design: str | None) -> tuple[Story, ...]:
    """A design and its ancestors, the baseline first."""
    chain: list[Story] = []
    while design is not None and design in tree.designs:
        chain.append(story(tree.designs[design]))
        design = tree.designs[design].proposed.parent
    return tuple(reversed(chain))


def difference(before: str, after: str, name_before: str, name_after: str) -> str:
    """A unified diff of two sources."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), name_before, name_after, lineterm="", n=2)
    return "\n".join(lines)


def kernel_fields(desk: Desk, answers: AnswersView, kernel: str) -> dict[str, Any]:
    """The fields of :class:`KernelTask` that only depend on the state of the search."""
    tree, spec = desk.tree(kernel), desk.specs[kernel]
    stories = [story(design) for design in tree.designs.values() if design.id != tree.baseline]
    near = [s for s in stories if s.verdict in ("undecided", "rejected") and s.ratio is not None and s.ratio >= NEAR]
    best = tree.leader or ""
    pieces = [Piece(name=f"source of the best design {best}", text=desk.source(kernel, best))] if best else []
    for each in near[-2:]:
        parent = each.parent or best
        text = difference(desk.source(kernel, parent), desk.source(kernel, each.design), parent, each.design)
        pieces.append(Piece(name=f"near miss {each.design} against its parent {parent}", text=text))
    analysis = latest_analysis(desk, answers, kernel)
    return {
        "target": desk.target.name,
        "as_of": desk.view.position,
        "kernel": kernel,
        "contract": desk.target.contract(spec),
        "dimensions": dict(spec.dimensions),
        "knowledge": facts(desk, kernel, answers),
        "best": best,
        "best_seconds": tree.leader_seconds,
        "floor_seconds": tree.floor.seconds if tree.floor else None,
        "path": path(tree, best),
        "device": desk.view.device,
        "helped": tuple(s for s in stories if s.gain is not None or (s.verdict == "held" and s.outcome == "ok"))[
            -SHOWN:
        ],
        "hurt": tuple(s for s in stories if s.verdict == "rejected" and s.ratio is not None and s.ratio < 1)[-SHOWN:],
        "near_misses": tuple(near[-SHOWN:]),
        "failed": tuple(s for s in stories if s.outcome != "ok")[-SHOWN:],
        "pieces": tuple(pieces),
        "bottleneck": analysis.bottleneck if analysis else None,
        "analysis": analysis.explanation if analysis else "",
        "lessons": analysis.lessons if analysis else (),
    }


def latest_analysis(desk: Desk, answers: AnswersView, kernel: str) -> AnalystAnswer | None:
    """What the analyst said last of a kernel."""
    taken = answers.analyses.get(kernel)
    if taken is None or taken.answer is None:
        return None
    return AnalystAnswer.model_validate_json(desk.blobs.get(taken.answer))


def architect_task(
    desk: Desk, answers: AnswersView, kernel: str, settings: RoleSettings, sample: int = 0
) -> ArchitectTask:
    """Ask for a whole-kernel design."""
    ask = asks(desk.view, kernel)
    menu = served(desk.target.name, settings.menu_dropout, desk.seed, kernel, "architect", ask, sample)
    return ArchitectTask(**kernel_fields(desk, answers, kernel), ask=ask, sample=sample, menu=menu)


def engineer_task(
    desk: Desk,
    answers: AnswersView,
    kernel: str,
    settings: RoleSettings,
    sample: int = 0,
    repair: str | None = None,
) -> EngineerTask:
    """Ask for a small change of the best, or for the design ``repair`` to be put right."""
    ask = asks(desk.view, kernel)
    fields = kernel_fields(desk, answers, kernel)
    menu = served(desk.target.name, settings.menu_dropout, desk.seed, kernel, "engineer", ask, sample)
    if repair is None:
        return EngineerTask(**fields, ask=ask, sample=sample, menu=menu)
    design = desk.tree(kernel).designs[repair]
    failed = design.failed
    pieces = [Piece(name=f"source of the failed design {repair}", text=desk.source(kernel, repair))]
    if failed is not None and failed.log is not None:
        pieces.append(Piece(name=f"what the {failed.check} of {repair} said", text=desk.blobs.text(failed.log)))
    fields["pieces"] = tuple(pieces)
    told = Repair(
        design=repair,
        parent=design.proposed.parent,
        check=failed.check if failed else "",
        reason=failed.reason if failed else "",
    )
    return EngineerTask(**fields, ask=ask, sample=sample, menu=menu, repair=told)


def reviewer_task(desk: Desk, answers: AnswersView, kernel: str, design: str) -> ReviewerTask:
    """Ask for an opinion of a design before it is compiled."""
    proposed = desk.tree(kernel).designs[design].proposed
    attributed = answers.attributed.get((kernel, design))
    fields = kernel_fields(desk, answers, kernel)
    fields["pieces"] = (Piece(name=f"source of design {design}", text=desk.source(kernel, design)),)
    return ReviewerTask(
        **fields,
        ask=int(design.lstrip("d") or 0),
        design=design,
        title=proposed.title,
        mechanism=attributed.mechanism if attributed else proposed.title,
    )


def analyst_task(desk: Desk, answers: AnswersView, kernel: str) -> AnalystTask:
    """Ask what holds the best of a kernel back; what its build said of it (a schedule, where there is one) comes along."""
    fields = kernel_fields(desk, answers, kernel)
    best = desk.tree(kernel).designs[fields["best"]] if fields["best"] else None
    built = next((c for c in reversed(best.checks) if c.check == "build" and c.log), None) if best is not None else None
    if best is not None and built is not None and built.log is not None:
        said = Piece(name=f"what the build of {best.id} said", text=desk.blobs.text(built.log))
        fields["pieces"] = (*fields["pieces"], said)
    return AnalystTask(**fields, ask=answers.analysed_at.get(kernel, 0))


def librarian_task(desk: Desk, section: Section) -> LibrarianTask:
    """Ask for the claims of a section of a document; the section's digest numbers the question."""
    piece = Piece(name=f"{section.document}: {section.heading}", text=section.text)
    ask = int(section.digest[:8], 16)
    return LibrarianTask(target=desk.target.name, as_of=desk.view.position, ask=ask, pieces=(piece,))


def prober_task(desk: Desk, ask: int = 0) -> ProberTask:
    """Ask which of the target's microbenchmarks are worth another run."""
    offers = tuple(ProbeOffer(name=p.name, question=p.question) for p in desk.known.probes.values())
    return ProberTask(
        target=desk.target.name, as_of=desk.view.position, ask=ask, knowledge=all_facts(desk), offers=offers
    )
