"""Runs a C kernel as a program of its own: arguments in by standard input, outputs back by standard output."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from kernelwright.hardware.cpu.contract import header
from kernelwright.kernels.oracle import BatchReference, Judgement, judge
from kernelwright.kernels.spec import Array, Inputs, KernelSpec


@dataclass(frozen=True)
class Machine:
    """A compiler with its flags, and the emulator (if any) that its programs run under."""

    compiler: str
    flags: tuple[str, ...]
    emulator: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """What this host lacks to use it, or None."""
        for tool in (self.compiler, *self.emulator[:1]):
            if shutil.which(tool) is None:
                return f"{tool} is not installed"
        return None

    def compile(
        self, spec: KernelSpec, source: str, folder: Path, *, program: bool, include: Path | None = None
    ) -> Path:
        """Compile with all warnings as errors; AssertionError with the diagnostics when that fails."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.h").write_text(header(spec))
        (folder / "kernel.c").write_text(source)
        (folder / "main.c").write_text(_main(spec))
        out = folder / "kernel"
        how = ["main.c"] if program else ["-c"]
        hidden = ["-include", "immintrin.h", "-include", str(include)] if include is not None else []
        command = [self.compiler, "-O1", "-std=gnu11", "-fopenmp", "-Wall", "-Wextra", "-Werror", *self.flags, *hidden]
        done = subprocess.run(
            [*command, "-o", str(out), "kernel.c", *how, *(["-lm"] if program else [])],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return out

    def judge(self, spec: KernelSpec, program: Path, seed: int, threads: int) -> Mapping[str, Judgement]:
        """Run the program once on inputs of every family, in one process, and compare what it leaves with the reference."""
        rng = np.random.default_rng(seed)
        weights = spec.draw_weights(rng)
        drawn = {family: spec.draw_activations(rng, family) for family in spec.families}
        given = {family: _whole(spec, {**weights, **inputs}) for family, inputs in drawn.items()}
        sent = b"".join(np.ascontiguousarray(g[a.name]).tobytes() for g in given.values() for a in spec.arguments)
        done = subprocess.run(
            [*self.emulator, str(program)],
            input=sent,
            capture_output=True,
            timeout=120,
            env={"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"},
        )
        assert done.returncode == 0, done.stderr
        predictions = BatchReference(spec, weights).predict([(0, inputs) for inputs in drawn.values()])
        size = sum(argument.bytes for argument in spec.outputs)
        assert len(done.stdout) == size * len(given)
        got = [_split(spec, done.stdout[at : at + size]) for at in range(0, len(done.stdout), size)]
        return {
            family: judge(spec, prediction, given[family], outputs)
            for family, prediction, outputs in zip(given, predictions, got, strict=True)
        }


def _whole(spec: KernelSpec, inputs: Inputs) -> Inputs:
    """Every argument of a call, with zeros for those that are only written."""
    zeros = {a.name: np.zeros(a.shape, a.storage) for a in spec.arguments if a.name not in inputs}
    return {**inputs, **zeros}


def _split(spec: KernelSpec, data: bytes) -> Mapping[str, Array]:
    outputs: dict[str, Array] = {}
    at = 0
    for argument in spec.outputs:
        chunk = data[at : at + argument.bytes]
        outputs[argument.name] = np.frombuffer(chunk, argument.storage).reshape(argument.shape)
        at += argument.bytes
    return outputs


def _main(spec: KernelSpec) -> str:
    """A ``main`` that places weights and tables at 64 bytes, and all else at one element past that."""
    places: Sequence[str] = [
        f"static unsigned char {a.name}_[{a.bytes} + 64] __attribute__((aligned(64)));" for a in spec.arguments
    ]
    offset = {a.name: 0 if a.role in ("weight", "table") else a.storage.itemsize for a in spec.arguments}
    read = [
        f"        if (fread({a.name}_ + {offset[a.name]}, 1, {a.bytes}, stdin) != {a.bytes}) break;"
        for a in spec.arguments
    ]
    write = [f"        fwrite({a.name}_ + {offset[a.name]}, 1, {a.bytes}, stdout);" for a in spec.outputs]
    call = ", ".join(f"(void *)({a.name}_ + {offset[a.name]})" for a in spec.arguments)
    lines = ['#include "kernel.h"', "#include <stdio.h>", *places, "int main(void)", "{", "    for (;;) {", *read]
    return "\n".join([*lines, f"        {spec.name}({call});", *write, "    }", "    return 0;", "}", ""])
