"""What a design computes: its program evaluated on the CPU by the vendor's environment, in the sandbox.

Values are necessary and not sufficient: the vendor's evaluation takes programs that compute something else on the chip
(public notes of users say so), and it does not show races or placement. Designs with right values stay ``held``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from ....kernels.spec import Argument, Array, Inputs, KernelSpec
from ...sandbox import Finished, Jail
from .confined import INSIDE, hand_over, read_regular, run
from .contract import TCL_TYPES, given, returned, states
from .diagnosis import told
from .tool import Tool

START_SECONDS = 300.0
"""How long the environment may take to start: it imports PyTorch, from a disk that may be cold."""
DIAGNOSTICS_LIMIT_BYTES = 16 << 10


class ValuesError(Exception):
    """The evaluation did not come to an end, or left something else than results. ``hung`` where time ran out."""

    def __init__(self, reason: str, *, hung: bool = False) -> None:
        super().__init__(reason)
        self.hung = hung


@dataclass(frozen=True)
class Evaluation:
    """How programs are evaluated. ``seconds`` is for the cases together; ``least`` of them are run in any case."""

    tool: Tool
    jail: Jail
    seconds: float = 60.0
    least: int = 2
    hard_seconds: float = 1200.0


def evaluate(
    evaluation: Evaluation, spec: KernelSpec, source: str, weights: Inputs, cases: Sequence[Inputs]
) -> list[dict[str, Array]]:
    """The outputs of a program for each case that there was time for, in order: every written argument as a whole.

    ``weights`` are common to the cases, and hold what they do not. Raises ValuesError when the program does not get
    through its cases.
    """
    assert evaluation.tool.python is not None, "asked for values without an environment that has them"
    with tempfile.TemporaryDirectory(prefix="kernelwright-values-") as name:
        folder = Path(name)
        _write_job(evaluation, spec, source, weights, cases, folder)
        inside = INSIDE if evaluation.jail.level == "full" else str(folder)
        argv = [str(evaluation.tool.python), "-I", f"{inside}/evaluate.py", inside]
        environment = {"OMP_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1", "USER": "nobody", "LOGNAME": "nobody"}
        limit = START_SECONDS + evaluation.hard_seconds
        done = run(evaluation.jail, evaluation.tool, folder, argv, limit, environment)
        return _read_results(spec, done, folder, len(cases))


def _write_job(
    evaluation: Evaluation, spec: KernelSpec, source: str, weights: Inputs, cases: Sequence[Inputs], folder: Path
) -> None:
    program = resources.files(f"{__package__}.inside").joinpath("evaluate.py")
    (folder / "evaluate.py").write_text(program.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "kernel.tcl").write_text(source, encoding="utf-8")
    arguments = given(spec)
    told_cases = []
    for number, case in enumerate(cases):
        own = [argument for argument in arguments if argument.name in case]
        told_cases.append({"arguments": {a.name: _put(folder, a, case[a.name], f"{a.name}-{number}.in") for a in own}})
    common = [argument for argument in arguments if not all(argument.name in case for case in cases)]
    job = {
        "order": [argument.name for argument in arguments],
        "states": [argument.name for argument in states(spec)],
        "shared": {a.name: _put(folder, a, weights[a.name], f"{a.name}.in") for a in common},
        "cases": told_cases,
        "seconds": evaluation.seconds,
        "least": evaluation.least,
    }
    (folder / "job.json").write_text(json.dumps(job))
    hand_over(evaluation.jail, folder)


def _put(folder: Path, argument: Argument, value: Array, file: str) -> dict[str, object]:
    array = np.ascontiguousarray(value)
    (folder / file).write_bytes(array.reshape(-1).view(np.uint8).tobytes())
    return {"file": file, "dtype": TCL_TYPES[argument.dtype], "shape": list(argument.shape)}


def _read_results(spec: KernelSpec, done: Finished, folder: Path, wanted: int) -> list[dict[str, Array]]:
    if done.status is None:
        raise ValuesError(f"the evaluation was ended after {done.seconds:.0f} s", hung=True)
    if done.status != 0:
        # The last lines tell what went wrong; a traceback of the vendor's Python stands before them.
        raise ValuesError(told(done.output[-DIAGNOSTICS_LIMIT_BYTES:], DIAGNOSTICS_LIMIT_BYTES))
    found: list[dict[str, Array]] = []
    for number in range(wanted):
        if not (folder / f"result-{number}.bin").exists():
            break
        outputs = {returned(spec).name: _get(folder / f"result-{number}.bin", returned(spec))}
        outputs |= {each.name: _get(folder / f"{each.name}-{number}.bin", each) for each in states(spec)}
        found.append(outputs)
    if not found:
        raise ValuesError("error: the evaluation ended well and left no results")
    return found


def _get(path: Path, argument: Argument) -> Array:
    content = read_regular(path, argument.bytes)
    if content is None or len(content) != argument.bytes:
        raise ValuesError(f"error: {argument.name} does not have the {argument.bytes} bytes that it must have")
    return np.frombuffer(content, dtype=np.uint8).view(argument.storage).reshape(argument.shape)
