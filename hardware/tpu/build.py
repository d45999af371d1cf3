"""Lower a source in a process of its own, compile what came out of it in another, and keep what the dump says."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from ...kernels.spec import KernelSpec
from ..outcome import Outcome
from ..target import Build, TargetError
from .chips import Chip
from .contract import SOURCE_LIMIT_BYTES, prototype
from .dump import DumpError
from .inside import wire
from .workshop import MEMORY_BYTES, Workshop

_ELEMENTWISE = frozenset(
    {
        "abs", "add", "and", "atan2", "bitcast_convert", "broadcast", "broadcast_in_dim", "cbrt", "ceil",
        "clamp", "compare", "composite", "concatenate", "constant", "convert", "cosine", "count_leading_zeros",
        "create_token", "custom_call", "divide", "dynamic_slice", "dynamic_update_slice", "exponential",
        "exponential_minus_one", "floor", "get_tuple_element", "iota", "is_finite", "log", "log_plus_one",
        "logistic", "maximum", "minimum", "multiply", "negate", "not", "optimization_barrier", "or", "pad",
        "popcnt", "power", "real", "reduce_precision", "remainder", "reshape", "return", "reverse",
        "round_nearest_afz", "round_nearest_even", "rsqrt", "select", "shift_left", "shift_right_arithmetic",
        "shift_right_logical", "sign", "sine", "slice", "sqrt", "subtract", "tan", "tanh", "transpose", "tuple",
        "xor"
    }
)  # fmt: skip
_ELSEWHERE = ("builtin.module", "func.func", "func.return", "func.call", "sdy.mesh", "sdy.sharding_constraint")
_CALLS = frozenset({"tpu_custom_call", "Sharding", "annotate_device_placement", "LayoutConstraint"})


def outside(operations: Mapping[str, int]) -> str:
    """What a program does beside its kernels that the contract forbids; empty when nothing. Raises nothing."""
    for name in sorted(operations):
        if name.startswith("custom_call:"):
            if name.removeprefix("custom_call:") not in _CALLS:
                return f"a call of {name.removeprefix('custom_call:')!r}"
        elif name.startswith("stablehlo."):
            if name.removeprefix("stablehlo.") not in _ELEMENTWISE:
                return f"{name.removeprefix('stablehlo.')}, which belongs into a kernel"
        elif name not in _ELSEWHERE:
            return f"the operation {name}"
    return "" if operations.get("custom_call:tpu_custom_call") else "no kernel at all"


def request(spec: KernelSpec, source: str, chip: Chip, task: str, seconds: float) -> wire.Header:
    """What a candidate's process is asked: the source, and the spec as plain data."""
    return {
        "task": task,
        "source": source,
        "entry": spec.name,
        "dimensions": dict(spec.dimensions),
        "arguments": [[a.name, a.dtype, list(a.shape), a.direction] for a in spec.arguments],
        "device_kind": chip.device_kind,
        "num_cores": chip.device_cores,
        "memory_bytes": MEMORY_BYTES,
        "seconds": seconds,
    }


def build_key(shop: Workshop, spec: KernelSpec, source: str) -> str:
    """What a build is kept by: a digest of toolchain, chip, flags, spec and source (sha256 hex)."""
    facts = [f"{name}={value}" for name, value in sorted(shop.found.facts.items()) if name != "base_prefix"]
    shapes = [f"{a.name}:{a.dtype}:{a.shape}:{a.direction}" for a in spec.arguments]
    sizes = [f"{name}={value}" for name, value in spec.dimensions.items()]
    parts = ["1", *facts, shop.chip.name, *shop.flags, spec.name, prototype(spec), *shapes, *sizes, source]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def build(shop: Workshop, spec: KernelSpec, source: str) -> Build:
    """Lower and compile ``source``, or return what was kept of an earlier time. A hang is not kept.

    ``artifact`` is the digest of the lowered program; ``path`` names a file that holds it, beside its summary.
    """
    if len(source) > SOURCE_LIMIT_BYTES:
        return Build(Outcome.VETOED, None, None, f"more than {SOURCE_LIMIT_BYTES} bytes", 0.0)
    home = shop.cache / "builds" / build_key(shop, spec, source)
    kept = _load(home)
    if kept is not None:
        return kept
    start = time.monotonic()
    with shop.lock:
        made, program, summary = _make(shop, spec, source)
    made = Build(made.outcome, made.artifact, None, made.diagnostics, time.monotonic() - start)
    if made.outcome in (Outcome.BUILD_HUNG, Outcome.OUT_OF_MEMORY):
        return made  # the machine may have been busy
    return _store(home, made, source, program, summary)


def _make(shop: Workshop, spec: KernelSpec, source: str) -> tuple[Build, bytes, str]:
    def failed(outcome: Outcome, text: str) -> tuple[Build, bytes, str]:
        return Build(outcome, None, None, text, 0.0), b"", ""

    answer = shop.ask_candidate(request(spec, source, shop.chip, "lower", shop.lower_seconds))
    if answer.outcome is not Outcome.OK:
        as_build = {Outcome.HUNG: Outcome.BUILD_HUNG, Outcome.CRASHED: Outcome.BUILD_CRASHED}
        return failed(as_build.get(answer.outcome, answer.outcome), answer.text)
    program = answer.frames[-1][1] if answer.frames else b""
    taken = [argument for argument in spec.arguments if argument.direction != "out"]
    donated = [place for place, argument in enumerate(taken) if argument.direction == "inout"]
    said, outcome = shop.compile(program, donated)
    operations = {str(k): int(v) for k, v in dict(said.get("operations", {})).items()}
    if operations:
        wrong = outside(operations)
        if wrong:
            return failed(Outcome.VETOED, f"design.py:1: error: outside-kernels: {wrong}")
    if outcome is not Outcome.OK:
        return failed(outcome, str(said.get("text", "")))
    try:
        summary, lines = shop.timeline(operations, {str(k): int(v) for k, v in dict(said.get("memory", {})).items()})
    except DumpError as error:
        raise TargetError(f"the compiler's schedule cannot be read: {error}") from error
    finally:
        shop.clear()
    artifact = hashlib.sha256(program).hexdigest()
    return Build(Outcome.OK, artifact, None, "\n".join(lines), 0.0), program, summary


_FILES = ("source.py", "program", "summary.json")


def _store(home: Path, made: Build, source: str, program: bytes, summary: str) -> Build:
    """Keep a build: whole, or not at all. Raises TargetError when the cache cannot be written."""
    record = {"outcome": made.outcome.value, "artifact": made.artifact, "diagnostics": made.diagnostics}
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=home.parent))
        for name, content in zip(
            _FILES, (source.encode(errors="surrogateescape"), program, summary.encode()), strict=True
        ):
            (making / name).write_bytes(content)
        (making / "build.json").write_text(json.dumps(record), encoding="utf-8")
        if not home.exists():
            making.rename(home)
        else:
            shutil.rmtree(making, ignore_errors=True)
    except OSError as error:
        raise TargetError(f"the cache of builds {home.parent} cannot be written: {error.strerror or error}") from error
    path = home / "program" if made.ok else None
    return Build(made.outcome, made.artifact, path, made.diagnostics, made.seconds)


def _load(home: Path) -> Build | None:
    try:
        record = json.loads((home / "build.json").read_text(encoding="utf-8"))
        outcome = Outcome(record["outcome"])
    except (OSError, ValueError, KeyError):
        return None
    path = home / "program" if outcome is Outcome.OK else None
    return Build(outcome, record["artifact"], path, record["diagnostics"], 0.0)
