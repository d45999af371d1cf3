"""The page on trust lists every cheat that is tested, as the fixtures say it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parent.parent


def test_the_table_of_cheats_is_that_of_the_fixtures() -> None:
    command = [sys.executable, str(TOP / "scripts" / "cheats_table.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0, "run scripts/cheats_table.py"
