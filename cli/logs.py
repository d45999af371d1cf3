"""Diagnostics: structlog to standard error. The event log is the record; these lines are for whoever looks for a fault."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from typing import Literal, get_args

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[str, ...] = get_args(Level)


@dataclass
class Choice:
    """What the command line asks for."""

    level: str = "warning"
    as_json: bool = False


chosen = Choice()


def choose(level: str, *, as_json: bool = False) -> None:
    """Remember what is asked for until a command that does work begins: those that only read write no diagnostics, and
    start faster without the library.
    """
    chosen.level, chosen.as_json = level, as_json


def begin() -> None:
    """Send diagnostics where :func:`choose` was told to."""
    configure(chosen.level, as_json=chosen.as_json)


def configure(level: str, *, as_json: bool = False) -> None:
    """Send diagnostics of ``level`` and above to standard error, for people or as JSON lines."""
    import structlog

    renderer = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
