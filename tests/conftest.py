"""Makes the stand-ins in tests/support importable, keeps diagnostics out of reports, and takes clocks from hypothesis."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import structlog
from hypothesis import HealthCheck, settings

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
sys.path.insert(0, str(Path(__file__).parent))
# How long an example takes says how busy the machine is, and nothing about what is tested.
settings.register_profile("kernelwright", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kernelwright")
