"""What the target offers for learning: its guide, snippets of Pallas as designs, and whether its toolchain has changed."""

from __future__ import annotations

import ast
import os
import re
import textwrap
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from ...kernels.spec import KernelSpec
from ..environments import data_folder
from ..snippets import snippet_kernel
from ..stamps import stamps
from ..study import Document, SnippetHost

ENTRY = "snippet"
LENGTH = 1024
"""Elements of ``x`` and ``y``: one register of 8 x 128 words."""
_HEAD = """import functools
import math
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""
_DOUBLE = """
def doubled(x_ref, y_ref):
    y_ref[...] = x_ref[...] * 2.0


def double(x):
    tile = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    return pl.pallas_call(doubled, out_shape=tile)(x.reshape(8, 128)).reshape(LENGTH)
"""
_SHOWN = re.compile(r"^(\s*)(?:print\(.*\)|assert .*|plt\..*|np\.testing\..*)\s*$", re.MULTILINE)


def snippet_spec() -> KernelSpec:
    """The kernel that snippets stand in for: y[LENGTH] from x[LENGTH], float32; its own values are y = 2 x."""
    return snippet_kernel(ENTRY, "LENGTH", LENGTH)


def _parts(snippet: str) -> tuple[str, str]:
    """A snippet's imports, and the rest without lines that only show something; both empty when it does not parse."""
    quiet = _SHOWN.sub(r"\1pass", snippet)
    try:
        tree = ast.parse(quiet)
    except (SyntaxError, ValueError, RecursionError):
        return "", ""
    lines = quiet.splitlines(keepends=True)
    imports: list[str] = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            end = node.end_lineno or node.lineno
            imports += [*lines[node.lineno - 1 : end], "\n"]
            lines[node.lineno - 1 : end] = ["\n"] * (end - node.lineno + 1)
    return "".join(imports), "".join(lines)


def complete(snippet: str) -> tuple[str, ...]:
    """Whole sources that a snippet of Python may be meant as.

    One that defines the entry is a source. Otherwise it is tried as statements that the entry runs before it doubles its
    input, so that whatever kernels it calls are compiled for the chip; as the body of a kernel over the references ``x_ref``
    and ``y_ref`` (f32 [8, 128]); and as declarations before the entry.
    """
    if re.search(rf"^def {ENTRY}\s*\(", snippet, re.MULTILINE):
        return (snippet if "pallas" in snippet.split(f"def {ENTRY}")[0] else _HEAD + snippet,)
    imports, rest = _parts(snippet)
    if not rest.strip():
        return (f"{_HEAD}{snippet}\n{_DOUBLE}\ndef {ENTRY}(x):\n    return double(x)\n",)
    head = _HEAD + imports
    inside = textwrap.indent(rest, "    ")
    statements = f"{head}{_DOUBLE}\ndef {ENTRY}(x):\n    given = x\n{inside}\n    return double(given)\n"
    tile = "jax.ShapeDtypeStruct((8, 128), jnp.float32)"
    call = f"pl.pallas_call(kernel, out_shape={tile})(x.reshape(8, 128)).reshape(LENGTH)"
    body = f"{head}\ndef kernel(x_ref, y_ref):\n{inside}\n\ndef {ENTRY}(x):\n    return {call}\n"
    declarations = f"{head}{rest}\n{_DOUBLE}\ndef {ENTRY}(x):\n    return double(x)\n"
    return (
        (body, statements, declarations)
        if "y_ref[" in rest and "def " not in rest
        else (statements, body, declarations)
    )


class Learning:
    """What the target says of itself beyond the protocol. Mixed into the target."""

    _named: str | None
    _environment: Path | None

    def documentation(self) -> Sequence[Document]:
        """The guide to Pallas for this target that ships with the package."""
        folder = resources.files(__package__).joinpath("docs")
        if not folder.is_dir():
            return []
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".md"))
        return [Document(f"tpu/{name}", folder.joinpath(name).read_text(encoding="utf-8")) for name in names]

    def snippets(self) -> SnippetHost:
        """The kernel that snippets stand in for."""
        return SnippetHost(("python", "py", "python3", "pallas"), snippet_spec())

    def complete(self, snippet: str) -> tuple[str, ...]:
        """Whole sources that a snippet may be meant as."""
        return complete(snippet)

    def toolchain_stamp(self) -> str:
        """Which environments there are, and when each was made."""
        folder = self._environment or data_folder() / "toolchains" / "tpu"
        parts = [str(self._named), os.environ.get("PATH", "")]
        return "\n".join([*parts, *stamps([folder, *sorted(folder.glob("*"))] if folder.is_dir() else [folder])])

    def refresh(self) -> None:
        """Look for the toolchain again when it is next needed; processes of the old one end."""
        shop = self.__dict__.pop("shop", None)
        if shop is not None:
            shop.close()
        for name in ("found", "jail"):
            self.__dict__.pop(name, None)
