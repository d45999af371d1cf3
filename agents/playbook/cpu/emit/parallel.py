"""How work and the staged input are shared out among the threads."""

from __future__ import annotations

from dataclasses import dataclass

from ...space import Design

_SCHEDULES = {"static": "static", "dynamic": "dynamic", "guided": "guided", "cyclic": "static, 1"}


def schedule(design: Design) -> str:
    """The OpenMP schedule clause of the row loops."""
    return _SCHEDULES[str(design["schedule"])]


@dataclass(frozen=True)
class Staging:
    """Where the staged input lives and who fills it.

    ``shared`` declares it at file scope or ``private`` in the parallel region; ``once`` stands before a call of ``stage``,
    ``share`` before the loop in it, and ``guard`` before what only one thread may write.
    """

    shared: str
    private: str
    once: str
    share: str
    guard: str

    @classmethod
    def of(cls, design: Design, declaration: str) -> Staging:
        """By the lever ``staging``: all threads fill a part, one of them does it all, or each fills a copy of its own."""
        if design["staging"] == "private":
            return cls("", f"        {declaration}\n", "", "", "")
        shared = f"static {declaration}\n"
        if design["staging"] == "single":
            return cls(shared, "", "#pragma omp single\n", "", "")
        return cls(shared, "", "", "#pragma omp for schedule(static)\n", "    if (omp_get_thread_num() == 0)\n    ")
