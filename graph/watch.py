"""Notice between steps that the toolchain was replaced under a running run."""

from __future__ import annotations

from ..hardware.study import Stamped
from .step import Step
from .workbench import Workbench


class ToolchainWatch:
    """Compares what is installed with what the run has observed last.

    A target with a cheap stamp is asked before every step; any other one before each proposal, since finding out what is
    installed may take a while.
    """

    def __init__(self, wb: Workbench) -> None:
        self._wb = wb
        self._stamp = self._now()

    def _now(self) -> str:
        return self._wb.target.toolchain_stamp() if isinstance(self._wb.target, Stamped) else ""

    def step_before(self, step: Step) -> Step | None:
        """The observation to make before ``step``, None when nothing has changed."""
        seen = self._wb.view.toolchain
        if seen is None or step.name == "observe":
            return None
        if isinstance(self._wb.target, Stamped):
            stamp = self._now()
            if stamp == self._stamp:
                return None
            self._stamp = stamp
            self._wb.target.refresh()
        elif step.name != "propose":
            return None
        if self._wb.target.toolchain().fingerprint == seen.fingerprint:
            return None
        return Step("observe", turn=self._wb.view.starts, item=f"change {self._wb.view.observations}")
