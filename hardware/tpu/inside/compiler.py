"""The compiler's process: takes lowered programs as data, compiles them ahead of time for one chip, and dumps schedules.

No candidate's Python runs here. One process serves many programs, since starting libtpu takes seconds; who uses it
replaces it when it crashed, hung or grew.
"""

from __future__ import annotations

import os
import re
import resource
import time
from typing import Any

from . import wire
from .candidate import clean, diagnostic

_TEXT_ATTRIBUTE = re.compile(rb"\*/[\s;}]")
"""What could end a comment of the dump from inside: no program may bring it."""


def _operations(module: Any) -> dict[str, int]:
    """How often each operation and each custom call occurs in a module, calls by target (``custom_call:TARGET``)."""
    counts: dict[str, int] = {}

    def visit(operation: Any) -> None:
        name = str(operation.name)
        if name == "stablehlo.custom_call":
            name = f"custom_call:{operation.attributes['call_target_name'].value}"
        counts[name] = counts.get(name, 0) + 1
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    visit(inner.operation)

    visit(module.operation)
    return counts


def _memory(compiled: Any) -> dict[str, int]:
    analysis = compiled.memory_analysis()
    names = ("argument_size_in_bytes", "output_size_in_bytes", "alias_size_in_bytes", "temp_size_in_bytes")
    return {name: int(getattr(analysis, name, 0) or 0) for name in names} if analysis is not None else {}


def compile_program(program: bytes, donated: list[int], sharding: Any) -> dict[str, Any]:
    """Compile one program. The answer has an outcome, what the compiler said, and what the program is made of."""
    import jax
    import jax.export

    start = time.monotonic()
    try:
        exported = jax.export.deserialize(bytearray(program))
        types = [jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=sharding) for each in exported.in_avals]
        lowered = jax.jit(exported.call, donate_argnums=tuple(donated)).lower(*types)
        module = lowered.compiler_ir("stablehlo")
        operations = _operations(module)
        if _TEXT_ATTRIBUTE.search(str(module).encode()) or _TEXT_ATTRIBUTE.search(program):
            return {
                "outcome": "vetoed",
                "text": "design.py:1: error: plain-text: the program carries the end of a comment",
            }
    except Exception as error:  # noqa: BLE001  (whatever is wrong with a program is its outcome)
        return {
            "outcome": "build-failed",
            "text": diagnostic("program", type(error).__name__, clean(str(error)), 0),
        }
    try:
        compiled = lowered.compile()
    except Exception as error:  # noqa: BLE001  (what the compiler refuses, it raises as one kind or another)
        return {
            "outcome": "build-failed",
            "text": diagnostic("compile", type(error).__name__, clean(str(error)), 0),
            "operations": operations,
        }
    return {
        "outcome": "ok",
        "text": "",
        "operations": operations,
        "memory": _memory(compiled),
        "seconds": time.monotonic() - start,
        "resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
    }


def main(topology: str) -> None:
    """Serve until standard input ends. ``topology`` names what jax describes: ``v5e:2x2``, say."""
    inp, out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    import jax
    import jax.export
    from jax.experimental import topologies

    try:
        described = topologies.get_topology_desc(topology, platform="tpu")
        device = described.devices[0]
        sharding = jax.sharding.SingleDeviceSharding(device)
    except Exception as error:  # noqa: BLE001  (a library that does not fit raises anything; it is told)
        wire.send(out, {"ready": False, "text": f"{type(error).__name__}: {clean(str(error))}"})
        return
    facts = {"device_kind": str(device.device_kind), "jax": jax.__version__, "cores": len(described.devices)}
    wire.send(out, {"ready": True, **facts})
    while True:
        try:
            request, program = wire.receive(inp)
        except wire.WireError:
            return
        before = time.process_time()
        answer = compile_program(program, list(request["donated"]), sharding)
        wire.send(out, {**answer, "cpu_seconds": time.process_time() - before})
