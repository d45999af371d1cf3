"""A fork server: imports jax once, then forks a process for every candidate, so that a candidate starts in milliseconds
and whatever it does to jax, to Python or to itself ends with its own process.

No backend of jax is ever started here: those have threads, which do not survive a fork. Requests come on standard input,
answers go to standard output; a candidate holds neither, only a pipe of its own.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from . import candidate, confine, values, wire
from .files import view

_SAMPLE = """
import functools
import itertools
import math
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x, w, y, total):
    @pl.when(pl.program_id(0) == 0)
    def clear():
        total[...] = jnp.zeros_like(total)

    total[...] += jnp.dot(x[...], w[...], preferred_element_type=jnp.float32)
    y[...] = jax.nn.gelu(total[...] * lax.rsqrt(jnp.sum(total[...]) + 1.0))


def sample(x, w):
    return pl.pallas_call(
        _kernel,
        grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (0, i)), pl.BlockSpec((128, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
    )(x, w)
"""
_ANSWER_LIMIT_BYTES = 256 << 20


def sample_request(device_kind: str) -> dict[str, Any]:
    """A small candidate, traced and interpreted at the start, so that what it needs is imported before the first fork."""
    arguments = [["x", "f32", [8, 256], "in"], ["w", "f32", [256, 128], "in"], ["y", "f32", [8, 128], "out"]]
    return {
        "source": _SAMPLE.replace("_kernel", "kernel"),
        "entry": "sample",
        "dimensions": {},
        "arguments": arguments,
        "device_kind": device_kind,
    }


def serve_candidate(request: dict[str, Any], answers: int) -> None:
    """All that the process of one candidate does. Answers with frames; the last of a good end has ``done``."""
    traced = candidate.Traced(request)
    program = traced.lowered()
    if request["task"] == "lower":
        wire.send(answers, {"outcome": "ok", "digest": candidate.digest(program), "done": True}, program)
        return
    wanted = request.get("digest")
    if wanted and candidate.digest(program) != wanted:
        raise candidate.RefusedError(
            "suspect", "traced again, the source gives another program than the one that was compiled"
        )
    functions = {False: values.interpreted(traced, False)}
    held = {name: view(*place) for name, place in request["held"].items()}
    for number, case in enumerate(request["cases"]):
        races = bool(case.get("races"))
        if races not in functions:
            functions[races] = values.interpreted(traced, races)
        inputs = {**held, **{name: view(*place) for name, place in case["inputs"].items()}}
        start = time.monotonic()
        got = values.run(functions[races], {name: inputs[name] for name in request["order"]}, races)
        header = {"outcome": "ok", "case": number, "lengths": [len(each) for each in got]}
        wire.send(answers, {**header, "seconds": time.monotonic() - start}, b"".join(got))
    wire.send(answers, {"outcome": "ok", "done": True})


def _child(request: dict[str, Any], answers: int) -> None:
    """The forked process: never returns."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        os.closerange(0, answers)  # also the fork server's own ends
        os.closerange(answers + 1, 4096)
        for _ in range(3):
            os.open("/proc/self/status", os.O_RDONLY)  # something harmless in their place; there is no /dev here
        confine.confine(int(request["memory_bytes"]), int(request["seconds"]) * (os.cpu_count() or 1))
        try:
            serve_candidate(request, answers)
        except candidate.RefusedError as refused:
            wire.send(answers, {"outcome": refused.outcome, "text": str(refused), "done": True})
        status = 0
    except MemoryError:
        status = 3
    except BaseException as error:  # noqa: BLE001  (nothing may escape into the fork server's own code)
        try:
            wire.send(answers, {"outcome": "crashed", "text": f"{type(error).__name__}: {error}"[:2000], "done": True})
        except BaseException:  # noqa: BLE001  (the status says it too)
            status = 1
    finally:
        os._exit(status)


def _relay(answers: int, child: int, seconds: float, out: int) -> dict[str, Any]:
    """Pass on what a candidate answers until it ends or its time is over; the last frame says how it ended."""
    deadline = time.monotonic() + seconds
    ended: dict[str, Any] = {"end": "exited"}
    passed = 0
    while True:
        rest = deadline - time.monotonic()
        ready = select.select([answers], [], [], max(rest, 0.0))[0] if rest > 0 else []
        if not ready:
            ended["end"] = "hung"
            break
        chunk = os.read(answers, 1 << 20)
        if not chunk:
            break
        passed += len(chunk)
        if passed > _ANSWER_LIMIT_BYTES:
            ended["end"] = "too-much"
            break
        wire.send(out, {"part": len(chunk)}, chunk)
    os.close(answers)
    os.kill(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    return {**ended, "status": os.waitstatus_to_exitcode(status), "cpu_seconds": used.ru_utime + used.ru_stime}


def _run(request: dict[str, Any], out: int) -> None:
    answers, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(answers)
        _child(request, theirs)
    os.close(theirs)
    wire.send(out, _relay(answers, child, float(request["seconds"]), out))


def _warm(device_kind: str) -> str:
    """Import what candidates will need: seen in a process that lowers and interprets a sample. Returns what failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            traced = candidate.Traced(sample_request(device_kind))
            traced.lowered()
            values.interpreted(traced, True)
            names, text = sorted(sys.modules), ""
        except BaseException as error:  # noqa: BLE001  (it is told, and stops the start)
            names, text = [], f"{type(error).__name__}: {error}"
        wire.send(writing, {"modules": names, "text": text})
        os._exit(0)
    os.close(writing)
    answer, _ = wire.receive(reading)
    os.close(reading)
    os.waitpid(child, 0)
    for name in answer["modules"]:
        if name not in sys.modules and not name.startswith("__"):
            try:
                importlib.import_module(name)
            except ImportError:
                continue
    return str(answer["text"])


def main(device_kind: str) -> None:
    """Serve until standard input ends."""
    inp, out = os.dup(0), os.dup(1)
    for descriptor in (inp, out):
        os.set_inheritable(descriptor, False)
    os.dup2(2, 1)
    confine.hide()
    import jax
    import jax.export
    from jax.experimental import pallas
    from jax.experimental.pallas import tpu

    del pallas, tpu
    # Where in a file an operation stands is no part of the program: the same kernel, moved, is the same artifact.
    jax.config.update("jax_traceback_in_locations_limit", 0)
    text = _warm(device_kind)
    threads = len(list(Path("/proc/self/task").iterdir()))
    wire.send(out, {"ready": not text, "text": text, "jax": jax.__version__, "threads": threads})
    while True:
        try:
            request, _ = wire.receive(inp)
        except wire.WireError:
            return
        _run(request, out)
