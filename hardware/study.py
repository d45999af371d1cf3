"""What a target may offer for learning: its documentation, and a way to try short pieces of its language.

Each is a method of its own that a target may have; a target without them is still a target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..kernels.spec import KernelSpec
from .target import Build


@dataclass(frozen=True)
class Document:
    """A text of documentation. ``name`` is a relative path whose suffix tells the format (``.md`` or ``.rst``)."""

    name: str
    text: str


@runtime_checkable
class Documented(Protocol):
    """A target that brings documentation of its own."""

    def documentation(self) -> Sequence[Document]:
        """The documents, in the order in which to read them."""


@dataclass(frozen=True)
class SnippetHost:
    """How short pieces of a target's language become designs that can be built.

    ``languages`` are the names that code blocks are marked with. ``spec`` is the kernel that they stand in for; its
    inputs and outputs are float32 vectors called ``x`` and ``y`` of the same length.
    """

    languages: tuple[str, ...]
    spec: KernelSpec


@runtime_checkable
class TriesSnippets(Protocol):
    """A target that can try pieces of its language."""

    def snippets(self) -> SnippetHost:
        """The kernel that snippets stand in for."""

    def complete(self, snippet: str) -> tuple[str, ...]:
        """Whole sources that a snippet may be meant as (itself, as declarations, as a body), most likely first."""


@dataclass(frozen=True)
class Estimate:
    """A static prediction for a built design. ``seconds`` is for one call; ``model`` names the arithmetic and version.

    ``limit`` names the unit that the design waits for most, in a few words ("HBM", "vector unit"), empty when unknown.
    """

    seconds: float
    model: str
    details: dict[str, float]
    limit: str = ""


@runtime_checkable
class Estimates(Protocol):
    """A target that can predict without running.

    One without a device should: its designs are ordered by their estimates, as far as ``held``.
    """

    def estimate(self, spec: KernelSpec, build: Build, probes: Mapping[str, float]) -> Estimate | None:
        """The prediction for a build that succeeded, None where there is nothing to predict from.

        ``probes`` are the valid readings of the chip by name, in the units of the probes.
        """


@runtime_checkable
class Stamped(Protocol):
    """A target that can tell cheaply whether its toolchain may have changed."""

    def toolchain_stamp(self) -> str:
        """A text that changes whenever anything that the toolchain is made of is replaced; costs a few system calls."""

    def refresh(self) -> None:
        """Forget what was found of the toolchain, so that it is looked for again."""
