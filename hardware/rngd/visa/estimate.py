"""The static estimate of a visa build: the makespan of the schedule that the compiler dumped."""

from __future__ import annotations

from ...study import Estimate
from ...target import Build
from .analysis import bottleneck, busy, describe
from .schedule import SCHEDULE_HZ, Schedule, ScheduleError, parse_schedule

MODEL = "visa-schedule/1"


def schedule_of(build: Build) -> Schedule | None:
    """The schedule kept with a build, None where the compiler wrote none that can be read."""
    if build.path is None:
        return None
    try:
        return parse_schedule((build.path / "schedule.json").read_bytes())
    except (OSError, ScheduleError):
        return None


def estimate(build: Build) -> Estimate | None:
    """Seconds by the compiler's clock, with the share of each context; None without a schedule.

    The makespan counts the schedule's cycles, a reading the chip's: they are two clocks and two models, and only readings
    say how far one can be taken for the other.
    """
    schedule = schedule_of(build)
    if schedule is None:
        return None
    shares = {f"share.{each.context}": each.share for each in busy(schedule)}
    details = {"makespan_cycles": float(schedule.makespan), "nodes": float(len(schedule.nodes)), **shares}
    return Estimate(schedule.makespan / SCHEDULE_HZ, MODEL, details, bottleneck(schedule))


def analysis(build: Build) -> str:
    """What the schedule says of a build, for the Analyst and for people; empty without one."""
    schedule = schedule_of(build)
    return "" if schedule is None else describe(schedule)
