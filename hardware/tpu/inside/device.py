"""The process that holds a real TPU: runs compiled programs on it and times them. No candidate's Python runs here.

It is asked to load a program, to hold inputs, and to take readings; outputs go back to be checked. Timing is that of the
host's clock around calls that are waited for (``block_until_ready``); what a call of the host costs is in it for both arms.
"""

from __future__ import annotations

import os
import time
from typing import Any

from . import wire
from .candidate import clean
from .files import view


class Device:
    """The first TPU that jax sees: programs by arm, inputs by number."""

    def __init__(self) -> None:
        import jax

        self.jax = jax
        self.device = jax.devices()[0]
        self.arms: dict[str, Any] = {}
        self.donated: dict[str, tuple[int, ...]] = {}
        self.inputs: dict[int, list[Any]] = {}

    def load(self, request: wire.Header, program: bytes) -> wire.Header:
        """Compile a lowered program for the device, under the name of an arm."""
        import jax.export

        donated = tuple(request["donated"])
        exported = jax.export.deserialize(bytearray(program))
        types = [self.jax.ShapeDtypeStruct(each.shape, each.dtype) for each in exported.in_avals]
        lowered = self.jax.jit(exported.call, donate_argnums=donated).lower(*types)
        self.arms[request["arm"]], self.donated[request["arm"]] = lowered.compile(), donated
        return {"outcome": "ok"}

    def hold(self, request: wire.Header) -> wire.Header:
        """Put a complete list of inputs on the device, from files."""
        self.inputs[int(request["number"])] = [
            self.jax.device_put(view(*place), self.device) for place in request["inputs"]
        ]
        return {"outcome": "ok"}

    def read(self, request: wire.Header) -> tuple[wire.Header, bytes]:
        """Time consecutive calls of one arm, one for each number of inputs; seconds of all, and the last one's outputs."""
        arm = request["arm"]
        function, donated = self.arms[arm], self.donated[arm]
        ready = []
        for number in request["numbers"]:
            held = list(self.inputs[int(number)])
            for place in donated:  # a donated argument is used up: each call gets a copy, made before the clock starts
                held[place] = self.jax.block_until_ready(self.jax.numpy.array(held[place], copy=True))
            ready.append(held)
        results: Any = ()
        start = time.perf_counter()
        for held in ready:
            results = function(*held)
        self.jax.block_until_ready(results)
        seconds = time.perf_counter() - start
        import numpy as np

        flat = [np.ascontiguousarray(np.asarray(each)).tobytes() for each in self.jax.tree_util.tree_leaves(results)]
        return {"outcome": "ok", "seconds": seconds, "lengths": [len(each) for each in flat]}, b"".join(flat)


def main(kind: str) -> None:
    """Serve until standard input ends. ``kind`` is what jax calls the devices of the chip that was chosen."""
    inp, out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    try:
        device = Device()
    except Exception as error:  # noqa: BLE001  (a runtime that does not start raises anything; it is told)
        wire.send(out, {"ready": False, "text": f"{type(error).__name__}: {clean(str(error))}"})
        return
    seen = str(device.device.device_kind)
    if device.device.platform != "tpu" or seen != kind:
        text = f"jax sees {device.device.platform} {seen!r}, not the chip that was chosen ({kind!r})"
        wire.send(out, {"ready": False, "text": text})
        return
    wire.send(out, {"ready": True, "device_kind": seen})
    while True:
        try:
            request, program = wire.receive(inp)
        except wire.WireError:
            return
        content = b""
        try:
            if request["task"] == "load":
                answer = device.load(request, program)
            elif request["task"] == "hold":
                answer = device.hold(request)
            else:
                answer, content = device.read(request)
        except Exception as error:  # noqa: BLE001  (what a program does to the device is its outcome)
            answer = {"outcome": "crashed", "text": f"{type(error).__name__}: {clean(str(error))}"[:2000]}
        wire.send(out, answer, content)
