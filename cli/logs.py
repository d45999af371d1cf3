"""Diagnostics: structlog to standard error. The event log is the record; these lines are for whoever looks for a fault."""

from __future__ import annotations

import logging
import sys
from typing import Literal, get_args

import structlog

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[str, ...] = get_args(Level)


def configure(level: str, *, as_json: bool = False) -> None:
    """Send diagnostics of ``level`` and above to standard error, for people or as JSON lines."""
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
