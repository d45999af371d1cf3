"""Builds kept from one process to the next: each in a folder of its own, which appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from .outcome import Outcome
from .target import Build

_RECORD = "build.json"


def load_build(home: Path, name: str) -> Build | None:
    """The build kept in ``home``, its artifact in the file ``name``; None where there is none, or a damaged one."""
    try:
        record = json.loads((home / _RECORD).read_text())
        outcome, artifact, diagnostics = Outcome(record["outcome"]), record["artifact"], record["diagnostics"]
        path = home / name if artifact is not None else None
        if path is not None and hashlib.sha256(path.read_bytes()).hexdigest() != artifact:
            return None  # damaged: build again
    except (OSError, ValueError, KeyError):
        return None
    return Build(outcome, artifact, path, diagnostics, 0.0)


def keep_build(home: Path, made: Build, name: str, artifact: bytes) -> Build:
    """Keep a build in ``home``, its artifact (if there is one) in the file ``name``; returns it with that path."""
    home.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="new-", dir=home.parent))
    record = {"outcome": made.outcome.value, "artifact": made.artifact, "diagnostics": made.diagnostics}
    (new / _RECORD).write_text(json.dumps(record))
    if artifact:
        (new / name).write_bytes(artifact)
    try:
        if home.exists():  # damaged, or made by another process meanwhile
            shutil.rmtree(home)
        new.rename(home)
    except OSError:  # another process was first between the two lines: its artifact is the same
        shutil.rmtree(new)
    path = home / name if artifact else None
    return Build(made.outcome, made.artifact, path, made.diagnostics, made.seconds)
