"""One kernel of imported logs as a Design Tree: an arm is a design, its readings are evidence, the policy judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..acceptance.estimate import core_scale, hodges_lehmann
from ..acceptance.policy import Policy
from ..acceptance.sequential import log_ratio
from ..events.base import Context
from ..events.log import EventLog
from ..events.tree import DesignTree, FloorMeasured, NoiseCalibrated, PairsRead
from ..events.views.decisions import decision
from ..hardware.outcome import Outcome
from ..hardware.rngd.chip import DEVICE_HZ
from ..hardware.rngd.visa.arena.imported import ArmReading, Collected, ImportedPair, LogFile
from ..hardware.rngd.visa.floor import floor_probe
from ..hardware.rngd.visa.reference import compared
from ..kernels.registry import KernelError, kernel
from ..kernels.spec import KernelSpec
from .steps.prepare import spec_digest
from .steps.propose import normalized_digest

IMPORTED = "imported"
"""By whom, and key of a run's config that holds the files it was made from: there is no search in it to go on with."""
FEWEST_SAME = 3
"""Pairs of one arm with itself below which they say nothing about the noise."""


@dataclass(frozen=True)
class Wanted:
    """How logs are to be taken in. ``baseline`` is the arm that others are compared with, empty for the first one;
    ``scale`` the standard deviation of a pair's log ratio, None to take it from the logs; ``sources`` texts of arms.
    """

    run: str
    policy: Policy
    version: str
    baseline: str = ""
    scale: float | None = None
    sources: Mapping[str, str] = field(default_factory=dict)


class ImportedTree:
    """Takes the readings of one kernel in. Nothing is saved here."""

    def __init__(
        self, log: EventLog, tree: DesignTree, name: str, found: Collected, wanted: Wanted, context: Context
    ) -> None:
        self.log, self.tree, self.name, self.found, self.wanted, self.context = log, tree, name, found, wanted, context
        arms = found.arms(name)
        first = wanted.baseline if wanted.baseline in arms else arms[0]
        self.arms = (first, *(arm for arm in arms if arm != first))
        self.designs = {arm: f"d{number:04d}" for number, arm in enumerate(self.arms)}
        self.pairs = [pair for pair in found.pairs if pair.kernel == name]
        self.same = [pair for pair in found.same if pair.kernel == name]

    def take_in(self, files: Sequence[LogFile]) -> dict[str, Any]:
        """Make the events of the tree; what they come to, JSON-ready."""
        spec = _spec(self.name)
        self.tree.start(
            self.context,
            run=self.wanted.run,
            kernel=self.name,
            spec=spec_digest(spec) if spec is not None else IMPORTED,
            dimensions=dict(spec.dimensions) if spec is not None else {},
            streamed_bytes=spec.streamed_bytes if spec is not None else 0,
        )
        for arm in self.arms:
            self._design(arm, files)
        if spec is not None:
            floor = floor_probe(spec)
            content: dict[str, Any] = {"seconds": floor.value, "spread_seconds": floor.spread, "repeats": 1}
            self.tree.note(self.context, FloorMeasured, **content, conditions=dict(floor.conditions))
        scale, reason = self._noise()
        compared_arms = dict.fromkeys((pair.best, pair.candidate) for pair in self._oriented())
        # Against the baseline last: what a design's latest verdict says is then about that.
        order = sorted(compared_arms, key=lambda arms: arms[0] == self.arms[0])
        comparisons = [self._compare(best, candidate, scale, reason) for best, candidate in order]
        return {
            "kernel": self.name,
            "scale": scale,
            "noise": reason,
            "arms": [self._arm(arm) for arm in self.arms],
            "comparisons": comparisons,
        }

    def _oriented(self) -> list[ImportedPair]:
        """Pairs with the arm that comes first (the baseline before all) as the one that is compared with."""
        rank = {arm: number for number, arm in enumerate(self.arms)}
        return [pair if rank[pair.best] < rank[pair.candidate] else _turned(pair) for pair in self.pairs]

    def _of(self, arm: str) -> list[ArmReading]:
        return [each for each in self.found.readings if (each.kernel, each.arm) == (self.name, arm)]

    def _readings(self, arm: str) -> list[float]:
        return [each.cycles for each in self._of(arm)]

    def _arm(self, arm: str) -> dict[str, Any]:
        cycles = sorted(self._readings(arm))
        median = (cycles[(len(cycles) - 1) // 2] + cycles[len(cycles) // 2]) / 2
        failed = self.found.failed.get((self.name, arm))
        return {
            "arm": arm,
            "design": self.designs[arm],
            "readings": len(cycles),
            "median_cycles": median,
            "wrong_values": failed,
            "reference": compared(self.name, median / DEVICE_HZ),
        }

    def _design(self, arm: str, files: Sequence[LogFile]) -> None:
        source = self.wanted.sources.get(arm)
        text = source or f"// the source of arm {arm} was not given; its readings were imported from Arena logs\n"
        first = arm == self.arms[0]
        self.tree.propose(
            self.context,
            design=self.designs[arm],
            parent=None if first else self.designs[self.arms[0]],
            kind="baseline" if first else "whole",
            by=IMPORTED,
            title=f"arm {arm} of imported logs",
            rationale="read before this log began",
            levers={"arm": arm},
            source=self.log.blobs.put(text),
            normalized=normalized_digest(text),
        )
        for file in files:
            own = [each for each in self._of(arm) if each.file == file.name]
            if own:
                lines = "".join(f"line {each.line}: {each.cycles:.1f} cycles {each.group}\n" for each in own)
                reason = f"{len(own)} readings from {file.name}"
                self._check(arm, IMPORTED, Outcome.OK, reason, {"sha256": file.digest}, lines)
        failed = self.found.failed.get((self.name, arm))
        outcome = Outcome.WRONG_VALUE if failed else Outcome.OK
        self._check(arm, "oracle", outcome, failed or "as the project's test program printed it", {}, None)

    def _check(
        self, arm: str, check: str, outcome: str, reason: str, details: dict[str, Any], text: str | None
    ) -> None:
        self.tree.check(
            self.context,
            design=self.designs[arm],
            check=check,
            outcome=outcome,
            reason=reason,
            seconds=0.0,
            details=details,
            log=self.log.blobs.put(text) if text is not None else None,
        )

    def _noise(self) -> tuple[float | None, str]:
        """The scale of a pair's log ratio, and where it comes from; None where nothing tells it."""
        evidence = [self._read([p for p in self.same if p.best == arm], "calibrate", 0.0) for arm in self.arms]
        if self.wanted.scale is not None:
            scale, reason = self.wanted.scale, "as given"
        elif len(self.same) < FEWEST_SAME:
            return None, f"{len(self.same)} pairs of an arm with itself; give --scale, or logs with more runs of an arm"
        else:
            scale = float(core_scale([log_ratio(each.best_cycles, each.candidate_cycles) for each in self.same]))
            reason = f"from {len(self.same)} pairs of readings of one arm that follow each other, of these same logs"
        cycles = sorted(self._readings(self.arms[0]))
        self.tree.note(
            self.context,
            NoiseCalibrated,
            design=self.designs[self.arms[0]],
            seconds=cycles[len(cycles) // 2] / DEVICE_HZ,
            calls=1,
            scale=scale,
            minimum_effect=None,
            refused=False,
            reason=reason,
            evidence=tuple(event.ref for event in evidence if event is not None),
        )
        return scale, reason

    def _read(self, pairs: list[ImportedPair], purpose: str, scale: float) -> PairsRead | None:
        if not pairs:
            return None
        files = ", ".join(dict.fromkeys(pair.file for pair in pairs))
        made = self.tree.read(
            self.context,
            purpose=purpose,
            best=self.designs[pairs[0].best],
            candidate=self.designs[pairs[0].candidate],
            best_artifact="",
            candidate_artifact="",
            calls=1,
            scale=scale,
            turn=0,
            orders=tuple(pair.order for pair in pairs),
            best_seconds=tuple(pair.best_cycles / DEVICE_HZ for pair in pairs),
            candidate_seconds=tuple(pair.candidate_cycles / DEVICE_HZ for pair in pairs),
            outcome=Outcome.OK,
            reason=f"{IMPORTED} from {files}: device cycles over {DEVICE_HZ:g} Hz",
            blamed="nobody",
            device_seconds=0.0,
        )
        assert isinstance(made, PairsRead)
        return made

    def _compare(self, best: str, candidate: str, scale: float | None, noise: str) -> dict[str, Any]:
        pairs = [pair for pair in self._oriented() if (pair.best, pair.candidate) == (best, candidate)]
        reading = self._read(pairs, "decide", scale or 0.0)
        assert reading is not None, "a comparison has a pair"
        ratios = [log_ratio(pair.best_cycles, pair.candidate_cycles) for pair in pairs]
        gain = hodges_lehmann(ratios, self.wanted.policy.confidence)
        said: dict[str, Any] = {
            "best": best,
            "candidate": candidate,
            "design": self.designs[candidate],
            "pairs": len(pairs),
            "ratio": gain.ratio,
            "ratio_low": gain.low,
            "ratio_high": gain.high,
        }
        wrong = [arm for arm in (best, candidate) if (self.name, arm) in self.found.failed]
        if scale is None or wrong:
            failed = [f"the values of {arm} were wrong: {self.found.failed[self.name, arm]}" for arm in wrong]
            why = failed[0] if failed else noise
            return {**said, "verdict": "not judged", "reason": why}
        made = decision(self.wanted.policy, [reading])
        verdict = "undecided" if made.verdict == "continue" else made.verdict
        self.tree.judge(
            self.context,
            design=self.designs[candidate],
            against=self.designs[best],
            verdict=verdict,
            outcome=Outcome.OK,
            reason=f"{IMPORTED}: {made.reason}",
            pairs=made.pairs,
            e_accept=made.e_accept[-1] if made.e_accept else 1.0,
            e_futile=made.e_futile[-1] if made.e_futile else 1.0,
            scale=scale,
            policy=self.wanted.policy.digest,
            thresholds=self.wanted.policy.as_dict(),
            evidence=(reading.ref,),
        )
        e_values = {"e_accept": made.e_accept[-1], "e_futile": made.e_futile[-1]} if made.e_accept else {}
        return {**said, "verdict": verdict, "reason": made.reason, **e_values}


def _turned(pair: ImportedPair) -> ImportedPair:
    order: Literal["BC", "CB"] = "CB" if pair.order == "BC" else "BC"
    return ImportedPair(
        pair.kernel, pair.candidate, pair.best, order, pair.candidate_cycles, pair.best_cycles, pair.file
    )


def _spec(name: str) -> KernelSpec | None:
    try:
        return kernel(name)
    except KernelError:
        return None
