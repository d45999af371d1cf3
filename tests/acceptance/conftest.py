"""Hypothesis for this folder: the same examples every time, and no deadline, since machines that test are busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
