"""A process that runs PyTorch arms on the shared weights: one JSON object a line in, one out.

Orders: ``{"op": "arm", "name"}`` prepares an arm and makes its first call (compiling it); ``{"op": "read", "name",
"first", "inputs"}`` makes one untimed call and times the others. Answers hold ``seconds`` and, for each call, the written
region of every output in base64.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import gc
import json
import mmap
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch  # type: ignore[import-not-found]  # only in the environment of these programs
from kernelwright.hardware.cpu.workers import FAVOUR
from kernelwright.kernels.registry import TINY, kernel
from kernelwright.kernels.spec import Array, Inputs, KernelSpec

from .native import draw_inputs
from .torch_kernels import ARMS, Kernel, Tensor, build, prepare

_DTYPES = {
    "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn,
    "f4e2m1x2": torch.uint8,
    "f32": torch.float32,
    "i32": torch.int32,
}


def tensor(spec: KernelSpec, name: str, values: Array) -> Tensor:
    """A tensor over the bytes of an argument (uint8, one axis), without a copy."""
    argument = spec.argument(name)
    return torch.from_numpy(values).view(_DTYPES[argument.dtype]).view(argument.shape)


def own(spec: KernelSpec, name: str, values: Array) -> Tensor:
    """A tensor with a copy of a drawn argument; the position as the index type that PyTorch wants."""
    made = tensor(spec, name, np.ascontiguousarray(values).reshape(-1).view(np.uint8).copy())
    return made.long() if made.dtype is torch.int32 else made


class Worker:
    """Arms by name, each with its weights for every copy; activations and state are made from the seed."""

    def __init__(self, spec: KernelSpec, copies: list[dict[str, Tensor]], inputs: list[dict[str, Array]]) -> None:
        self.spec, self.copies, self.inputs = spec, copies, inputs
        self.arms: dict[str, tuple[Kernel, list[dict[str, Tensor]]]] = {}
        self.prepared: dict[torch.dtype | None, list[dict[str, Tensor]]] = {}
        states = [a.name for a in spec.arguments if a.role == "state"]
        # Each call of a reading has a state of its own, so that none writes over what another has left to be checked.
        self.state = [{name: own(spec, name, each[name]) for name in states} for each in inputs]

    def arm(self, name: str) -> dict[str, Any]:
        """Prepare an arm; ``seconds`` is how long its first call took, with the compiler."""
        kept = ARMS[name][2]
        if kept not in self.prepared:
            self.prepared[kept] = [prepare(self.spec.name, name, weights) for weights in self.copies]
        self.arms[name] = (build(self.spec.name, name), self.prepared[kept])
        begun = time.perf_counter()
        self.read(name, 0, [0, 0])
        return {"seconds": time.perf_counter() - begun}

    def read(self, name: str, first: int, inputs: list[int]) -> dict[str, Any]:
        """One untimed call and ``len(inputs) - 1`` timed ones; ``seconds`` is the mean of the timed ones."""
        function, copies = self.arms[name]
        calls = []
        for index, number in enumerate(inputs):
            state = self.state[index]
            fresh = {n: own(self.spec, n, v) for n, v in self.inputs[number].items() if n not in state}
            calls.append((copies[(first + index) % len(copies)], {**fresh, **state}))
        outputs = []
        gc.disable()  # as timeit does: a collection belongs to no call
        try:
            with torch.no_grad():
                outputs.append(self._kept(function(*calls[0]), inputs[0]))
                begun = time.perf_counter()
                made = [function(*call) for call in calls[1:]]
                seconds = time.perf_counter() - begun
        finally:
            gc.enable()
        outputs += [self._kept(each, number) for each, number in zip(made, inputs[1:], strict=True)]
        return {"seconds": seconds / max(1, len(calls) - 1), "outputs": outputs}

    def _kept(self, made: Any, number: int) -> dict[str, str]:
        regions = self.spec.regions(self.inputs[number])
        return {
            name: base64.b64encode(
                np.ascontiguousarray(value[regions[name]].contiguous().view(torch.uint8).numpy()).tobytes()
            ).decode()
            for name, value in made.items()
        }


def serve(worker: Worker, orders: TextIO, answers: TextIO) -> None:
    """Answer orders until they end."""
    for line in orders:
        order = json.loads(line)
        match order["op"]:
            case "arm":
                answer = worker.arm(order["name"])
            case "read":
                answer = worker.read(order["name"], order["first"], order["inputs"])
            case unknown:
                raise ValueError(f"unknown order {unknown!r}")
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def favour() -> None:
    """The priority that the target gives to the processes of C designs, where this user may ask for it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(FAVOUR))
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, FAVOUR)


def mapped_copies(descriptor: int, size: int, places: list[dict[str, list[int]]]) -> list[Inputs]:
    """The bytes of every weight of every copy, in the memory that the C designs read."""
    memory = mmap.mmap(descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ)
    memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, dtype=np.uint8)
    return [{name: whole[start : start + count] for name, (start, count) in place.items()} for place in places]


def main() -> int:
    """Start from the command line that :mod:`.torch_cpu` writes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--pool", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--descriptor", type=int, required=True)
    parser.add_argument("--bytes", type=int, required=True)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    # Answers get standard output for themselves: whatever else is printed goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    favour()
    places = json.loads(sys.stdin.readline())
    torch.set_num_threads(options.threads)
    spec = TINY[options.kernel]() if options.tiny else kernel(options.kernel)
    raw = mapped_copies(options.descriptor, options.bytes, places)
    copies = [{name: tensor(spec, name, values) for name, values in copy.items()} for copy in raw]
    worker = Worker(spec, copies, draw_inputs(spec, options.seed, options.pool))
    answers.write(json.dumps({"torch": torch.__version__, "arms": list(ARMS)}) + "\n")
    answers.flush()
    serve(worker, sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
