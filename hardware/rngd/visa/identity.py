"""Proof that two builds differ, before anyone compares their readings.

Participants of the 2026 RNGD kernel contest compared a binary with itself more than once: kernels are cached by name, and a
shared target folder gave one worktree the other's. Different digests prove that A is not B; equal digests of different
sources are looked at once more, from a fresh copy.
"""

from __future__ import annotations

from enum import StrEnum

from ....kernels.spec import KernelSpec
from ...outcome import Outcome
from ...target import Build
from .build import Made, compile_in
from .bundle import split_bundle
from .tools import Tools
from .workspace import new_folder


class Identity(StrEnum):
    """What is known of two builds."""

    DIFFERENT = "different"
    SAME_SOURCE = "same-source"
    SAME_ARTIFACT = "same-artifact"
    """Two sources, one artifact, and a fresh build says so too: the change does nothing."""
    STALE = "stale"
    """The kept artifact is not what the source compiles to: a cache had answered."""
    UNKNOWN = "unknown"
    """One of them has no artifact, or the fresh build did not end."""


def proved(tools: Tools, spec: KernelSpec, first: tuple[str, Build], second: tuple[str, Build]) -> Identity:
    """Whether two designs (source and build) are different kernels; builds again only where the digests are equal."""
    (one, build_one), (two, build_two) = first, second
    if build_one.artifact is None or build_two.artifact is None:
        return Identity.UNKNOWN
    if build_one.artifact != build_two.artifact:
        return Identity.DIFFERENT
    if split_bundle(one) == split_bundle(two):
        return Identity.SAME_SOURCE
    for source in (one, two):
        again = fresh(tools, spec, source)
        if again.outcome is not Outcome.OK:
            return Identity.UNKNOWN
        if again.artifact != build_one.artifact:
            return Identity.STALE
    return Identity.SAME_ARTIFACT


def fresh(tools: Tools, spec: KernelSpec, source: str) -> Made:
    """A build of a source from nothing, whatever is kept. Raises BundleError."""
    with new_folder(tools, split_bundle(source)) as folder:
        return compile_in(tools, spec, folder)
