"""Makes the stand-ins in tests/support importable, and keeps diagnostics out of reports."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import structlog

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
sys.path.insert(0, str(Path(__file__).parent))
