"""A traced candidate run for values on this machine's processor, as Pallas interprets kernels for the TPU.

What is interpreted is the trace that was compiled: the same operations, with every ``pallas_call`` told to interpret.
Memory that was not written holds NaN (the largest integer for integers), reads out of bounds raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .candidate import FILE, RefusedError, Traced, clean, refusal

_INLINED = ("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call")
_OUTCOMES = (
    ("out-of-bounds", ("out-of-bounds", "out of bounds")),
    ("out-of-memory", ("resource_exhausted", "out of memory", "memoryerror", "bad_alloc")),
    ("hung", ("deadlock",)),
)


def interpreted(traced: Traced, races: bool) -> Callable[..., Any]:
    """A function of arrays that computes what the trace says, kernels being interpreted.

    ``races``: also look for data races between copies and what uses their memory.
    """
    import jax
    from jax.experimental.pallas import tpu as pltpu
    from jax.extend import core

    params = pltpu.InterpretParams(detect_races=races)
    calls = 0

    def evaluate(jaxpr: Any, constants: Any, *values: Any) -> list[Any]:
        nonlocal calls
        known: dict[Any, Any] = {}

        def read(variable: Any) -> Any:
            return variable.val if isinstance(variable, core.Literal) else known[variable]

        known.update(zip(jaxpr.constvars, constants, strict=True))
        known.update(zip(jaxpr.invars, values, strict=True))
        for equation in jaxpr.eqns:
            inputs = [read(variable) for variable in equation.invars]
            parameters = dict(equation.params)
            inner: Any = parameters.get("jaxpr", parameters.get("call_jaxpr"))
            if equation.primitive.name in _INLINED and hasattr(inner, "jaxpr"):
                results = evaluate(inner.jaxpr, inner.consts, *inputs)
            else:
                if "interpret" in parameters:
                    calls += 1
                    parameters["interpret"] = params
                bound = equation.primitive.get_bind_params(parameters)
                functions, bound = bound if isinstance(bound, tuple) else ((), bound)
                results = equation.primitive.bind(*functions, *inputs, **bound)
                if not equation.primitive.multiple_results:
                    results = [results]
            known.update(zip(equation.outvars, results, strict=True))
        return [read(variable) for variable in jaxpr.outvars]

    closed = traced.trace.jaxpr
    function = jax.jit(lambda *values: evaluate(closed.jaxpr, closed.consts, *values))
    try:
        compiled = function.lower(*traced.types).compile()
    except BaseException as error:  # noqa: BLE001  (whatever a candidate raises is its outcome)
        raise refusal("interpret", error) from None
    if not calls:
        raise RefusedError("vetoed", f"{FILE}:1: error: pallas-call: the entry calls no kernel")
    return compiled  # type: ignore[no-any-return]  # jax is untyped here


def run(function: Callable[..., Any], inputs: Mapping[str, Any], races: bool) -> list[bytes]:
    """One call; the bytes of every output. Raises RefusedError with what went wrong."""
    import jax

    try:
        got = [np.asarray(each) for each in jax.block_until_ready(function(*inputs.values()))]
    except BaseException as error:  # noqa: BLE001  (whatever interpreting raises is the candidate's outcome)
        said = clean(str(error))
        for outcome, words in _OUTCOMES:
            if any(word in said.lower() for word in words):
                raise RefusedError(outcome, _last(said)) from None
        raise RefusedError("crashed", _last(said)) from None
    if races and _races_found():
        raise RefusedError("not-repeatable", "a data race: memory is used while a copy to or from it is under way")
    return [np.ascontiguousarray(each).tobytes() for each in got]


def _last(said: str) -> str:
    """The last line of a message, which in a trace of Python's is what happened."""
    return said.splitlines()[-1].strip()[-1500:] if said else "nothing was said"


def _races_found() -> bool:
    """Whether the interpreter saw a race; it keeps that in a place that has moved between versions of jax."""
    import importlib

    for name in (
        "jax._src.pallas.mosaic.interpret.interpret_pallas_call",
        "jax._src.pallas.mosaic.interpret",
    ):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        state = getattr(module, "races", None)
        if state is not None:
            return bool(getattr(state, "races_found", False))
    return False
