"""Screen a TCL source by the contract alone, before any compiler: cheap, and with the line that broke the rule.

The compiler's own rules are not repeated here: they are learned from what it says.
"""

from __future__ import annotations

import re
import time

from ....kernels.spec import KernelSpec
from ...outcome import Outcome
from ...target import CheckReport
from .contract import GRAPH_OPERATIONS, SOURCE_LIMIT_BYTES, TACTICS, signature_problem
from .program import ProgramError, parse


def _violation(spec: KernelSpec, source: str) -> tuple[str, str, int] | None:
    """Rule, reason and line of the first violation found; None for a source that keeps to the contract."""
    if len(source.encode(errors="replace")) > SOURCE_LIMIT_BYTES:
        return "source-size", f"more than {SOURCE_LIMIT_BYTES} bytes", 1
    for number, line in enumerate(source.splitlines(), 1):
        if re.search(r"[^\t\x20-\x7e]", line.split("#", 1)[0]):
            return "plain-text", "code is printable ASCII", number
        if line.lstrip().startswith("@"):
            return "no-configuration", "the compiler is configured alike for every design", number
    try:
        program = parse(source)
    except ProgramError as error:
        found = re.match(r"line (\d+): (.*)", str(error), re.DOTALL)
        return "program", found.group(2) if found else str(error), int(found.group(1)) if found else 1
    for statement in program.statements:
        allowed = TACTICS if statement.is_tensor_operation else GRAPH_OPERATIONS
        if statement.operation not in allowed:
            return "operations", f"{statement.operation} is not one of {', '.join(allowed)}", statement.line
    problem = signature_problem(spec, program)
    return ("signature", problem, 1) if problem else None


def review(spec: KernelSpec, source: str) -> CheckReport:
    """Screen ``source`` by the contract of ``spec``: ``ok``, or ``vetoed`` with the rule, the reason and the line."""
    start = time.perf_counter()
    found = _violation(spec, source)
    seconds = time.perf_counter() - start
    if found is None:
        return CheckReport(Outcome.OK, "keeps to the contract", seconds)
    rule, reason, line = found
    return CheckReport(Outcome.VETOED, f"{rule}, line {line}: {reason}", seconds, {"rule": rule, "line": line})
