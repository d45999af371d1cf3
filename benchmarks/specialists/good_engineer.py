"""The playbook alone beside the playbook with a scripted "good engineer" that knows two levers more.

Both run on the CPU target, on the attention output kernel at a size of microseconds, where starting threads is dear. The
engineer is a real HTTP server that speaks OpenAI's protocol; it edits the best design that its prompt quotes:

1. no parallel region: every design of the playbook's space has one;
2. activations are widened and staged in one pass instead of two.

Run by hand: ``python benchmarks/specialists/good_engineer.py [MINUTES]`` (of each run). Prints both lineages and gains.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from kernelwright.acceptance.policy import Policy  # noqa: E402  the path comes first
from kernelwright.agents.panel import Panel  # noqa: E402
from kernelwright.agents.playbook.specialist import Playbook  # noqa: E402
from kernelwright.agents.port import Specialist  # noqa: E402
from kernelwright.agents.settings import ModelSettings, Roles, TeamSettings  # noqa: E402
from kernelwright.agents.team import Team  # noqa: E402
from kernelwright.events.log import EventLog  # noqa: E402
from kernelwright.events.views.explain import status_of  # noqa: E402
from kernelwright.events.views.run import RunView  # noqa: E402
from kernelwright.events.views.summary import kernel_summary  # noqa: E402
from kernelwright.graph.runner import Plan, drive, start_run, workbench  # noqa: E402
from kernelwright.hardware.cpu import CpuTarget  # noqa: E402
from kernelwright.kernels.sliding_attention_output import tiny  # noqa: E402
from support.model_server import Reply, Request, serving  # noqa: E402

POLICY = {"max_detectable_gain": 100.0, "calibration_e": 1e9, "suspect_jump": 1000.0, "suspect_floor_margin": 0.99}
"""A kernel of microseconds is noisier than the policy's defaults allow for."""


def best_source(request: Request) -> str:
    """The source of the best design, from the prompt."""
    found = re.search(r'name="source of the best design d\d+">\n(.*?)\n</data', request.user, re.DOTALL)
    return found.group(1) if found else ""


def without_threads(source: str) -> str:
    """Lever 1: the same work by the calling thread."""
    return re.sub(r"^[ \t]*#pragma omp [^\n]*\n", "", source, flags=re.MULTILINE)


def staged_at_once(source: str) -> str:
    """Lever 2: bf16 activations are widened while they are put into the order that the weights come in."""
    whole = re.search(r"static void stage\(.*?\n}\n", source, re.DOTALL)
    if whole is None or "float wide[" not in source:
        return source
    direct = whole.group(0).replace(
        "static void stage(const float *restrict x", "static void stage_a(const uint16_t *restrict a"
    )
    direct = re.sub(r"= x\[(unit \+ staged_from\(i\)|[^\]]*)\]", r"= bf16_to_f32(a[\1])", direct)
    body = "static void stage_input(const uint16_t *restrict a, float *restrict staged)\n{\n    stage_a(a, staged, HEADS * HEAD_DIM);\n}\n"
    changed = re.sub(r"static void stage_input\(.*?\n}\n", lambda _match: f"{direct}\n{body}", source, flags=re.DOTALL)
    return changed.replace(whole.group(0), "", 1) if "stage(" not in changed.replace(whole.group(0), "") else changed


LEVERS = (("no parallel region", without_threads), ("widen and stage in one pass", staged_at_once))


def engineer(request: Request) -> Reply:
    """The first lever that would change the best and was not tried; nothing after that."""
    source = best_source(request)
    for title, change in LEVERS:
        changed = change(source)
        if changed != source and f"'{title}" not in request.user and "_mm256" in source:
            head = {"title": title, "rationale": "not in the space that is searched", "mechanism": title}
            return Reply(f"```json\n{json.dumps(head)}\n```\n```source\n{changed}\n```", usage=(6000, 2500))
    return Reply('```json\n{"nothing": "the playbook may go on"}\n```', usage=(6000, 20))


def play(name: str, minutes: float, specialist: Specialist | Panel) -> RunView:
    """One run on the CPU target; returns its state at the end."""
    spec = tiny()
    with tempfile.TemporaryDirectory() as folder:
        log = EventLog.open(f"{folder}/log.sqlite", create=True)
        policy = Policy.from_mapping(POLICY)
        start_run(log, Plan(name, "cpu", (spec.name,), policy, 0, minutes, {}, "benchmark"))
        with workbench(log, name, CpuTarget(), {spec.name: spec}, specialist) as wb:
            drive(wb, lambda *_: None)
            view = wb.view
        log.close()
    return view


def report(name: str, view: RunView) -> None:
    """Print the lineage and the gain."""
    (tree,) = view.trees.values()
    row = kernel_summary(tree)
    print(f"{name}: {row['speedup']:.2f}x ({row['speedup_low']:.2f} to {row['speedup_high']:.2f}), {row['designs']}")
    for accepted in tree.lineage:
        design = tree.designs[accepted.design]
        print(
            f"  {design.id} by {design.proposed.by}: {design.proposed.title}: {accepted.gain:.3f}x over {accepted.over}"
        )
    for design in tree.designs.values():
        if design.proposed.by.startswith("good/") and design.accepted is None:
            print(f"  {design.id} by {design.proposed.by}: {design.proposed.title}: {status_of(tree, design)}")


def main() -> None:
    """Both runs, one after the other."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    report("playbook alone", play("alone", minutes, Playbook()))
    with serving(engineer) as server:
        model = ModelSettings(provider="openai-compatible", model="good", base_url=server.openai, tools=False)
        roles = Roles.model_validate({"engineer": {"models": ("good",)}})
        report("with the engineer", play("both", minutes, Team(TeamSettings({"good": model}, roles), Playbook())))


if __name__ == "__main__":
    main()
