"""Kernel Tuner's search strategies over the playbook's design space, with our build, oracle and readings.

Kernel Tuner's C backend calls a function in its own process and believes the time that the function returns. Our
contract (weights that rotate, fresh inputs, outputs checked, a clock outside the design) does not fit in there, so its
strategies get a runner of our own, at the seam that its sequential and simulation runners use. All that decides where to
look next is Kernel Tuner's: search space, strategies with their default options, budget, caching of what was visited.
"""

from __future__ import annotations

import random
import time
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
from kernel_tuner.interface import Options, strategy_map  # type: ignore[import-not-found]  # as in requirements.txt
from kernel_tuner.runners.runner import Runner  # type: ignore[import-not-found]
from kernel_tuner.searchspace import Searchspace  # type: ignore[import-not-found]
from kernel_tuner.util import InvalidConfig, RuntimeFailedConfig, TuningBudget  # type: ignore[import-not-found]
from kernelwright.agents.playbook.cpu.isa import Isa
from kernelwright.agents.playbook.cpu.space import CpuSpace
from kernelwright.agents.playbook.space import Value

OBJECTIVE = "time"
"""Kernel Tuner's default: seconds of a call here, the mean of the readings, to be made small."""
_Device = namedtuple("_Device", ["name", "max_threads"])

Design = dict[str, Value]


@dataclass(frozen=True)
class Evaluation:
    """What became of a design: seconds of a call as each reading gave it, or why there are none."""

    seconds: tuple[float, ...]
    device_seconds: float
    reason: str = ""


@dataclass
class Trial:
    """A design that a strategy asked for, when (seconds of device and of wall time since it began), and what it got."""

    design: Design
    device_seconds: float
    wall_seconds: float
    seconds: float | None


class Budget(TuningBudget):  # type: ignore[misc]  # the library has no types
    """Device time instead of wall time, with a bound on wall time beside it."""

    def __init__(self, device_seconds: float, wall_seconds: float, evaluations: int) -> None:
        super().__init__(time_limit=device_seconds, max_fevals=evaluations)
        self.wall_seconds = wall_seconds
        self.device_seconds = 0.0
        self.begun, self.ended = time.perf_counter(), 0.0

    @property
    def wall_spent(self) -> float:
        """Seconds from the begin to the end of the strategy, or to now."""
        return (self.ended or time.perf_counter()) - self.begun

    def get_time_spent(self) -> timedelta:
        """Device time; all of it once the wall time is over, so that the library stops."""
        over = self.wall_spent > self.wall_seconds
        return self.time_limit + timedelta(seconds=1) if over else timedelta(seconds=self.device_seconds)


class Space:
    """The playbook's levers as Kernel Tuner's parameters.

    A value is given by its number, so that strategies which move along an axis can; designs that differ only in levers
    without effect are the same point, by a restriction as Kernel Tuner has them.
    """

    def __init__(self, kernel: str, isa: Isa) -> None:
        self._written = CpuSpace(kernel, isa)
        self.values = {lever.name: lever.values for lever in self._written.levers}
        self.parameters = {name: list(range(len(values))) for name, values in self.values.items()}
        self.search = Searchspace(self.parameters, self._is_canonical, 1024)

    def _is_canonical(self, point: Mapping[str, int]) -> bool:
        design = {name: values[point[name]] for name, values in self.values.items()}
        return dict(self._written.canonical(design)) == design

    def design(self, point: Iterable[int]) -> Design:
        """The levers' values at a point."""
        return {name: values[number] for (name, values), number in zip(self.values.items(), point, strict=True)}


@dataclass
class Search(Runner):  # type: ignore[misc]  # the library has no types
    """The runner: evaluates what a strategy asks for. Points that it has seen are answered from memory, at no cost."""

    space: Space
    evaluate: Callable[[Design], Evaluation]
    trials: list[Trial] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def get_device_info(self) -> _Device:
        """For restrictions on threads, of which we have none."""
        return _Device("cpu", 1024)

    def get_environment(self, tuning_options: Any) -> dict[str, str]:
        """Nothing that a strategy looks at."""
        del tuning_options
        return {}

    def run(self, parameter_space: Iterable[tuple[int, ...]], tuning_options: Any) -> list[dict[str, Any] | None]:
        """Results in order; None from where the budget is spent."""
        results: list[dict[str, Any] | None] = []
        for point in parameter_space:
            if tuning_options.budget.is_done():
                results.append(None)
                continue
            names = ",".join(str(number) for number in point)
            if names not in tuning_options.cache:
                tuning_options.budget.add_evaluations(1)
                tuning_options.cache[names] = self._result(tuple(point), tuning_options.budget)
            results.append(dict(tuning_options.cache[names]))
        return results

    def _result(self, point: tuple[int, ...], budget: Budget) -> dict[str, Any]:
        design = self.space.design(point)
        made = self.evaluate(design)
        budget.device_seconds += made.device_seconds
        result: dict[str, Any] = dict(zip(self.space.parameters, point, strict=True))
        seconds = float(np.mean(made.seconds)) if made.seconds else None
        self.trials.append(Trial(design, budget.device_seconds, budget.wall_spent, seconds))
        if seconds is None:
            self.failed[made.reason] = self.failed.get(made.reason, 0) + 1
            result["__error__"] = RuntimeFailedConfig() if made.device_seconds else InvalidConfig()
        else:
            result[OBJECTIVE] = seconds
        return result

    @property
    def best(self) -> Trial | None:
        """The fastest design by its own reading."""
        timed = [trial for trial in self.trials if trial.seconds is not None]
        return min(timed, key=lambda trial: trial.seconds or 0.0) if timed else None


def run_strategy(name: str, search: Search, device_seconds: float, wall_seconds: float, seed: int) -> Budget:
    """One strategy with its default options, as ``kernel_tuner.tune_kernel`` runs it; returns what it has spent."""
    random.seed(seed)
    np.random.seed(seed)  # the generators that the library draws from
    budget = Budget(device_seconds, wall_seconds, search.space.search.size)
    options: Mapping[str, Any] = {
        "strategy_options": Options({}),
        "tune_params": search.space.parameters,
        "restrictions": search.space.search._modified_restrictions,  # as the library's own entry point passes it on
        "budget": budget,
        "cache": {},
        "cachefile": None,
        "objective": [OBJECTIVE],
        "objective_higher_is_better": [False],
        "metrics": None,
        "verbose": False,
        "simulated_time": 0,
    }
    strategy_map[name].tune(search.space.search, search, Options(options))
    budget.ended = time.perf_counter()
    return budget
