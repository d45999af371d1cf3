"""Who works at a run, from its settings: the playbook alone, or a team with language models and budgets."""

from __future__ import annotations

from .ledger import Notify
from .playbook.specialist import Playbook
from .port import Specialist
from .settings import TeamSettings
from .team import Team


def staff(settings: TeamSettings, notify: Notify = lambda _line: None) -> Specialist:
    """The specialist of a run: the playbook where nothing asks for more."""
    playbook = Playbook()
    return Team(settings, playbook, notify=notify) if settings.staffed or settings.replay is not None else playbook
