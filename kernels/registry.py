"""Kernels by name: the built-in ones, those of installed packages, and those of a file.

A third party adds kernels with the entry point group ``kernelwright.kernels``: each entry is a :class:`KernelSpec` or a
function without arguments that makes one. A user adds one with a Python file; see :func:`load_kernel_file`.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from . import decoder_feedforward, rms_norm, sliding_attention_output, sliding_project_qkv
from .admission import SpecRefused, admit
from .spec import KernelSpec

GROUP = "kernelwright.kernels"
"""Entry point group of kernels from other packages."""

BUILT_IN: Mapping[str, Callable[[], KernelSpec]] = {
    sliding_project_qkv.NAME: sliding_project_qkv.spec,
    sliding_attention_output.NAME: sliding_attention_output.spec,
    decoder_feedforward.NAME: decoder_feedforward.spec,
}
"""The kernels of the default run, in its order."""

BESIDE: Mapping[str, Callable[[], KernelSpec]] = {rms_norm.NAME: rms_norm.spec}
"""Kernels of this package that a run has only when they are named: small ones, for quick tests."""

TINY: Mapping[str, Callable[[], KernelSpec]] = {
    sliding_project_qkv.NAME: sliding_project_qkv.tiny,
    sliding_attention_output.NAME: sliding_attention_output.tiny,
    decoder_feedforward.NAME: decoder_feedforward.tiny,
}
"""The same kernels at sizes for tests."""

_FILE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What running a kernel file may raise by mistake. It is told to the author in one line; anything else is let through."""


class KernelError(Exception):
    """A kernel that cannot be had: unknown, broken, or refused. The message is for the user."""


def names() -> tuple[str, ...]:
    """Names of every kernel that can be had by name: built-in ones first, then those of installed packages, sorted."""
    return (*BUILT_IN, *BESIDE, *sorted(_installed().keys() - BUILT_IN.keys() - BESIDE.keys()))


def kernel(name: str) -> KernelSpec:
    """The kernel called ``name``.

    One from another package is admitted first (:func:`.admission.admit`); the built-in ones pass in this package's own
    tests. Raises KernelError when there is none of that name (with the nearest names), or when it is refused.
    """
    own = {**BUILT_IN, **BESIDE}
    if name in own:
        return own[name]()
    installed = _installed()
    if name not in installed:
        nearest = difflib.get_close_matches(name, names(), n=3, cutoff=0.4)
        hint = f"did you mean {' or '.join(nearest)}?" if nearest else f"known: {', '.join(names())}"
        raise KernelError(f"unknown kernel {name!r}; {hint}")
    try:
        made = installed[name].load()
    except (ImportError, AttributeError) as error:
        raise KernelError(
            f"kernel {name!r} of entry point {installed[name].value} cannot be loaded: {error}"
        ) from error
    return _admitted(_spec_of(made, f"entry point {installed[name].value}"))


def load_kernel_file(path: Path) -> KernelSpec:
    """The kernel that the Python file at ``path`` defines, as ``SPEC`` or as a function ``spec()``; admitted.

    The file is code of the user's own and runs with the user's rights. Raises KernelError when it cannot be read or run,
    defines neither, or its kernel is refused.
    """
    if not path.is_file():
        raise KernelError(f"no kernel file at {path}")
    module = _run_file(path)
    for attribute in ("SPEC", "spec"):
        if hasattr(module, attribute):
            return _admitted(_spec_of(getattr(module, attribute), str(path)))
    raise KernelError(f"{path} defines neither SPEC (a KernelSpec) nor a function spec() that makes one")


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _run_file(path: Path) -> ModuleType:
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    name = f"_kernelwright_kernel_file_{digest}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise KernelError(f"{path} is not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # dataclasses and pickling look their module up there
    try:
        found.loader.exec_module(module)
    except _FILE_ERRORS as error:
        del sys.modules[name]
        raise KernelError(f"{path} failed when it was run: {type(error).__name__}: {error}") from error
    return module


def _spec_of(made: object, where: str) -> KernelSpec:
    if callable(made) and not isinstance(made, KernelSpec):
        made = made()
    if not isinstance(made, KernelSpec):
        raise KernelError(f"{where} gives a {type(made).__name__}, expected a KernelSpec")
    return made


def _admitted(spec: KernelSpec) -> KernelSpec:
    try:
        admit(spec)
    except SpecRefused as error:
        raise KernelError(f"kernel refused: {error}") from error
    return spec
