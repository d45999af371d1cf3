"""Evaluate a TCL program on the CPU, for values: run in the vendor's environment as ``python evaluate.py JOB``.

JOB is a folder with ``job.json``; see :mod:`kernelwright.hardware.rngd.tcl.values`, which writes it and reads what this
leaves. Tensors are raw bytes in files. Each case ends with a line of JSON on standard output.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import furiosa.torch  # type: ignore[import-not-found]  # the vendor's, in its own environment; registers its types
import torch  # type: ignore[import-not-found]  # as above

del furiosa
_TYPES = {
    "bf16": torch.bfloat16,
    "f8_e4": torch.float8_e4m3fn,
    "u8": torch.uint8,
    "f32": torch.float32,
    "i32": torch.int32,
}


def read(folder: Path, tensor: dict[str, Any]) -> Any:
    """A tensor from its file."""
    content = bytearray((folder / tensor["file"]).read_bytes())
    return torch.frombuffer(content, dtype=torch.uint8).view(_TYPES[tensor["dtype"]]).reshape(tensor["shape"])


def write(path: Path, value: Any) -> None:
    """A tensor into a file, as raw bytes."""
    path.write_bytes(value.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def say(**line: object) -> None:
    """One line of JSON."""
    print(json.dumps(line), flush=True)  # noqa: T201 - standard output is how this program answers


def main(folder: Path) -> None:
    """Run every case of the job, as long as there is time."""
    from furiosa.torch import TclModule

    job = json.loads((folder / "job.json").read_text())
    module = TclModule((folder / "kernel.tcl").read_text())
    say(ready=True)
    begun = time.monotonic()
    shared: dict[str, Any] = {}
    for number, case in enumerate(job["cases"]):
        if number >= job["least"] and time.monotonic() - begun > job["seconds"]:
            break
        tensors = []
        for name in job["order"]:
            given = case["arguments"].get(name)
            if given is None and name not in shared:
                shared[name] = read(folder, job["shared"][name])
            tensors.append(read(folder, given) if given is not None else shared[name])
        results = module(*tensors)
        write(folder / f"result-{number}.bin", results[0])
        for name in job["states"]:
            write(folder / f"{name}-{number}.bin", tensors[job["order"].index(name)])
        say(case=number, shape=list(results[0].shape), dtype=str(results[0].dtype))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
