"""How work and the staged input are shared out among the threads."""

from __future__ import annotations

from dataclasses import dataclass

from .gemv import Design

_SCHEDULES = {"static": "static", "dynamic": "dynamic", "guided": "guided", "cyclic": "static, 1"}


def schedule(design: Design) -> str:
    """The OpenMP schedule clause of the row loops."""
    return _SCHEDULES[str(design["schedule"])]


@dataclass(frozen=True)
class Staging:
    """Where the staged input lives: text at file scope, text in the parallel region, and the pragma before it is filled."""

    shared: str
    private: str
    once: str

    @classmethod
    def of(cls, design: Design, declaration: str) -> Staging:
        """By the lever ``staging``: a copy for each thread, or one that a single thread fills before a barrier."""
        if design["staging"] == "private":
            return cls("", f"        {declaration}\n", "")
        return cls(f"static {declaration}\n", "", "#pragma omp single\n")
