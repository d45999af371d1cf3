"""From settings to the parts of a run: the target, the kernels' specs, the specialists."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..agents.panel import Panel
from ..agents.staff import staff
from ..config import Config
from ..events.base import InvariantError
from ..events.log import ConflictError, EventLog, LogError
from ..events.views.run import RunView
from ..events.views.summary import list_runs
from ..graph.runner import Plan, start_run
from ..hardware.discovery import find_target
from ..hardware.target import OwnKernels, Target, TargetError
from ..kernels.registry import KernelError, kernel, load_kernel_file
from ..kernels.spec import KernelSpec
from .logs import begin
from .output import fail, warn


@dataclass(frozen=True)
class Parts:
    """What the runner needs beside the log."""

    target: Target
    specs: Mapping[str, KernelSpec]
    panel: Panel

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels, in the order asked for."""
        return tuple(self.specs)


def assemble(settings: Config, *, as_json: bool) -> Parts:
    """The parts for new settings; what is unknown or missing ends the command with one line."""
    begin()
    try:
        target = find_target(settings.target, settings.targets.of(settings.target))
        target.toolchain()
        own = [load_kernel_file(Path(file)) for file in settings.kernel_files]
        specs = {spec.name: spec for spec in own}
        brought = target.kernels() if isinstance(target, OwnKernels) else {}
        # A kernel file alone means that kernel; naming kernels beside it means those too.
        by_default = settings.kernels == Config().kernels
        wanted = () if own and by_default else (tuple(brought) or settings.kernels) if by_default else settings.kernels
        specs = {**{name: specs.get(name) or brought.get(name) or kernel(name) for name in wanted}, **specs}
        if not specs:
            fail("no kernels are named; give --kernels a,b or --kernel-file", as_json=as_json)
    except KernelError as error:
        fail(str(error), as_json=as_json)
    except TargetError as error:
        fail(str(error), as_json=as_json, code=1)
    return Parts(target, specs, staff(settings.team, notify=warn))


def remember_kernel_files(log: EventLog, settings: Config) -> dict[str, str]:
    """Stage the users' kernel files as blobs, so that the run can be resumed without them; digest by file name."""
    return {Path(file).name: log.blobs.put(Path(file).read_bytes()) for file in settings.kernel_files}


def assemble_recorded(
    log: EventLog,
    view: RunView,
    *,
    as_json: bool,
    changes: Mapping[str, Any] | None = None,
    others: Mapping[str, Any] | None = None,
) -> tuple[Config, Parts]:
    """The settings and parts of a recorded run, kernel files included, with some settings replaced.

    ``others`` are settings of the target that replace those which the run has had so far.
    """
    assert view.started is not None
    recorded = dict(view.started.config)
    if "imported" in recorded:
        fail(
            f"run {view.name} holds readings that were taken elsewhere: there is no search in it to go on with",
            as_json=as_json,
        )
    sources: dict[str, str] = recorded.pop("kernel_sources", {})
    with tempfile.TemporaryDirectory(prefix="kernelwright-") as folder:
        files = []
        for name, digest in sources.items():
            path = Path(folder) / name
            path.write_bytes(log.blobs.get(digest))
            files.append(str(path))
        recorded["kernel_files"] = tuple(files)
        recorded["kernels"] = tuple(recorded.get("kernels", ()))
        recorded["store"] = log.where
        target, before = recorded.get("target", "cpu"), recorded.get("targets", {})
        recorded["targets"] = {**before, target: {**before.get(target, {}), **view.options, **(others or {})}}
        settings = Config.model_validate({**recorded, **(changes or {})})
        return settings, assemble(settings, as_json=as_json)


NAMES_TRIED = 20
"""Runs that begin in one store in the same second take turns at names."""


def start_under_new_name(log: EventLog, plan: Plan) -> str:
    """Record the start of a run under a name that no other run of the store has; returns it."""
    for _ in range(NAMES_TRIED):
        name = new_run_name(log)
        try:
            start_run(log, replace(plan, run=name))
        except (ConflictError, InvariantError):
            continue  # another process has begun a run of that name since the names were read
        return name
    raise LogError(f"no name is free for a new run in {log.where}: many runs begin there at once; try again")


def new_run_name(log: EventLog) -> str:
    """A name that says when the run began, and that is new in this store."""
    stem = datetime.now(UTC).strftime("r%Y%m%d-%H%M%S")
    taken = {each["run"] for each in list_runs(log)}
    return next(name for name in (stem, *(f"{stem}-{n}" for n in range(2, 1000))) if name not in taken)
