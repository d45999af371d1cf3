"""Who works at a run, from its settings: the playbook alone, or a team with language models and budgets."""

from __future__ import annotations

from .ledger import Notify
from .panel import Panel, Solo
from .playbook.specialist import Playbook
from .settings import TeamSettings
from .team import Team


def staff(settings: TeamSettings, notify: Notify = lambda _line: None) -> Panel:
    """The specialists of a run: the playbook alone where nothing asks for more."""
    playbook = Playbook()
    return (
        Team(settings, playbook, notify=notify) if settings.staffed or settings.replay is not None else Solo(playbook)
    )
