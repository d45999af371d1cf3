"""What the process of one candidate does: run its source under guard, trace its entry, lower the trace for the chip.

The process is a fork that ends with the candidate. It answers with the lowered program as data; compiling that is the
work of another process, in which no candidate's Python ever ran.
"""

from __future__ import annotations

import builtins
import hashlib
import re
import traceback
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from .allowed import BUILTINS, MODULES, uses

FILE = "design.py"
"""What a source is called in diagnostics."""
TEXT_LIMIT = 6000
"""Characters of a message that are kept."""
_DTYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f4e2m1x2": "uint8", "f32": "float32", "i32": "int32"}
HEADLINE = 400
"""Characters of the first line of a diagnostic."""
_PREFIX = re.compile(
    r"^(?:[A-Z_]+: )?(?:E\d+: )?"
    r"(?:Mosaic failed to compile TPU kernel(?: with MLIR module name `[^`]*`)?(?: HLO name `[^`]*`)?: )?"
)
_VMEM = re.compile(r"(CompileTime\w*Oom).*?[Ss]coped allocation with size (\S+) and limit (\S+)", re.DOTALL)
_URL = re.compile(r"\(?https?://\S+\)?")
_NOISE = re.compile(
    r"^-{5,}$|^For simplicity, JAX has removed|^The above exception was|^The preceding stack trace|^Additional details",
    re.MULTILINE,
)
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_FOLDER = re.compile(r"(?:/[\w.+-]+){2,}/")


class RefusedError(Exception):
    """A candidate that does not get further. ``outcome`` is a value of the closed set; the message is the diagnostic."""

    def __init__(self, outcome: str, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome


def clean(text: str) -> str:
    """A message without addresses, folders and the noise around it, cut at the limit of text."""
    kept = _URL.sub("", _NOISE.split(text)[0])
    kept = _FOLDER.sub("", _ADDRESS.sub("<address>", kept))
    lines = [line.rstrip() for line in kept.splitlines()]
    return "\n".join(line for line in lines if line.strip())[:TEXT_LIMIT]


def headline(said: str) -> str:
    """What a message is about, in one line: without the names that the compiler gave, and what it advises."""
    limited = _VMEM.search(said)
    if limited:
        size, limit = (re.sub(r"([A-Z])$", r" \1", number) for number in (limited[2], limited[3].rstrip(".")))
        return f"{limited[1]}: the kernel's scoped VMEM of {size} exceeds the limit of {limit}"
    text = _PREFIX.sub("", said)
    text = re.sub(
        r"^Pallas encountered an internal verification error\..*?Error details:\s*", "", text, flags=re.DOTALL
    )
    # Which block of which kernel, or which operation, stands in what was said; the headline is what is wrong.
    ends = (
        "\nat location",
        "\nThe MLIR operation",
        "\nPlease report",
        " Please file an issue",
        "see current operation",
    )
    for end in (*ends, "Block spec for "):
        text = text.split(end)[0]
    text = _PREFIX.sub("", text.split("\nINTERNAL:")[0])
    return re.sub(r"\s*See\s+for more details\.?", "", " ".join(text.split()))[:HEADLINE]


def diagnostic(stage: str, kind: str, said: str, line: int) -> str:
    """A diagnostic: a line with place, stage, kind of exception and headline, then all that was said, if that is more."""
    head = headline(said)
    rest = "" if said == head else "\n" + said.replace("Ran out of memory in", "Does not fit")
    return f"{FILE}:{line}: error: {stage}: {kind}: {head}{rest}"


def _line(error: BaseException) -> int:
    """The innermost line of the source that an exception came through; 0 when it came through none."""
    if isinstance(error, SyntaxError):
        return error.lineno or 0
    seen: BaseException | None = error
    while seen is not None:
        for frame in reversed(traceback.extract_tb(seen.__traceback__)):
            if frame.filename == FILE:
                return frame.lineno or 0
        seen = seen.__cause__ or seen.__context__
    return 0


def refusal(stage: str, error: BaseException) -> RefusedError:
    """The outcome and the diagnostic of what a candidate raised in ``stage``: one line that begins with its place."""
    if isinstance(error, RefusedError):
        return error
    said = clean(str(error)) or "nothing was said"
    text = diagnostic(stage, type(error).__name__, said, _line(error))
    if isinstance(error, MemoryError):
        return RefusedError("out-of-memory", text)
    if isinstance(error, PermissionError):
        return RefusedError("forbidden-call", text)
    return RefusedError("build-failed", text)


def _guarded() -> dict[str, Any]:
    return {
        **{name: getattr(builtins, name) for name in BUILTINS if hasattr(builtins, name)},
        "__import__": builtins.__import__,  # which imports there are, the syntax tree has told
        "__build_class__": builtins.__build_class__,
        "__name__": "builtins",
    }


def _check_names(source: str) -> None:
    """Refuse a source that breaks a rule, or that reaches a module which it may not. Raises RefusedError."""
    found, wrong = uses(source)
    if wrong is not None:
        raise RefusedError("vetoed", f"{FILE}:{wrong.line}: error: {wrong.rule}: {wrong.reason}")
    for use in found:
        value = getattr(builtins.__import__(use.module, fromlist=("_",)), use.name, None)
        if isinstance(value, ModuleType) and f"{use.module}.{use.name}" not in MODULES:
            text = f"{FILE}:{use.line}: error: allowed-names: {use.module}.{use.name} is a module"
            raise RefusedError("vetoed", text)


def load(source: str, entry: str, dimensions: Mapping[str, int]) -> Callable[..., Any]:
    """Run a source and return its entry. Raises RefusedError."""
    _check_names(source)
    scope: dict[str, Any] = {"__builtins__": _guarded(), "__name__": "design", **dimensions}
    try:
        # The whole point of this process: it is confined, and ends with the candidate.
        exec(compile(source, FILE, "exec", dont_inherit=True), scope)  # noqa: S102
    except BaseException as error:  # noqa: BLE001  (whatever a candidate raises is its outcome)
        raise refusal("module", error) from None
    found = scope.get(entry)
    if not callable(found):
        raise RefusedError("build-failed", f"{FILE}:1: error: module: the entry {entry} is not defined")
    return found  # type: ignore[no-any-return]  # a callable of the candidate's


class Traced:
    """A candidate's entry, traced once: what is compiled for the chip, and what is interpreted for values."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        """Trace. Raises RefusedError."""
        import jax
        import jax.numpy as jnp

        arguments = [tuple(each) for each in request["arguments"]]
        taken = [(name, kind, tuple(shape)) for name, kind, shape, way in arguments if way != "out"]
        self.given = [(name, kind, tuple(shape)) for name, kind, shape, way in arguments if way != "in"]
        self.types = [jax.ShapeDtypeStruct(shape, getattr(jnp, _DTYPES[kind])) for _, kind, shape in taken]
        updated = {name for name, _, _, way in arguments if way == "inout"}
        self.donated = tuple(place for place, (name, _, _) in enumerate(taken) if name in updated)
        entry = load(str(request["source"]), str(request["entry"]), request["dimensions"])
        names = [name for name, _, _ in self.given]

        def kernel(*values: Any) -> tuple[Any, ...]:
            got = entry(*values)
            if isinstance(got, Mapping):
                if set(got) != set(names):
                    raise TypeError(f"the entry returned {sorted(map(str, got))}, expected {sorted(names)}")
                return tuple(got[name] for name in names)
            listed = tuple(got) if isinstance(got, (tuple, list)) else (got,)
            if len(listed) != len(names):
                raise TypeError(f"the entry returned {len(listed)} arrays, expected {len(names)}: {', '.join(names)}")
            return listed

        kernel.__name__ = kernel.__qualname__ = str(request["entry"])
        self.chip, self.cores = request["device_kind"], int(request.get("num_cores", 1))
        self.function = jax.jit(kernel, donate_argnums=self.donated)
        with self._on_chip():
            try:
                self.trace = self.function.trace(*self.types)
            except BaseException as error:  # noqa: BLE001  (whatever a candidate raises is its outcome)
                raise refusal("trace", error) from None
        self._check_results()

    def _on_chip(self) -> Any:
        """Under this context, what asks jax for the device is told of the chip."""
        import jax

        device = jax.sharding.AbstractDevice(device_kind=self.chip, num_cores=self.cores, **_platform())
        mesh = jax.sharding.AbstractMesh((), (), abstract_device=device)  # no axes: it names the device alone
        return jax.sharding.use_abstract_mesh(mesh)

    def _check_results(self) -> None:
        import jax.numpy as jnp

        for (name, kind, shape), result in zip(self.given, self.trace.jaxpr.out_avals, strict=True):
            dtype = getattr(jnp, _DTYPES[kind])
            if result.shape != shape or result.dtype != dtype:
                got = f"{result.dtype}{list(result.shape)}"
                text = f"{FILE}:1: error: trace: {name} is {got}, expected {jnp.dtype(dtype)}{list(shape)}"
                raise RefusedError("build-failed", text)

    def lowered(self) -> bytes:
        """The program for the chip, serialized. Raises RefusedError: most of Pallas's rules speak up here."""
        import jax.export

        allowed = [jax.export.DisabledSafetyCheck.custom_call("tpu_custom_call")]
        with self._on_chip():
            try:
                exported = jax.export.export(self.function, platforms=["tpu"], disabled_checks=allowed)(*self.types)
                return bytes(exported.serialize())
            except BaseException as error:  # noqa: BLE001  (whatever a candidate raises is its outcome)
                raise refusal("lower", error) from None


def _platform() -> dict[str, str]:
    """Newer versions of jax want a device's platform as well."""
    import inspect

    import jax

    return {"platform": "tpu"} if "platform" in inspect.signature(jax.sharding.AbstractDevice).parameters else {}


def digest(program: bytes) -> str:
    """What a program is known by (sha256 hex)."""
    return hashlib.sha256(program).hexdigest()
