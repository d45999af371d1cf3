"""The steps: each has its effect and records what came of it; saving is the machine's business."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..step import STEP_NAMES, Step
from ..workbench import Workbench
from . import calibrate, checks, close, compare, estimate, floor, knowledge, learn, prepare, propose, upgrade

Effect = Callable[[Workbench, Step], str]
"""Does a step on the workbench and returns its outcome in a word; raises TargetError when the machine is unfit."""

EFFECTS: Mapping[str, Effect] = {
    "observe": prepare.observe,
    "study": knowledge.study,
    "check_item": knowledge.check_item,
    "probe": prepare.probe,
    "reopen": upgrade.reopen,
    "learn": learn.learn,
    "admit": prepare.admit_kernel,
    "baseline": prepare.register_baseline,
    "floor": floor.floor,
    "calibrate": calibrate.calibrate_noise,
    "propose": propose.propose,
    "review": propose.review,
    "build": checks.build,
    "verify": checks.verify,
    "estimate": estimate.estimate,
    "screen": compare.screen,
    "compare": compare.compare,
    "judge": compare.judge,
    "confirm": compare.confirm,
    "accept": compare.accept,
    "recheck": close.recheck,
    "anchor": close.anchor,
    "finish": close.finish,
}
assert set(EFFECTS) == set(STEP_NAMES), "every step name has its effect, and no other"
