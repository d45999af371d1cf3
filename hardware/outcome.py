"""The closed set of what can become of a design on its way to a reading. Nothing is inferred from absence."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """Why a design stopped, or ``ok``. Stored in events by value: never rename a member, only add."""

    OK = "ok"
    VETOED = "vetoed"
    """Review refused it by a rule, before any compiler."""
    DUPLICATE = "duplicate"
    """The same normalized source, or the same artifact, as an earlier design."""
    BUILD_FAILED = "build-failed"
    BUILD_CRASHED = "build-crashed"
    BUILD_HUNG = "build-hung"
    BAD_SYMBOLS = "bad-symbols"
    """The artifact needs or defines a symbol that the contract does not allow, or runs code when it is loaded."""
    LOAD_FAILED = "load-failed"
    CRASHED = "crashed"
    HUNG = "hung"
    OUT_OF_MEMORY = "out-of-memory"
    WRONG_VALUE = "wrong-value"
    NOT_FINITE = "not-finite"
    INPUT_MODIFIED = "input-modified"
    OUT_OF_BOUNDS = "out-of-bounds"
    NOT_REPEATABLE = "not-repeatable"
    """Two calls with the same inputs gave other bits."""
    FORBIDDEN_CALL = "forbidden-call"
    """It asked the system for something that the sandbox refuses."""
    SIDE_EFFECT = "side-effect"
    """It left its process changed: floating-point control state, number of threads."""
    TOO_SLOW = "too-slow"
    """The short probe shows it plainly slower than the best."""
    SUSPECT = "suspect"
    """Faster than the floor allows, or a jump that nothing explains: to be resolved, never a win."""
    NO_VALUES = "no-values"
    """The toolchain has no way to run the design for values; says nothing about the design."""
    NO_DEVICE = "no-device"
    """The reading could not be taken (lease lost, device gone); says nothing about the design."""
