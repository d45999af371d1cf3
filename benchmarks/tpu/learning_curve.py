"""What a run learns of the compiler: the share of proposals that it refuses, and the rules known, over the run.

``python -m benchmarks.tpu.learning_curve --minutes 6 --chip v5e`` makes a run: the real loop, playbook, reviewer, compiler
and estimate. Values are not looked at (a design is held with values unknown), for interpreting takes most of a run's time
and has no part in what compiles. Standard output is Markdown; ``--picture`` names the SVG to write.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelwright import __version__
from kernelwright.acceptance.policy import Policy
from kernelwright.agents.playbook.refusals import REFUSED
from kernelwright.agents.playbook.specialist import Playbook
from kernelwright.cli.logs import configure
from kernelwright.events.log import EventLog
from kernelwright.events.views.tree import TreeView
from kernelwright.graph.runner import Plan, drive, start_run, workbench
from kernelwright.graph.workbench import Workbench
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import Bench, Build, CheckReport
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.hardware.tpu.bench import TpuBench
from kernelwright.kernels.registry import BUILT_IN, kernel
from kernelwright.kernels.spec import KernelSpec

RUN = "learning"
WINDOW = 40
"""Proposals that a share is taken over."""


class Unlooked(TpuBench):
    """A bench that looks at no values."""

    def verify(self, build: Build, seed: int) -> CheckReport:  # noqa: ARG002  (the protocol's)
        """Nothing is interpreted."""
        return CheckReport(Outcome.NO_VALUES, "values are not looked at in this benchmark", 0.0)

    def look(self, build: Build, seed: int) -> CheckReport:
        """Nor here."""
        return self.verify(build, seed)


class CompilesOnly(TpuTarget):
    """The target with such benches."""

    @contextmanager
    def open(self, spec: KernelSpec, seed: int) -> Iterator[Bench]:
        """Such a bench; see the protocol."""
        with Unlooked(spec, seed, self.shop) as bench:
            yield bench


@dataclass(frozen=True)
class Proposal:
    """A proposal in the order of the run: its kernel, and whether the compiler (or a rule of it) refused it."""

    kernel: str
    compiled: bool
    refused: bool
    vetoed: bool


def proposals(wb: Workbench) -> list[Proposal]:
    """Every proposal of the run but the baselines, in the order in which they were made."""
    found = []
    for name, tree in wb.view.trees.items():
        for design in tree.designs.values():
            if design.proposed.kind != "baseline" and design.outcome != "duplicate":
                refused = design.outcome in REFUSED
                vetoed = design.outcome == Outcome.VETOED
                found.append((design.proposed.at, Proposal(name, not refused, refused and not vetoed, vetoed)))
    return [proposal for _, proposal in sorted(found, key=lambda pair: pair[0])]


def shares(made: list[Proposal]) -> list[float]:
    """The share of refused proposals among the last :data:`WINDOW` (or as many as there were), after each one."""
    found = []
    for end in range(1, len(made) + 1):
        window = made[max(0, end - WINDOW) : end]
        found.append(sum(not p.compiled for p in window) / len(window))
    return found


def picture(made: list[Proposal], title: str) -> str:
    """The shares as SVG: a line over the proposals, with a mark below it for each refusal."""
    wide, high, left, top = 760, 260, 60, 40
    values = shares(made)
    across = wide / max(1, len(values) - 1)
    points = " ".join(f"{left + n * across:.1f},{top + high * (1 - v):.1f}" for n, v in enumerate(values))
    grid = "".join(
        f'<line x1="{left}" x2="{left + wide}" y1="{top + high * (1 - s):.0f}" y2="{top + high * (1 - s):.0f}" '
        f'stroke="#ddd"/><text x="{left - 8}" y="{top + high * (1 - s) + 4:.0f}" text-anchor="end">{s:.0%}</text>'
        for s in (0, 0.25, 0.5, 0.75, 1)
    )
    marks = "".join(
        f'<rect x="{left + n * across - 1.5:.1f}" y="{top + high + 6}" width="3" height="10" '
        f'fill="{"#c33" if p.refused else "#e90" if p.vetoed else "#9c9"}"/>'
        for n, p in enumerate(made)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide + 30}" height="{top + high + 70}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{left}" y="20" font-size="14">{title}</text>{grid}'
        f'<polyline points="{points}" fill="none" stroke="#226" stroke-width="2"/>{marks}'
        f'<text x="{left}" y="{top + high + 34}">proposals 1 to {len(made)}: green compiled, red refused by the compiler, '
        f"orange vetoed by a rule; line: share of the last {WINDOW} not compiled</text></svg>\n"
    )


def table(made: list[Proposal], parts: int = 4) -> list[str]:
    """The run in quarters: proposals, refusals of the compiler, vetoes, and the share of both."""
    rows = ["| part of the run | proposals | refused by the compiler | vetoed by a rule | share not compiled |"]
    rows.append("|---|---|---|---|---|")
    for part in range(parts):
        some = made[len(made) * part // parts : len(made) * (part + 1) // parts]
        refused, vetoed = sum(p.refused for p in some), sum(p.vetoed for p in some)
        share = (refused + vetoed) / max(1, len(some))
        rows.append(f"| {part + 1} of {parts} | {len(some)} | {refused} | {vetoed} | {share:.0%} |")
    return rows


def bests(wb: Workbench) -> list[str]:
    """Baseline, best and floor of each kernel, by estimate."""
    rows = ["| kernel | baseline | best | times | over the floor |", "|---|---|---|---|---|"]
    for name, tree in wb.view.trees.items():
        first, best = (
            _seconds(tree, tree.baseline),
            min(filter(None, (_seconds(tree, d) for d in tree.designs)), default=None),
        )
        floor = tree.floor.seconds if tree.floor else None
        if first and best and floor:
            rows.append(
                f"| {name} | {first * 1e6:.1f} us | {best * 1e6:.1f} us | {first / best:.2f} | {best / floor:.3f} |"
            )
    return rows


def _seconds(tree: TreeView, design: str | None) -> float | None:
    checks = tree.designs[design].checks if design is not None and design in tree.designs else []
    found = [float(c.details["seconds"]) for c in checks if c.check == "estimate" and "seconds" in c.details]
    return found[-1] if found else None


def main() -> None:
    """Make the run and print what it shows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--chip", default="v5e")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--toolchain", default=None)
    parser.add_argument("--store", type=Path, default=None)
    parser.add_argument("--picture", type=Path, default=None)
    options = parser.parse_args()
    configure("warning")
    store = options.store or Path(tempfile.mkdtemp()) / "learning.db"
    target = CompilesOnly(chip=options.chip, toolchain=options.toolchain)
    specs = {name: kernel(name) for name in BUILT_IN}
    with contextlib.closing(EventLog.open(str(store), create=True)) as log:
        plan = Plan(RUN, target.name, tuple(specs), Policy(), options.seed, options.minutes, {}, __version__)
        start_run(log, plan)
        with workbench(log, RUN, target, specs, Playbook()) as wb:
            drive(wb, lambda *_: None)
            made = proposals(wb)
            rules = [r for r in wb.known.rules.values() if r.derived.failing and r.derived.passing]
            toolchain = target.toolchain().parts
            words = f"jax {toolchain['jax']}, libtpu {toolchain['libtpu']}, {options.chip}, seed {options.seed}"
            title = f"Proposals that do not compile ({words}, {options.minutes:g} minutes)"
            print(f"{title}\n")
            print("\n".join(table(made)), "\n")
            print(f"{len(rules)} rules with both witnesses:\n")
            for rule in rules:
                print(f"- {rule.derived.explanation}")
            print("\n" + "\n".join(bests(wb)))
            if options.picture is not None:
                options.picture.write_text(picture(made, title), encoding="utf-8")


if __name__ == "__main__":
    main()
