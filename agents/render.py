"""From a typed task to the text of the user message. Every text that others wrote is quoted (:mod:`.quote`)."""

from __future__ import annotations

from collections.abc import Iterable

from .quote import one_line, quoted
from .roles import (
    AnyTask,
    ArchitectTask,
    EngineerTask,
    KernelTask,
    LibrarianTask,
    ProberTask,
    ReviewerTask,
    RoleTask,
    Story,
)


def render(task: AnyTask) -> str:
    """What a specialist is told beside its standing instructions."""
    parts = [_what(task)]
    if isinstance(task, KernelTask):
        parts.extend(_search(task))
    known = [f"[{one_line(fact.id)}] {one_line(fact.text, 400)}" for fact in task.knowledge]
    parts.append(_listed("Valid knowledge of the target", known))
    if isinstance(task, ArchitectTask | EngineerTask):
        parts.append(_section("Menu", [f"{entry.mechanism}: {entry.says}" for entry in task.menu]))
    if isinstance(task, ProberTask):
        parts.append(_listed("Offers", [f"{one_line(o.name)}: {one_line(o.question)}" for o in task.offers]))
    for piece in task.pieces:
        parts.append(f"## {one_line(piece.name)}\n\n{quoted(piece.name, piece.text)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _what(task: RoleTask) -> str:
    numbers = f"(question {task.ask}, sample {task.sample})"
    match task:
        case ArchitectTask():
            asked = f"Propose a whole-kernel design for {task.kernel}"
        case EngineerTask() if task.repair is not None:
            asked = f"Put right design {task.repair.design} of {task.kernel}, which failed its {one_line(task.repair.check)}"
        case EngineerTask():
            asked = f"Propose a small change to {task.best}, the best design of {task.kernel}"
        case ReviewerTask():
            asked = f"Review design {task.design} of {task.kernel}"
        case KernelTask():
            asked = f"Say what holds {task.best}, the best design of {task.kernel}, back"
        case LibrarianTask():
            asked = "Turn the documents below into claims"
        case _:
            asked = "Choose the microbenchmarks to run"
    text = f"# Task\n\n{asked}, on target {task.target} {numbers}."
    if isinstance(task, EngineerTask) and task.repair is not None:
        text += f" The check's reason:\n\n{quoted('reason', task.repair.reason)}"
    if isinstance(task, ReviewerTask):
        text += f"\n\n{quoted('title and mechanism', f'{task.title}: {task.mechanism}')}"
    return text


def _search(task: KernelTask) -> Iterable[str]:
    sizes = ", ".join(f"{name} = {size}" for name, size in task.dimensions.items())
    yield f"## Contract\n\n{quoted('contract', task.contract)}\n\nDimensions: {sizes}."
    how = "" if task.device else " as estimated (there is no device to read on)"
    state = [f"best: {task.best}, {_seconds(task.best_seconds)}{how}", f"floor: {_seconds(task.floor_seconds)}"]
    if task.best_seconds and task.floor_seconds:
        state.append(f"ratio to the floor: {task.best_seconds / task.floor_seconds:.3f}")
    yield _section("State", state)
    yield _listed("Path from the baseline to the best", [_story(s) for s in task.path])
    yield _listed("Helped", [_story(s) for s in task.helped])
    yield _listed("Hurt", [_story(s) for s in task.hurt])
    yield _listed("Near misses", [_story(s) for s in task.near_misses])
    yield _listed("Failed a check", [_story(s) for s in task.failed])
    if task.bottleneck is not None:
        yield f"## Bottleneck, as the analyst named it\n\n{task.bottleneck}\n\n{quoted('explanation', task.analysis)}"
    if task.lessons:
        yield f"## Lessons\n\n{quoted('lessons', chr(10).join(f'- {one_line(each)}' for each in task.lessons))}"


def _story(each: Story) -> str:
    said = f"{each.design} (from {each.parent or 'nothing'}, by {one_line(each.by, 60)}): '{one_line(each.title, 120)}'"
    if each.gain is not None:
        return f"{said}: accepted, gain {each.gain:.4f}x"
    if each.outcome != "ok":
        return f"{said}: {each.outcome}: '{one_line(each.reason, 160)}'"
    if each.ratio is not None:
        return f"{said}: {each.verdict or 'open'}, {each.ratio:.4f}x of {each.against} over {each.pairs} pairs"
    if each.verdict == "held":
        return f"{said}: held: '{one_line(each.reason, 160)}'"
    return f"{said}: {each.verdict or 'not compared'}"


def _section(heading: str, lines: Iterable[str]) -> str:
    listed = [f"- {line}" for line in lines]
    return f"## {heading}\n\n" + "\n".join(listed) if listed else ""


def _listed(heading: str, lines: Iterable[str]) -> str:
    """Lines that hold what others wrote (titles, reasons), as one quotation."""
    text = "\n".join(f"- {line}" for line in lines)
    return f"## {heading}\n\n{quoted(heading.lower(), text)}" if text else ""


def _seconds(value: float | None) -> str:
    return "not read yet" if value is None else f"{value * 1e6:.4g} us a call"
