"""Values of a design on the CPU: the project's own test program under plain ``cargo test``.

The emulator behind it does not cover the chip, so that a panic says little: it may be a shape that the emulator cannot
express. Only a comparison that was made and failed counts against a design; what could not be compared is ``no-values``.
"""

from __future__ import annotations

import re

from ....kernels.spec import KernelSpec
from ...outcome import Outcome
from ...sandbox import Finished
from ...target import CheckReport
from .arena.log import ArenaLog, parse_log
from .build import run_tool
from .bundle import BundleError, split_bundle
from .commands import values_command
from .diagnostics import readable
from .tools import Tools
from .workspace import design_folder

VALUES_SECONDS = 1200.0
"""Wall-clock limit of building and running the test program on the CPU."""
_PANIC = re.compile(
    r"thread '(?P<thread>[^']*)' (?:\(\d+\) )?panicked at (?P<place>[^\s:]+(?::\d+){0,2}):\s*"
    r"(?:\n(?P<next>[^\n]*)|(?P<same>[^\n]*))"
)
_EMULATOR = re.compile(r"furiosa[-_]opt|furiosa[-_]mapping|/\.cargo/registry/|library/(?:core|std|alloc)/")
_BUILD_ERROR = re.compile(r"^error(?:\[E\d+\])?:", re.MULTILINE)
_KEPT = 2000


def values(tools: Tools, spec: KernelSpec, source: str) -> CheckReport:
    """Run the project's test program with the design's sources on the CPU, confined; see :func:`judged`."""
    try:
        files = split_bundle(source)
    except BundleError as error:
        return CheckReport(Outcome.VETOED, f"source-files: {error}", 0.0)
    with design_folder(tools, files) as folder:
        done = run_tool(tools, folder, values_command("cargo", tools.project), spec.name, VALUES_SECONDS)
    return judged(done, spec.name)


def judged(done: Finished, kernel: str) -> CheckReport:
    """What a run of the test program says of one kernel's values.

    ``ok``: every comparison of the kernel passed. ``wrong-value``: one failed. ``build-failed``: the CPU build refused the
    source. ``no-values``: a panic, a hang, or nothing about this kernel; the reason says which, and whose it seems.
    """
    text = readable(done.output)
    log = parse_log(text)
    own = [check for check in log.checks if check.kernel == kernel]
    details: dict[str, float | str | int] = {"comparisons": len(own), **_largest(log, kernel)}
    failed = [check for check in own if not check.passed]
    if failed:
        first = failed[0]
        reason = f"{first.kernel} {first.label}".strip() + f": max|d| = {first.max_difference:g}, outside the tolerance"
        return CheckReport(Outcome.WRONG_VALUE, reason, done.seconds, details)
    if done.status is None:
        reason = f"the CPU run was ended after {done.seconds:.0f} s: no values"
        return CheckReport(Outcome.NO_VALUES, reason, done.seconds, details)
    panic = _PANIC.search(text)
    if panic is not None:
        place, said = panic.group("place"), (panic.group("next") or panic.group("same") or "").strip()
        whose = (
            "in the emulator or its library" if _EMULATOR.search(place) else "in the project, perhaps for the emulator"
        )
        reason = f"panic {whose}, at {place}: {said}"[:_KEPT]
        return CheckReport(Outcome.NO_VALUES, reason, done.seconds, {**details, "panic_at": place})
    if done.status != 0 and not own and _BUILD_ERROR.search(text):
        return CheckReport(Outcome.BUILD_FAILED, f"the CPU build fails:\n{text[-_KEPT:]}", done.seconds, details)
    if not own:
        reason = f"the test program compared nothing of {kernel} (exit status {done.status})"
        return CheckReport(Outcome.NO_VALUES, reason, done.seconds, details)
    return CheckReport(Outcome.OK, "", done.seconds, details)


def _largest(log: ArenaLog, kernel: str) -> dict[str, float]:
    found = [check.max_difference for check in log.checks if check.kernel == kernel]
    return {"max_difference": max(found)} if found else {}
