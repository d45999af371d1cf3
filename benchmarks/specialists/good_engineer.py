"""The playbook alone, and the same run gone on with by a scripted "good engineer" that knows two levers more.

Run by hand: ``./benchmarks/specialists/run``; see the README beside it. Standard output is Markdown.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random

from kernelwright import __version__
from kernelwright.acceptance.estimate import Gain, hodges_lehmann
from kernelwright.acceptance.policy import Policy
from kernelwright.acceptance.sequential import log_ratio
from kernelwright.agents.panel import Panel
from kernelwright.agents.playbook.specialist import Playbook
from kernelwright.agents.port import Specialist
from kernelwright.agents.settings import ModelSettings, Roles, TeamSettings
from kernelwright.agents.team import Team
from kernelwright.cli.guard import tell_who_waits
from kernelwright.cli.logs import configure
from kernelwright.events.log import EventLog
from kernelwright.events.views.explain import status_of
from kernelwright.events.views.run import RunView
from kernelwright.events.views.summary import kernel_summary
from kernelwright.events.views.tree import TreeView
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.lease import lease
from kernelwright.kernels.sliding_attention_output import make
from kernelwright.kernels.spec import KernelSpec

from ..peers.setting import command_line, machine_words, say, table
from .engineer_levers import LEVERS

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))
from support.model_server import Reply, Request, serving  # noqa: E402  the tests' server, from a folder that is no package

SHAPE = {"hidden": 16, "heads": 16, "head_dim": 128}
"""So few rows that sharing them out is worth less than it costs, and so many columns that staging them shows."""
POLICY = {
    "max_detectable_gain": 100.0,
    "calibration_e": 1e9,
    "suspect_jump": 1000.0,
    "suspect_floor_margin": 0.99,
    "detect_gain": 0.002,
}
"""A kernel of microseconds is noisier, and its weights nearer, than the policy's defaults allow for. A gain that no reading
detects makes calibration take the most sensitive kind of reading instead of the cheapest."""
CONFIDENCE = 0.99
RUN = "engineer"


@dataclass(frozen=True)
class Played:
    """A finished run: its state, and the source of its best."""

    view: RunView
    tree: TreeView
    source: str


def engineer(request: Request) -> Reply:
    """The first lever that changes the best and that the prompt does not tell of; nothing after that."""
    found = re.search(r'name="source of the best design d\d+">\n(.*?)\n</data', request.user, re.DOTALL)
    source = found.group(1) if found else ""
    for title, change in LEVERS:
        changed = change(source)
        if changed != source and "_mm256" in source and f"'{title}" not in request.user:
            head = {"title": title, "rationale": "the space that is searched does not hold it", "mechanism": title}
            return Reply(f"```json\n{json.dumps(head)}\n```\n```source\n{changed}\n```", usage=(6000, 2500))
    return Reply('```json\n{"nothing": "the playbook may go on"}\n```', usage=(6000, 20))


def play(store: Path, minutes: float, spec: KernelSpec, specialist: Specialist | Panel) -> Played:
    """Begin the run of a store on the CPU target, or go on with it, until it is ``minutes`` old."""
    again = store.exists()
    with contextlib.closing(EventLog.open(str(store), create=True)) as log:
        if not again:
            policy = Policy.from_mapping(POLICY)
            start_run(log, Plan(RUN, "cpu", (spec.name,), policy, 0, minutes, {}, __version__))
        with workbench(log, RUN, CpuTarget(), {spec.name: spec}, specialist) as wb:
            wb.on_wait = tell_who_waits
            if again:
                resume(wb, minutes, "search")
            drive(wb, lambda *_: None)
            tree = wb.view.trees[spec.name]
            return Played(wb.view, tree, wb.source(spec.name, tree.best or ""))


def directly(spec: KernelSpec, one: str, other: str, pairs: int, seed: int) -> Gain:
    """How much faster ``other`` is than ``one``: pairs in random order, fresh processes for each."""
    target, coin = CpuTarget(), Random(seed)
    with lease(target.name, "benchmark good_engineer", on_wait=tell_who_waits), target.open(spec, seed) as bench:
        builds = target.build(spec, one), target.build(spec, other)
        if not all(build.ok for build in builds):
            sys.exit("a best of a run does not build any more")
        with bench.pair(*builds, seed) as session:
            read = session.read([coin.choice(("BC", "CB")) for _ in range(pairs)], 40)
    if len(read.pairs) < pairs:
        sys.exit(f"only {len(read.pairs)} of {pairs} pairs could be read: {read.outcome} {read.reason}")
    return hodges_lehmann([log_ratio(p.best_seconds, p.candidate_seconds) for p in read.pairs], CONFIDENCE)


def report(name: str, played: Played) -> None:
    """Say the lineage, and what became of the engineer's designs outside of it."""
    row, tree = kernel_summary(played.tree), played.tree
    counts = row["designs"]
    say(f"### {name}\n")
    say(
        f"{row['speedup']:.2f}x ({row['speedup_low']:.2f} to {row['speedup_high']:.2f}) over plain C;"
        f" {counts['proposed']} designs proposed, {counts['compared']} compared, {counts['accepted']} accepted.\n"
    )
    rows = []
    for accepted in tree.lineage:
        proposed = tree.designs[accepted.design].proposed
        gain = f"{accepted.gain:.3f}x ({accepted.gain_low:.3f} to {accepted.gain_high:.3f})"
        rows.append((f"{accepted.design}, from {proposed.parent}", proposed.by, proposed.title, gain, accepted.over))
    say(table(("design", "by", "what", "gain", "over"), rows))
    others = [d for d in tree.designs.values() if d.proposed.by.startswith("good/") and d.accepted is None]
    for design in others:
        say(f"\nNot accepted: {design.id} by {design.proposed.by}, {design.proposed.title}: {status_of(tree, design)}.")
    say()


def main() -> None:
    """One run, gone on with twice from where it had come to: by the playbook, and with the engineer."""
    parser = argparse.ArgumentParser(prog="good_engineer", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="of the playbook alone")
    parser.add_argument("--more", type=float, default=2.0, help="minutes of going on, each time")
    parser.add_argument("--pairs", type=int, default=40, help="of the direct comparison")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="an empty folder for both logs, for `kernelwright tree`")
    given = parser.parse_args()
    configure("warning")
    spec = make(**SHAPE)
    with tempfile.TemporaryDirectory() as folder:
        kept = given.keep or Path(folder)
        store, other = kept / "playbook.sqlite", kept / "with-engineer.sqlite"
        first = play(store, given.minutes, spec, Playbook())
        shutil.copy(store, other)
        alone = play(store, given.minutes + given.more, spec, Playbook())
        with serving(engineer) as server:
            good = ModelSettings(provider="openai-compatible", model="good", base_url=server.openai, tools=False)
            roles = Roles.model_validate({"engineer": {"models": ("good",)}})
            team = Team(TeamSettings({"good": good}, roles), Playbook())
            both = play(other, given.minutes + given.more, spec, team)
    gain = directly(spec, alone.source, both.source, given.pairs, given.seed)
    say(f"`{command_line()}`\n\n{machine_words(CpuTarget())}")
    say(f"- {spec.name} with {', '.join(f'{name} {size}' for name, size in SHAPE.items())}; intervals are 99 %\n")
    say(f"Both begin with the same {given.minutes:g} minutes, in which the playbook comes to {first.tree.best}.\n")
    report(f"The playbook for {given.more:g} minutes more", alone)
    report(f"With the engineer for {given.more:g} minutes more", both)
    say("### Their bests, side by side\n")
    say(
        f"{both.tree.best} of the second run is {gain.ratio:.3f}x ({gain.low:.3f} to {gain.high:.3f}) as fast as"
        f" {alone.tree.best} of the first, over {gain.pairs} fresh pairs."
    )


if __name__ == "__main__":
    main()
