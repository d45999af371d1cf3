"""Toolchains of the target: environments with one jax and one libtpu, how they are made, and which one is used."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..environments import Recipe, ToolchainOption, environments, find_environment
from ..target import TargetError
from .workers import Interpreter

TARGET = "tpu"
DEFAULT_JAX, DEFAULT_LIBTPU = "0.10.2", "0.0.52"
OLDEST_LIBTPU: Mapping[str, str] = {"0.7.2": "0.0.23", "0.8.0": "0.0.24", "0.10.2": "0.0.42"}
"""The libtpu that a release of jax was made with (its extra ``tpu``): an older one does not know what it writes."""
NEWEST_PYTHON = (3, 14)
"""The newest Python that jaxlib has wheels for."""
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:\.\w+)?\Z")
_ADD = "kernelwright toolchain add tpu"
_FACTS_SECONDS = 120.0

CHECK = """
import importlib.metadata as metadata, json, os, platform, sys
os.environ.update(JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1")
os.environ.update(TPU_MIN_LOG_LEVEL="3", TF_CPP_MIN_LOG_LEVEL="3")
import flatbuffers, jax, jax.export, jax.numpy as jnp
from jax.experimental import pallas as pl, topologies
from jax.experimental.pallas import tpu as pltpu
pltpu.InterpretParams, jax.sharding.AbstractDevice
def double(x, y):
    y[...] = x[...] * 2.0
def kernel(x):
    return pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)
device = topologies.get_topology_desc("v5e:2x2", platform="tpu").devices[0]
shape = jax.ShapeDtypeStruct((8, 128), jnp.float32, sharding=jax.sharding.SingleDeviceSharding(device))
jax.jit(kernel).lower(shape).compile()
print(json.dumps({
    "jax": jax.__version__, "jaxlib": metadata.version("jaxlib"), "libtpu": metadata.version("libtpu"),
    "python": platform.python_version(), "base_prefix": sys.base_prefix,
}))
"""
"""Run in a new environment: compiles a kernel ahead of time, and says what the environment is made of."""
FACTS = """
import importlib.metadata as metadata, json, platform, sys
print(json.dumps({
    "jax": metadata.version("jax"), "jaxlib": metadata.version("jaxlib"), "libtpu": metadata.version("libtpu"),
    "python": platform.python_version(), "base_prefix": sys.base_prefix,
}))
"""
"""What an environment is made of, without starting it."""


def toolchain_options() -> tuple[ToolchainOption, ...]:
    """What can be chosen of a toolchain."""
    return (
        ToolchainOption("jax", "version of jax", DEFAULT_JAX),
        ToolchainOption("libtpu", "version of libtpu, Google's compiler for its chips (proprietary)", DEFAULT_LIBTPU),
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def recipe(options: Mapping[str, str]) -> Recipe:
    """How to make the environment asked for. Raises TargetError for a pair or a machine that cannot work."""
    jax, libtpu = options.get("jax", DEFAULT_JAX), options.get("libtpu", DEFAULT_LIBTPU)
    for name, version in (("jax", jax), ("libtpu", libtpu)):
        if not _VERSION.match(version):
            raise TargetError(f"{version!r} is not a version of {name}; one looks like {DEFAULT_JAX}")
    if platform.machine() not in ("x86_64", "AMD64") or not sys.platform.startswith("linux"):
        raise TargetError(f"libtpu exists for Linux on x86-64 alone, not for {sys.platform} on {platform.machine()}")
    if sys.version_info[:2] > NEWEST_PYTHON:
        newest = ".".join(map(str, NEWEST_PYTHON))
        raise TargetError(
            f"jax {jax} has no wheels for Python {platform.python_version()}; run this with {newest} or older"
        )
    known = [version for version in OLDEST_LIBTPU if _numbers(version) <= _numbers(jax)]
    if known:
        oldest = OLDEST_LIBTPU[max(known, key=_numbers)]
        if _numbers(libtpu) < _numbers(oldest):
            raise TargetError(
                f"jax {jax} and libtpu {libtpu} do not match: this jax writes kernels that libtpu before {oldest} does"
                f" not read. Add one that does: {_ADD} --jax {jax} --libtpu {oldest}"
            )
    return Recipe(
        name=f"jax-{jax}-libtpu-{libtpu}",
        requirements=(f"jax=={jax}", f"libtpu=={libtpu}", "flatbuffers>=24,<26"),
        describe=f"jax {jax} (Apache-2.0) and libtpu {libtpu} (proprietary, Google), about 1.1 GB",
        check=("-c", CHECK),
    )


@dataclass(frozen=True)
class Found:
    """The toolchain in use: its name (empty for this process's own Python), its Python, and its versions."""

    name: str
    path: Path
    interpreter: Interpreter
    facts: Mapping[str, str]


def find(name: str | None) -> Found:
    """The toolchain called ``name``; without a name the only one there is, then this Python's own jax and libtpu.

    Raises TargetError naming the command that adds one, or those there are when there are several.
    """
    if name is not None:
        environment = find_environment(TARGET, name)
        return _found(environment.name, environment.path.resolve(), environment.facts)
    there = environments(TARGET)
    if len(there) == 1:
        return _found(there[0].name, there[0].path.resolve(), there[0].facts)
    if len(there) > 1:
        names = ", ".join(each.name for each in there)
        raise TargetError(f"several toolchains of the target tpu: {names}; say which: --toolchain NAME")
    if all(importlib.util.find_spec(module) is not None for module in ("jax", "libtpu", "flatbuffers")):
        facts = {part: importlib.metadata.version(part) for part in ("jax", "jaxlib", "libtpu")}
        facts |= {"python": platform.python_version(), "base_prefix": sys.base_prefix}
        return _found("", Path(sys.prefix), facts, Path(sys.executable))
    raise TargetError(f"no toolchain of the target tpu (jax with libtpu) is here; add one: {_ADD}")


def at(path: Path) -> Found:
    """An environment that was made by hand, at ``path``. Raises TargetError when it has no jax and libtpu."""
    program = path / "bin" / "python"
    done = subprocess.run([program, "-c", FACTS], capture_output=True, text=True, timeout=_FACTS_SECONDS, check=False)
    if done.returncode != 0:
        raise TargetError(f"{path} is no toolchain of the target tpu: {done.stderr.strip().splitlines()[-1:]}")
    return _found(path.name, path.resolve(), json.loads(done.stdout))


def _found(name: str, path: Path, facts: Mapping[str, str], program: Path | None = None) -> Found:
    base = Path(facts.get("base_prefix", sys.base_prefix))
    folders = [folder for folder in (path, base) if not folder.is_relative_to("/usr") or folder == path]
    kept = [each for each in dict.fromkeys(folders) if str(each) != "/usr"]
    return Found(name, path, Interpreter(program or path / "bin" / "python", tuple(kept)), facts)
