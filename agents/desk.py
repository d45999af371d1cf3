"""What a specialist may look at: views of the log, and the target's contract and compiler. Nothing here can be changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..events.base import Context
from ..events.blobs import Blobs
from ..events.log import EventLog
from ..events.views.knowledge import KnowledgeView, load_knowledge
from ..events.views.load import load_run
from ..events.views.run import RunView
from ..events.views.tree import TreeView
from ..hardware.target import Target
from ..kernels.spec import KernelSpec


@dataclass(frozen=True)
class Desk:
    """The state of a run as a specialist sees it. ``context`` is copied into the events of its calls."""

    log: EventLog
    view: RunView
    known: KnowledgeView
    target: Target
    specs: Mapping[str, KernelSpec]
    context: Context

    @property
    def blobs(self) -> Blobs:
        """Sources, outputs and answers by digest."""
        return self.log.blobs

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.view.started.seed if self.view.started is not None else 0

    def tree(self, kernel: str) -> TreeView:
        """The Design Tree of a kernel."""
        return self.view.trees[kernel]

    def source(self, kernel: str, design: str) -> str:
        """The source of a design."""
        return self.blobs.text(self.tree(kernel).designs[design].proposed.source)


def asks(view: RunView, kernel: str) -> int:
    """How many rounds of proposals were finished for a kernel: the number of the next one, counted from the log."""
    return view.finished("propose", kernel)


def desk_of(log: EventLog, run: str, target: Target, specs: Mapping[str, KernelSpec]) -> Desk:
    """The desk of a recorded run as its log ends; raises UnknownRunError."""
    view = load_run(log, run)
    return Desk(log, view, load_knowledge(log, target.name), target, specs, Context())
