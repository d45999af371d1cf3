"""Tools of a specialist: read-only views of the log, and tries at a build. There is no other, and none runs a shell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from autogen_core.tools import FunctionTool

from ..brief import story
from ..desk import Desk
from ..facts import all_facts
from ..quote import one_line, quoted
from ..settings import Role

BUILDING: frozenset[Role] = frozenset({"architect", "engineer"})
"""Roles that may try a build."""


def tools_of(role: Role, desk: Desk, kernel: str, builds: int) -> list[FunctionTool]:
    """The tools of ``role``, over one kernel; ``builds`` is how many tries at a build there are."""
    tools = [_knowledge(desk)]
    if kernel:
        tools.append(_design(desk, kernel))
        if role in BUILDING and builds:
            tools.append(_build(desk, kernel, builds))
    return tools


def _knowledge(desk: Desk) -> FunctionTool:
    async def look_up_knowledge(words: str) -> str:
        wanted = words.lower().split()
        found = [f for f in all_facts(desk) if not wanted or any(word in f"{f.id} {f.text}".lower() for word in wanted)]
        lines = "\n".join(f"[{one_line(f.id)}] {one_line(f.text, 400)}" for f in found)
        return quoted("knowledge", lines or "nothing is known of that")

    return _tool(look_up_knowledge, "Valid items of knowledge about the target that hold one of the words; all for ''.")


def _design(desk: Desk, kernel: str) -> FunctionTool:
    async def show_design(design: str) -> str:
        designs = desk.tree(kernel).designs
        if design not in designs:
            return quoted("designs", f"there is no such design; there are {', '.join(designs)}")
        found = designs[design]
        told = story(found).model_dump_json()
        log = found.failed.log if found.failed is not None else None
        parts = [quoted(f"record of {design}", told), quoted(f"source of {design}", desk.source(kernel, design))]
        if log is not None:
            parts.append(quoted(f"what its {found.failed.check if found.failed else ''} said", desk.blobs.text(log)))
        return "\n\n".join(parts)

    return _tool(show_design, "The record and the source of a design of this kernel, by its id such as d0003.")


def _build(desk: Desk, kernel: str, builds: int) -> FunctionTool:
    left = [builds]

    async def try_build(source: str) -> str:
        if left[0] <= 0:
            return quoted("build", "no tries are left; give your answer")
        left[0] -= 1
        spec = desk.specs[kernel]
        seen = desk.target.review(spec, source)
        if not seen.ok:
            return quoted("build", f"{seen.outcome}: {seen.reason}; {left[0]} tries left")
        # The compiler blocks for seconds; other samples of the round go on meanwhile.
        built = await asyncio.to_thread(desk.target.build, spec, source)
        return quoted("build", f"{built.outcome}; {left[0]} tries left\n{built.diagnostics}", 4 << 10)

    return _tool(try_build, "Compile a complete source, in the sandbox, without running it. Tries are limited.")


def _tool(function: Callable[..., object], description: str) -> FunctionTool:
    return FunctionTool(function, description, name=function.__name__)
