"""A judgement as plain data: what was decided, by which thresholds, on which evidence, so that it can be made again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from .policy import RULE, Policy
from .sequential import decide, each_scale

FinalVerdict = Literal["accepted", "rejected", "undecided", "held"]
"""``undecided``: no verdict within the pairs read so far. ``held``: there is no device evidence."""


@dataclass(frozen=True)
class Judgement:
    """One decision. ``as_dict`` is JSON-ready; ``from_dict`` reads it back equal."""

    rule: str
    """Name of the arithmetic that decided."""
    policy: str
    """Digest of the thresholds under that rule."""
    thresholds: Mapping[str, Any]
    """The whole policy, as :meth:`Policy.as_dict` gives it."""
    evidence: tuple[str, ...]
    """Ids of the pairs offered, in the order in which they were read."""
    scales: tuple[float, ...]
    """Calibrated scale (log ratio) of each pair offered."""
    processes: tuple[int, ...]
    """Which pair of processes each pair came from; empty when each stands for itself."""
    cap: int
    """Pairs after which the comparison pauses."""
    verdict: FinalVerdict
    pairs: int
    """Pairs that took part; any later ones were ignored."""
    e_accept: float
    e_futile: float
    wanted_pairs: int
    """Pairs that could still be read under the cap, for lack of which there is no verdict; 0 when there is one."""
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Plain data of JSON types."""
        values = dataclasses.asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Judgement:
        """The judgement that ``as_dict`` gave. Raises ValueError when a field is missing, unknown, or not a verdict."""
        names = {field.name for field in dataclasses.fields(cls)}
        if values.keys() != names:
            raise ValueError(f"judgement: missing or unknown fields {sorted(names ^ values.keys())}")
        if values["verdict"] not in get_args(FinalVerdict):
            raise ValueError(f"judgement: unknown verdict {values['verdict']!r}")
        lists = {key: tuple(values[key]) for key in ("evidence", "scales", "processes")}
        return cls(**{**values, **lists})


def judge(
    policy: Policy,
    scale: float | Sequence[float],
    evidence: Sequence[str],
    differences: Sequence[float],
    *,
    cap: int | None = None,
    processes: Sequence[int] | None = None,
) -> Judgement:
    """Decide on pairs (log ratios, in the order read) and say on what ground.

    ``scale``, ``cap`` and ``processes`` as in :func:`~.sequential.decide`. ``evidence``: id of each pair. Pairs that
    ran out before any verdict, whatever the cap, leave it ``undecided``; none at all, ``held``. Raises ValueError as
    :func:`~.sequential.decide` does, and when the ids do not match the pairs.
    """
    if len(evidence) != len(differences):
        raise ValueError(f"evidence: expected one id for each of {len(differences)} pairs, got {len(evidence)}")
    decision = decide(policy, scale, differences, cap=cap, processes=processes)
    limit = policy.pair_cap if cap is None else cap
    early: FinalVerdict = "undecided" if differences else "held"
    verdict = early if decision.verdict == "continue" else decision.verdict
    return Judgement(
        rule=RULE,
        policy=policy.digest,
        thresholds=policy.as_dict(),
        evidence=tuple(evidence),
        scales=tuple(each_scale(scale, len(differences))),
        processes=tuple(processes or ()),
        cap=limit,
        verdict=verdict,
        pairs=decision.pairs,
        e_accept=decision.e_accept[-1] if decision.e_accept else 1.0,
        e_futile=decision.e_futile[-1] if decision.e_futile else 1.0,
        wanted_pairs=limit - decision.pairs if decision.verdict == "continue" else 0,
        reason=decision.reason,
    )


def rejudge(recorded: Judgement, differences: Sequence[float], policy: Policy | None = None) -> Judgement:
    """Make a recorded judgement again from the pairs that it names, under its own policy or another one.

    Under its own policy the result equals ``recorded``, even when :class:`Policy` has got more fields since. Under
    another, the cap is that policy's, as many times as the comparison had been taken up. Raises ValueError when it was
    recorded under another rule, or the pairs do not match.
    """
    if recorded.rule != RULE:
        raise ValueError(f"judgement made by rule {recorded.rule!r}; this version decides by {RULE!r}")
    own = Policy.from_mapping(recorded.thresholds)
    cap = recorded.cap
    if policy is not None and policy != own:
        visits = max(1, round(recorded.cap / own.pair_cap))
        cap = visits * policy.pair_cap
    under = policy or own
    made = judge(under, recorded.scales, recorded.evidence, differences, cap=cap, processes=recorded.processes)
    if policy is None:
        return dataclasses.replace(made, policy=recorded.policy, thresholds=recorded.thresholds)
    return made
