"""What is known of a target, folded from its knowledge base."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..base import Event
from ..knowledge import KnowledgeBase, ProbeMeasured
from ..log import EventLog, Recorded


@dataclass
class KnowledgeView:
    """The latest probe of each name."""

    probes: dict[str, ProbeMeasured] = field(default_factory=dict)

    def apply(self, recorded: Recorded) -> None:
        """Fold one recorded event of the knowledge base."""
        event: Event = recorded.event
        if isinstance(event, ProbeMeasured):
            self.probes[event.name] = event


def load_knowledge(log: EventLog, target: str) -> KnowledgeView:
    """Fold the knowledge base of a target."""
    view = KnowledgeView()
    for recorded in log.stream([KnowledgeBase.identify(target)]):
        view.apply(recorded)
    return view
