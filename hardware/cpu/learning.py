"""What the CPU target offers for learning: its guide, snippets of C as designs, and a cheap stamp of the toolchain."""

from __future__ import annotations

import functools
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from ...kernels.spec import KernelSpec
from ..snippets import snippet_kernel
from ..stamps import stamps
from ..study import Document, Estimate, SnippetHost
from ..target import Build
from .toolchain import Compiler, ask, find_compiler

LENGTH = 64
"""Elements of the vectors ``x`` and ``y`` of a snippet."""
ENTRY = "snippet"
_HEAD = '#include "kernel.h"\n#include <stddef.h>\n'
_SIGNATURE = f"void {ENTRY}(const float *restrict x, float *restrict y)"


def snippet_spec() -> KernelSpec:
    """The kernel that snippets stand in for: y[N] from x[N], float32; its own values are y = 2 x."""
    return snippet_kernel(ENTRY, "N", LENGTH)


def complete(snippet: str) -> tuple[str, ...]:
    """Whole sources that a snippet of C may be meant as.

    One that defines the entry is a source. Otherwise it is tried as the body of the entry, and as declarations before
    an entry that does nothing but double its input; its own ``#include`` lines go to the top.
    """
    if re.search(rf"\b{ENTRY}\s*\(", snippet):
        return (snippet if '"kernel.h"' in snippet else _HEAD + snippet,)
    lines = snippet.splitlines(keepends=True)
    includes = "".join(line for line in lines if re.match(r"[ \t]*#[ \t]*include\b", line))
    rest = "".join(line for line in lines if not re.match(r"[ \t]*#[ \t]*include\b", line))
    body = f"{_HEAD}{includes}{_SIGNATURE}\n{{\n{rest}}}\n"
    double = "    for (size_t i = 0; i < N; i++)\n        y[i] = 2.0f * x[i];\n"
    declarations = f"{_HEAD}{includes}{rest}{_SIGNATURE}\n{{\n{double}}}\n"
    return body, declarations


@functools.cache
def _files(command: tuple[str, ...]) -> tuple[Path, ...]:
    """The files that a compiler consists of, as far as it says: itself, its passes, its linker, its libraries."""
    found: list[Path] = []
    driver = shutil.which(command[0])
    if driver:
        found += [Path(driver), Path(driver).resolve()]
    for flag, names in (("-print-prog-name", ("cc1", "as", "ld")), ("-print-file-name", ("libgomp.so.1", "libm.so.6"))):
        for name in names:
            said = ask(command, f"{flag}={name}")[1].strip()
            path = shutil.which(said) if said and "\n" not in said else None
            path = path or (said if said.startswith("/") else None)
            if path:
                found.append(Path(path).resolve())
    return tuple(dict.fromkeys(found))


class Learning:
    """What a target of C on this host can say of itself beyond the protocol. Mixed into the target."""

    _configured: str | None

    @property
    def compiler(self) -> Compiler:
        """The compiler in use; the target keeps what it has found."""
        return find_compiler(self._configured)

    def documentation(self) -> Sequence[Document]:
        """The guide to the contract that ships with the package."""
        folder = resources.files(__package__).joinpath("docs")
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".md"))
        return [Document(f"cpu/{name}", folder.joinpath(name).read_text(encoding="utf-8")) for name in names]

    def snippets(self) -> SnippetHost:
        """The kernel that snippets stand in for."""
        return SnippetHost(("c",), snippet_spec())

    def complete(self, snippet: str) -> tuple[str, ...]:
        """Whole sources that a snippet may be meant as."""
        return complete(snippet)

    @property
    def threads(self) -> int:
        """Threads that a design has; the target knows."""
        raise NotImplementedError

    def estimate(self, spec: KernelSpec, build: Build, probes: Mapping[str, float]) -> Estimate | None:
        """A static prediction from the instructions of a build; see the protocol."""
        from .estimate import estimate

        return estimate(spec, build, probes, self.threads)

    def toolchain_stamp(self) -> str:
        """Size, time and place of every file of the compiler, and the search path that it was found by."""
        parts = [os.environ.get("PATH", "")]
        return "\n".join([*parts, *stamps(_files(self.compiler.command))])

    def refresh(self) -> None:
        """Look for the compiler again when it is next needed, and for all that was compiled by it."""
        find_compiler.cache_clear()
        _files.cache_clear()
        for name in ("compiler", "helpers", "jail"):
            self.__dict__.pop(name, None)
