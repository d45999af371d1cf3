"""The contract of a visa design, as text for people and language models."""

from __future__ import annotations

from ....kernels.spec import KernelSpec
from .bundle import DEVICE, MAIN
from .project import Project
from .review import RULES


def contract(spec: KernelSpec, project: Project) -> str:
    """What a source may be, what it must keep, and what becomes of it."""
    refused = "\n".join(f"- {rule.name}: {rule.why}" for rule in RULES)
    arguments = "\n".join(
        f"- {each.name}: {each.dtype} {list(each.shape)}, {each.direction}, {each.role}" for each in spec.arguments
    )
    return f"""A design of {spec.name} is Rust for RNGD (furiosa-opt), put into the package {project.package}.

The source is one text. Each file stands after a line `//// file: PATH`; a text without such a line is {MAIN}. A design may
bring {MAIN} and files under {DEVICE}/ and nothing else; one that brings no file under {DEVICE}/ keeps the project's.

The device function is {project.function(spec.name)}: name, parameters and types stay as the project has them, for the
program that launches it is compiled against them. Other kernels of the project must still compile.

The kernel: {spec.summary}. Arguments:
{arguments}

Refused before any compiler:
{refused}

Then: the compiler (its schedule is the estimate: makespan, busy share of each context), values on the CPU where the
emulator can express the design (a panic there is no verdict), and readings on the chip where there is an account.
"""
