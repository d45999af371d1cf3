"""An A/A run through the whole product: ``./benchmarks/aa/run``.

Candidates are the same design with another constant that nothing uses, so that their artifacts differ and their speed does
not. They go through the real loop: router, steps, log, sandbox, oracle, paired readings, the sequential test. Whatever is
accepted is a false acceptance. Standard output is Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright import __version__
from kernelwright.acceptance.policy import Policy
from kernelwright.agents.playbook.cpu.isa import from_macros
from kernelwright.agents.playbook.cpu.space import CpuSpace
from kernelwright.agents.playbook.space import start
from kernelwright.agents.port import NothingLeft, Proposal, ProposeTask
from kernelwright.cli.guard import tell_who_waits
from kernelwright.cli.logs import configure
from kernelwright.events.log import EventLog
from kernelwright.events.views.design import DECIDING
from kernelwright.events.views.explain import status_of
from kernelwright.events.views.run import RunView
from kernelwright.events.views.tree import TreeView
from kernelwright.graph.runner import Plan, drive, start_run, workbench
from kernelwright.graph.step import Step
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.kernels.registry import TINY, kernel

KERNEL = "sliding_attention_output"
RUN = "aa"


def variant(source: str, number: int) -> str:
    """The design with constant ``number``: as many bytes of read-only data for each, so that all else stays in place."""
    return f'{source}\n__attribute__((used)) static const char which_one[16] = "variant {number:06d}";\n'


@dataclass
class Same:
    """Proposes the same design again and again, each with another constant."""

    source: str
    candidates: int
    name: str = "script"

    def propose(self, task: ProposeTask) -> Proposal | NothingLeft:
        """The next variant, or that there were enough."""
        number = len(task.tried)
        if number > self.candidates:
            return NothingLeft(reason=f"{self.candidates} equal candidates were proposed")
        return Proposal(
            kind="small",
            parent=task.best,
            role="engineer",
            title=f"variant {number}",
            rationale="no faster, by construction",
            levers={"variant": number},
            source=variant(self.source, number),
        )


def told(view: RunView, step: Step | None, outcome: str) -> None:
    """Say on standard error how each candidate ended."""
    if step is not None and outcome and step.name in ("judge", "accept", "calibrate"):
        sys.stderr.write(f"{view.elapsed_seconds:7.1f} s  {step.design or step.kernel}: {step.name} {outcome}\n")


def report(view: RunView, tree: TreeView, wanted: int, wall_seconds: float) -> str:
    """What came of the candidates, as Markdown."""
    candidates = [design for name, design in tree.designs.items() if name != tree.baseline]
    settled = [design for design in candidates if design.id not in tree.unsettled]
    # A superseded or revoked acceptance was one all the same.
    accepted = [design for design in settled if design.accepted is not None or design.revoked is not None]
    ends = Counter("accepted" if design in accepted else str(status_of(tree, design)) for design in settled)
    pairs = [sum(len(r.orders) for r in design.readings if r.purpose in DECIDING) for design in settled]
    artifacts = {design.artifact for design in settled if design.artifact is not None}
    rows = {
        "candidates asked for": wanted,
        "candidates settled": len(settled),
        "different artifacts among them": len(artifacts),
        "accepted": ends.pop("accepted", 0),
        "rejected": ends.pop("rejected", 0),
        "undecided": ends.pop("undecided", 0),
        **{f"ended as {name}": count for name, count in sorted(ends.items())},
        "pairs per candidate (mean)": f"{sum(pairs) / len(pairs):.1f}" if pairs else "-",
        "device seconds": f"{view.device_seconds:.1f}",
        "wall seconds": f"{wall_seconds:.0f}",
    }
    noise = tree.noise
    if noise is not None:
        effect = "-" if noise.minimum_effect is None else f"{noise.minimum_effect:.1%}"
        rows |= {
            "calls per reading": noise.calls,
            "scale of one pair's log ratio": f"{noise.scale:.4f}",
            "minimum detectable gain": effect,
        }
    lines = ["| | |", "| --- | ---: |", *(f"| {name} | {value} |" for name, value in rows.items())]
    for design in accepted:
        claim = "" if design.accepted is None else f", claimed {design.accepted.gain:.4f}x"
        lines.append(f"\nFalse acceptance: {design.id} ({design.proposed.title}){claim}.")
    if tree.refused is not None:
        lines.append(f"\nThe device was refused: {tree.refused}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Make the run; exit status 1 when more than one candidate was accepted, or none was settled."""
    parser = argparse.ArgumentParser(prog="./benchmarks/aa/run", description=__doc__)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=240.0, help="stop proposing after so long")
    parser.add_argument("--tiny", action="store_true", help="a small shape, to see that the program works")
    parser.add_argument("--policy", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--sandbox", choices=("auto", "full", "reduced"), default="auto")
    parser.add_argument("--store", type=Path, help="keep the log here (a new file)")
    options = parser.parse_args()
    configure("warning")
    policy = Policy().with_overrides(options.policy)
    target = CpuTarget(holder="the A/A run", sandbox=options.sandbox, on_wait=tell_who_waits)
    isa = from_macros(target.macros())
    space = CpuSpace(KERNEL, isa)
    source = space.emit(start(space))
    spec = TINY[KERNEL]() if options.tiny else kernel(KERNEL)
    # The baseline is one of them as well: nothing in this run is faster than anything else.
    spec = replace(spec, baselines={target.name: variant(source, 0)})
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="kernelwright-aa-") as folder:
        store = options.store or Path(folder) / "log.sqlite"
        with contextlib.closing(EventLog.open(str(store), create=True)) as log:
            start_run(log, Plan(RUN, target.name, (KERNEL,), policy, 0, options.minutes, {}, __version__))
            with workbench(log, RUN, target, {KERNEL: spec}, Same(source, options.candidates)) as wb:
                wb.on_wait = tell_who_waits
                drive(wb, told)
                tree = wb.view.trees[KERNEL]
                sys.stdout.write(report(wb.view, tree, options.candidates, time.perf_counter() - begun))
                settled = len(tree.designs) - 1 - len(tree.unsettled)
                accepted = int(tree.counts["accepted"])
    return 0 if settled > 0 and accepted <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
