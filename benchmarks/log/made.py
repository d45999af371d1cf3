"""Long logs for benchmarks: a search that goes on and on, recorded in large saves, with events like those of a real run."""

from __future__ import annotations

from typing import Any

from kernelwright.acceptance.policy import Policy
from kernelwright.events.base import Context
from kernelwright.events.experience import LessonDrawn
from kernelwright.events.knowledge import KnowledgeBase
from kernelwright.events.log import EventLog
from kernelwright.events.run import Run
from kernelwright.events.tree import DesignTree, FloorMeasured, NoiseCalibrated
from kernelwright.graph.step import Step

KERNEL, TARGET = "double", "simulated"
FINGERPRINT = "f" * 16
EVENTS_PER_SAVE = 1_000
_POLICY = Policy()
_THRESHOLDS = _POLICY.as_dict()
_DIGEST = _POLICY.digest


class Maker:
    """Makes a run called ``r`` of as many events as wanted; every design is compared and rejected but each 50th."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.run = Run.new("r")
        self.tree = DesignTree.new("r", KERNEL)
        self.knowledge = KnowledgeBase.new(TARGET)
        self.made = 0
        self.designs = 0
        start: dict[str, Any] = {"target": TARGET, "policy": _POLICY.as_dict(), "seed": 0, "entropy": "00"}
        self.run.start(Context(), run="r", kernels=(KERNEL,), minutes=1e6, config={}, version="0", **start)
        self.run.observe(Context(), FINGERPRINT, {"compiler": "1"}, ())
        self.knowledge.seen(Context(), TARGET, FINGERPRINT, {"compiler": "1"}, {})
        self._step("probe", kernel="")
        self._step(
            "admit", lambda c: self.tree.start(c, run="r", kernel=KERNEL, spec="s", dimensions={}, streamed_bytes=8)
        )
        self._step("baseline", lambda c: self._propose(c, None))
        self._check("build", "build")
        self._check("verify", "oracle")
        floor: dict[str, Any] = {"seconds": 0.9e-3, "spread_seconds": 0.0, "repeats": 1, "conditions": {}}
        self._step("floor", lambda c: self.tree.note(c, FloorMeasured, **floor))
        noise: dict[str, Any] = {"seconds": 1e-2, "calls": 1, "scale": 0.03, "minimum_effect": 0.02, "refused": False}
        noise |= {"design": "d0000", "reason": "", "evidence": ()}
        self._step("calibrate", lambda c: self.tree.note(c, NoiseCalibrated, **noise))
        self.save()

    def grow(self, events: int) -> None:
        """Go on until at least so many events are recorded."""
        unsaved = 0
        while self.made + unsaved < events:
            self._candidate()
            unsaved = sum(len(each.pending) for each in (self.run, self.tree, self.knowledge))
            if unsaved >= EVENTS_PER_SAVE:
                self.save()
                unsaved = 0
        self.save()

    def save(self) -> None:
        """Record what was made."""
        self.made += len(self.log.record(self.run, self.tree, self.knowledge))

    @property
    def name(self) -> str:
        """The latest design."""
        return f"d{self.designs - 1:04d}"

    def _step(self, name: str, effect: Any = None, kernel: str = KERNEL) -> None:
        step = Step(name, kernel, self.name if self.designs else "", turn=self.designs)  # type: ignore[arg-type]  # names of steps
        started = self.run.begin_step(Context(), step.key, name, step.subject)
        if effect is not None:
            effect(Context(cause=started.ref, step=name, attempt=1, toolchain=FINGERPRINT))
        self.run.finish_step(Context(cause=started.ref), step.key, "ok", {"rest": 0.001, "device": 0.25})

    def _screen(self, context: Context) -> None:
        self._read(context, "screen", 3)
        self._said(context, "screen")

    def _candidate(self) -> None:
        self._step("propose", self._ask)
        self._check("review", "review")
        self._check("build", "build")
        self._check("verify", "oracle")
        self._step("screen", self._screen)
        self._step("compare", lambda c: self._read(c, "decide", 5))
        accepted = self.designs % 50 == 0
        self._step("judge", lambda c: self._judge(c, "accepted" if accepted else "rejected"))
        if accepted:
            self._step("confirm", lambda c: self._read(c, "confirm", 12))
            self._step("accept", self._accept)
        self._step("learn", lambda c: self._learn(c, "helped" if accepted else "hurt"))

    def _ask(self, context: Context) -> None:
        asked: dict[str, Any] = {"role": "engineer", "specialist": "playbook", "outcome": "ok", "seconds": 0.01}
        self.run.answered(context, request=self.log.blobs.put("asked"), answer=self.log.blobs.put("said"), **asked)
        self._propose(context, self.tree.best)

    def _learn(self, context: Context, effect: str) -> None:
        self.knowledge.note(
            context,
            LessonDrawn,
            lesson=f"l-{self.designs:012x}",
            run="r",
            kernel=KERNEL,
            design=self.name,
            against=self.tree.best,
            before={"unroll": 4},
            after={"unroll": self.designs % 16},
            effect=effect,
            ratio=0.99,
            ratio_low=0.98,
            ratio_high=0.995,
            pairs=8,
            whole="d0000",
            bottleneck="compute",
            evidence=(self.tree.latest_evidence,),
            depends=("compiler",),
        )

    def _propose(self, context: Context, parent: str | None) -> None:
        digest = f"{self.designs:064x}"
        self.designs += 1
        self.tree.propose(
            context,
            design=self.name,
            parent=parent,
            kind="baseline" if parent is None else "small",
            by="script/engineer",
            title="a change of the order of two loops",
            rationale="the inner loop then streams",
            levers={"order": self.designs, "unroll": 4},
            source=digest,
            normalized=digest,
        )

    def _check(self, step: str, check: str) -> None:
        self._step(step, lambda c: self._said(c, check))

    def _said(self, context: Context, check: str) -> None:
        artifact = f"{self.designs:064x}" if check == "build" else None
        content: dict[str, Any] = {"reason": "", "seconds": 0.1, "details": {}, "artifact": artifact}
        self.tree.check(context, design=self.name, check=check, outcome="ok", **content)

    def _read(self, context: Context, purpose: str, pairs: int) -> None:
        self.tree.read(
            context,
            purpose=purpose,
            best=self.tree.best,
            candidate=self.name,
            best_artifact="a" * 64,
            candidate_artifact="b" * 64,
            calls=1,
            scale=0.03,
            turn=0,
            orders=("BC", "CB", "BC")[:1] * pairs,
            best_seconds=tuple(0.0123456789 + 0.0001 * n for n in range(pairs)),
            candidate_seconds=tuple(0.0123456788 + 0.0001 * n for n in range(pairs)),
            outcome="ok",
            reason="",
            blamed="nobody",
            device_seconds=0.25,
        )

    def _judge(self, context: Context, verdict: str) -> None:
        refs = tuple(ref for ref in list(self.tree.evidence)[-2:] if self.tree.evidence[ref] in ("screen", "decide"))
        self.tree.judge(
            context,
            design=self.name,
            against=self.tree.best,
            verdict=verdict,
            outcome="ok",
            reason="E = 12.3 of 100",
            pairs=8,
            e_accept=1.5,
            e_futile=12.5,
            scale=0.03,
            policy=_DIGEST,
            thresholds=_THRESHOLDS,
            evidence=refs,
        )

    def _accept(self, context: Context) -> None:
        content: dict[str, Any] = {"gain": 1.01, "gain_low": 1.005, "gain_high": 1.02, "confidence": 0.95}
        evidence = (self.tree.latest_evidence,)
        self.tree.accept(context, design=self.name, over=self.tree.best, evidence=evidence, **content)
