"""Events of a device, and the aggregate that guards it: one holder at a time, each lease with a larger token."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from .base import Aggregate, Context, Event, InvariantError, guarded, recorded


class DeviceEvent(Event):
    """Base of the events of a device."""

    AGGREGATE: ClassVar[str] = "device"


@recorded
class LeaseGranted(DeviceEvent):
    """A run holds the device from now on. ``waited_seconds`` is how long it stood in line."""

    TOPIC: ClassVar[str] = "device.lease-granted"
    device: str
    run: str
    token: int
    waited_seconds: float


@recorded
class LeaseReleased(DeviceEvent):
    """The holder gave the device back, or (``lost``) was found dead by the next one."""

    TOPIC: ClassVar[str] = "device.lease-released"
    run: str
    token: int
    held_seconds: float
    lost: bool


@guarded
class Device(Aggregate):
    """One device. The lock of the operating system decides who holds it; the log says who did, and fences old holders."""

    KIND: ClassVar[str] = "device"

    def __init__(self, originator_id: UUID) -> None:
        super().__init__(originator_id)
        self.holder: str | None = None
        self.token = 0

    def apply(self, event: Event) -> None:
        """Fold one event."""
        match event:
            case LeaseGranted():
                self.holder, self.token = event.run, event.token
            case LeaseReleased():
                self.holder = None
            case _:
                pass

    def grant(self, context: Context, run: str, token: int, waited_seconds: float, device: str) -> Event:
        """Record a lease. A holder that never released it is noted as lost first."""
        if token <= self.token:
            raise InvariantError(f"lease token {token} of run {run} is not newer than {self.token}")
        if self.holder is not None:
            self.release(context, self.holder, self.token, 0.0, lost=True)
        content: dict[str, Any] = {"device": device, "run": run, "token": token, "waited_seconds": waited_seconds}
        return self.trigger(LeaseGranted, context, **content)

    def release(self, context: Context, run: str, token: int, held_seconds: float, *, lost: bool = False) -> Event:
        """Record the end of a lease; refused when another holder has taken over since."""
        if self.holder != run or self.token != token:
            raise InvariantError(f"run {run} does not hold the device with token {token}")
        return self.trigger(LeaseReleased, context, run=run, token=token, held_seconds=held_seconds, lost=lost)
