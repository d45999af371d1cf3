"""What a step may touch: the run's aggregates, the target, loaded kernels, and a stopwatch by kind of work."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from ..acceptance.policy import Policy
from ..agents.panel import Panel
from ..agents.port import Tried
from ..events.base import Aggregate, Context
from ..events.device import Device
from ..events.knowledge import KnowledgeBase
from ..events.log import EventLog
from ..events.run import Run
from ..events.tree import DesignTree
from ..events.views.knowledge import KnowledgeView
from ..events.views.run import RunView
from ..hardware.lease import Holder, lease
from ..hardware.target import Bench, Build, Session, Target
from ..kernels.spec import KernelSpec


@dataclass(frozen=True)
class SessionKey:
    """Which two designs are loaded for paired readings; ``use`` keeps inputs apart that were drawn for
    deciding and for confirming."""

    kernel: str
    best: str
    candidate: str
    use: str


@dataclass
class Workbench:
    """A run being worked on by this process.

    Aggregates are kept at their latest version; whatever they recorded in a step is saved with the step's outcome, in one
    transaction. Benches stay open for the run: placing weights costs seconds.
    """

    log: EventLog
    view: RunView
    known: KnowledgeView
    policy: Policy
    target: Target
    specs: Mapping[str, KernelSpec]
    panel: Panel
    run: Run
    trees: Mapping[str, DesignTree]
    knowledge: KnowledgeBase
    device: Device
    context: Context = field(default_factory=Context)
    seconds: dict[str, float] = field(default_factory=dict)
    extras: list[Aggregate] = field(default_factory=list)
    """Further aggregates that a step has recorded in."""
    told: dict[str, dict[str, tuple[int, Tried]]] = field(default_factory=dict)
    """By kernel and design: what specialists were told of it last, and after how many of its events."""
    on_wait: Callable[[Holder | None], None] | None = None
    """Told once, with who has it, when the device is not free."""
    _lease: tuple[int, float] | None = None
    _benches: dict[str, Bench] = field(default_factory=dict)
    _builds: dict[str, Build] = field(default_factory=dict)
    _session: tuple[SessionKey, Session, ExitStack] | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """All that a step may have recorded in."""
        return (*self.trees.values(), self.knowledge, self.device, *self.extras, self.run)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Count the time inside as ``part`` of the step (``build``, ``values`` and ``device`` are not overhead)."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - begun

    @contextmanager
    def leased(self, context: Context) -> Iterator[None]:
        """Hold the target's device for the body, and say so in the log: the lease is recorded with the next save."""
        asked = time.perf_counter()
        with lease(self.target.name, f"run {self.view.name}", on_wait=self.on_wait) as held:
            if self.log.version(Device, self.target.name) != self.device.version:
                # Another run of this store had the device meanwhile.
                self.device = self.log.load(Device, self.target.name)
            self._lease = (max(held.token, self.device.token + 1), time.perf_counter())
            waited = self._lease[1] - asked
            self.device.grant(context, self.view.name, self._lease[0], waited, self.target.name)
            self.seconds["waiting"] = waited
            try:
                yield
            finally:
                self._lease = None

    def release(self) -> None:
        """Record the end of the lease, if there is one; the device itself is free once the outcome is saved."""
        if self._lease is not None:
            token, since = self._lease
            self.device.release(self.context, self.view.name, token, time.perf_counter() - since)

    def secret(self, *names: object) -> int:
        """A seed (63 bits) that follows from the run's entropy and ``names``; candidates cannot know it."""
        text = "/".join([self.view.entropy, *map(str, names)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1

    def source(self, kernel: str, design: str) -> str:
        """The source text of a design."""
        return self.log.blobs.text(self.view.trees[kernel].designs[design].proposed.source)

    def build(self, kernel: str, design: str) -> Build:
        """The build of a design; compiled at most once by this process (targets keep artifacts beyond that)."""
        digest = self.view.trees[kernel].designs[design].proposed.source
        key = f"{kernel}/{digest}"
        if key not in self._builds:
            with self.timed("build"):
                self._builds[key] = self.target.build(self.specs[kernel], self.source(kernel, design))
        return self._builds[key]

    def bench(self, kernel: str) -> Bench:
        """The open bench of a kernel; its weights follow from the run's entropy, so a resumed run has the same."""
        if kernel not in self._benches:
            with self.timed("values"):
                opened = self.target.open(self.specs[kernel], self.secret("weights", kernel))
                self._benches[kernel] = self._stack.enter_context(opened)
        return self._benches[kernel]

    def session(self, key: SessionKey) -> Session:
        """Two designs loaded in processes of their own; kept for the next step with the same key."""
        if self._session is not None and self._session[0] == key:
            return self._session[1]
        self.close_session()
        stack = ExitStack()
        bench = self.bench(key.kernel)
        best, candidate = self.build(key.kernel, key.best), self.build(key.kernel, key.candidate)
        seed = self.secret("session", key.kernel, key.best, key.candidate, key.use)
        session = stack.enter_context(bench.pair(best, candidate, seed))
        self._session = (key, session, stack)
        return session

    def close_session(self) -> None:
        """End the processes of the session, if there is one."""
        if self._session is not None:
            self._session[2].close()
            self._session = None

    def forget(self) -> None:
        """Drop everything that was built or loaded: the toolchain has changed."""
        self.close_session()
        self._stack.close()
        self._benches.clear()
        self._builds.clear()

    def close(self) -> None:
        """End every process and free every buffer."""
        self.close_session()
        self._stack.close()
