"""Screen a source by the contract alone, before anything is imported or compiled."""

from __future__ import annotations

import ast
import time

from ...kernels.spec import KernelSpec
from ..outcome import Outcome
from ..target import CheckReport
from .contract import SOURCE_LIMIT_BYTES, inputs
from .inside.allowed import Violation, uses


def _defines(spec: KernelSpec, source: str) -> Violation | None:
    """The entry must be there and take what the contract says; None when it does, or the source does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == spec.name:
            taken = len(node.args.posonlyargs) + len(node.args.args)
            wanted = len(inputs(spec))
            needed = taken - len(node.args.defaults)
            if node.args.vararg is None and not needed <= wanted <= taken:
                return Violation(
                    "entry", f"{spec.name} takes {taken} arguments, the contract gives {wanted}", node.lineno
                )
            return None
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == spec.name for target in targets):
            return None
    return Violation("entry", f"the entry {spec.name} is not defined", 1)


def violation(spec: KernelSpec, source: str) -> Violation | None:
    """The first rule that a source breaks; None for one that keeps to the contract."""
    if len(source.encode(errors="replace")) > SOURCE_LIMIT_BYTES:
        return Violation("source-size", f"more than {SOURCE_LIMIT_BYTES} bytes", 1)
    if "\0" in source:
        return Violation(
            "plain-text", "the source holds a NUL character", source.count("\n", 0, source.index("\0")) + 1
        )
    _, wrong = uses(source)
    if wrong is not None:
        return wrong
    wrong = _defines(spec, source)
    if wrong is None and "pallas_call" not in source:
        return Violation("pallas-call", "the work is to be done by pl.pallas_call", 1)
    return wrong


def review(spec: KernelSpec, source: str) -> CheckReport:
    """Screen ``source`` by the contract of ``spec``: ``ok``, or ``vetoed`` with the rule, the reason and the line."""
    start = time.perf_counter()
    found = violation(spec, source)
    seconds = time.perf_counter() - start
    if found is None:
        return CheckReport(Outcome.OK, "keeps to the contract", seconds)
    reason = f"{found.rule}, line {found.line}: {found.reason}"
    return CheckReport(Outcome.VETOED, reason, seconds, {"rule": found.rule, "line": found.line})
