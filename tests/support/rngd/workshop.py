"""A workshop for tests of the visa toolchain: the stand-in tools in a folder, and a project to compile."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernelwright.hardware.rngd.visa.arena.client import ArenaClient
from kernelwright.hardware.rngd.visa.arena.jobs import Patience
from kernelwright.kernels.spec import Argument, KernelSpec, Tolerance

HERE = Path(__file__).parent
KERNEL = "double"


def design(**said: object) -> str:
    """A device source that tells the stand-ins how to behave."""
    lines = [f'stand_in!("{key.replace("_", "-")}", "{value}");' for key, value in said.items()]
    return "\n".join(
        [*lines, "#[device(chip = 1)]", f"pub fn {KERNEL}(device: &mut Device) {{ parts::go(device) }}", ""]
    )


def spec() -> KernelSpec:
    """The kernel that the project has a device function for."""

    def reference(inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {"y": 2.0 * inputs["x"].astype(np.float64)}

    return KernelSpec(
        name=KERNEL,
        summary="y = 2 x",
        dimensions={"N": 8},
        arguments=(Argument("x", "f32", (8,)), Argument("y", "f32", (8,), direction="out")),
        tolerance=Tolerance(1e-6, 1e-6),
        reference=reference,
        rounded=reference,
        draw_weights=lambda _rng: {},
        draw_activations=lambda rng, _family: {"x": rng.normal(size=8).astype(np.float32)},
        families=("normal",),
        streamed=("x",),
    )


@dataclass
class Workshop:
    """Where the stand-ins and the project lie."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def project(self) -> Path:
        return self.folder / "kernels"

    def client(self, seconds: float = 60.0) -> ArenaClient:
        return ArenaClient((str(self.bin / "furiosa-arena"),), seconds)

    def order(self, **orders: float) -> None:
        """Tell the stand-in Arena how often to misbehave in which way."""
        state = self.bin / "arena-state"
        state.mkdir(exist_ok=True)
        (state / "orders.json").write_text(json.dumps({name.replace("_", "-"): n for name, n in orders.items()}))

    def calls(self, command: str) -> int:
        """How often the stand-in Arena was given a command."""
        path = self.bin / "arena-state" / "calls"
        return path.read_text().splitlines().count(command) if path.exists() else 0


def patience(wait_seconds: float = 30.0) -> Patience:
    """No real pauses: the clock goes on by what was slept."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    return Patience(wait_seconds, 1.0, 8.0, sleep, lambda: now[0])


def interpreter() -> str:
    """A Python that the sandbox shows and every user may run: the system's, or this one where it is of the system."""
    found = shutil.which("python3", path="/usr/bin:/usr/local/bin") or os.path.realpath(sys.executable)
    if not found.startswith("/usr/"):
        pytest.skip(f"the stand-ins need a Python under /usr; {found} is not visible in the sandbox")
    return found


def open_workshop(folder: Path, version: str = "0.6.0", library: str = "0.6.0") -> Workshop:
    """Set one up in ``folder``, which everyone may read: candidates run without privileges."""
    made = Workshop(folder)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    made.bin.mkdir()
    shebang = f"#!{interpreter()}\n"
    for program, name in (("cargo_program.py", "cargo"), ("arena_program.py", "furiosa-arena")):
        path = made.bin / name
        path.write_text(shebang + (HERE / program).read_text())
        path.chmod(0o755)
    (made.bin / "version").write_text(version)
    rustc = made.bin / "rustc"
    rustc.write_text("#!/bin/sh\necho 'rustc 1.97.0-nightly (f53b654a8 2026-04-30)'\n")
    rustc.chmod(0o755)
    source = made.project / "src" / "device"
    source.mkdir(parents=True)
    (made.project / "Cargo.toml").write_text(
        '[package]\nname = "kernels"\nversion = "0.1.0"\n\n[package.metadata.furiosa-opt]\n'
    )
    (made.project / "Cargo.lock").write_text(
        f'version = 4\n\n[[package]]\nname = "furiosa-opt-std"\nversion = "{library}"\n'
    )
    (made.project / "rust-toolchain.toml").write_text('[toolchain]\nchannel = "nightly-2026-05-01"\n')
    (made.project / "src" / "ops.rs").write_text(design())
    (source / "parts.rs").write_text("pub fn go(_: &mut Device) {}\n")
    (made.project / "fixtures.safetensors").write_bytes(b"fixtures")
    return made


def fresh_folder() -> Path:
    """A folder that a process without privileges can reach, unlike pytest's own."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix="kernelwright-workshop-"))


def close_workshop(workshop: Workshop) -> None:
    """Remove it."""
    shutil.rmtree(workshop.folder, ignore_errors=True)
