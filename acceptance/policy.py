"""The acceptance policy: every threshold of the decision, by name, with its unit and meaning.

A policy is data. Two policies with equal fields decide alike, and :attr:`Policy.digest` names that behaviour in a log.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RULE = "mixture-of-products/1"
"""Names the decision rule that reads a policy. Change it with any change of the arithmetic, so that a log written
under the old rule is never re-decided silently under the new one."""


class PolicyError(ValueError):
    """A policy key or value that is not acceptable. The message names the key and what was expected."""


@dataclass(frozen=True)
class Policy:
    """Thresholds of comparison, confirmation, calibration and alarm.

    A gain is ``seconds of the best / seconds of the candidate - 1``: 0.02 is "2 % faster". A scale is the standard
    deviation of the core of one pair's log ratio. Raises :class:`PolicyError` when a value is out of range.
    """

    accept_e: float = 100.0
    """E-value at which a candidate is accepted. False acceptance: at most ``1 / accept_e``, whenever one stops."""
    futile_e: float = 10.0
    """E-value against "the gain is at least ``futile_gain``" at which a candidate is rejected. A candidate that has
    this gain is wrongly rejected with probability at most ``1 / futile_e``; one with twice this gain hardly ever."""
    futile_gain: float = 0.01
    """Gain (fraction) below which a candidate is not worth device time."""
    min_pairs: int = 8
    """Pairs before any verdict. Keeps a few unlucky first pairs from dropping a good candidate."""
    pair_cap: int = 48
    """Pairs after which a comparison without verdict pauses as undecided; its evidence is carried forward."""
    shifts: tuple[float, ...] = (0.01, 0.025, 0.06)
    """Gains (fractions) that the test bets on, each with equal weight."""
    broad_weight: float = 0.05
    """Share (0 to below 1) of the betting stake that goes on the sign alone: on a gain of any size, however large."""
    scales: tuple[float, ...] = (0.7, 1.0, 1.5)
    """Multiples of the calibrated scale that the test bets on, since a calibration is itself an estimate."""
    tail_weight: float = 0.1
    """Share (0 to 1) of readings taken to come from the broad tail instead of the normal core; what the bet on the
    sign allows for readings that point the wrong way."""
    tail_scale: float = 5.0
    """Half width at half maximum of the tail (a Cauchy density), in multiples of the core's scale."""
    idle_weight: float = 0.35
    """Share (0 to below 1) of the initial stake that never bets: the weight given beforehand to "no better"."""
    confirm_pairs: int = 16
    """Fresh pairs after an acceptance, from which alone the gain is estimated."""
    confidence: float = 0.95
    """Two-sided confidence of the interval of a gain."""
    pairs_per_process: int = 1
    """Pairs read from one pair of processes before fresh ones (new placement of code and buffers) replace them. Above
    1 the pairs of a process count as one bet, so that a verdict takes more of them."""
    anchor_every: int = 10
    """Acceptances between two comparisons of the champion with its anchors."""
    anchor_pairs: int = 24
    """Pairs of such a comparison."""
    anchor_confidence: float = 0.99
    """Two-sided confidence of its interval; the product of claims outside it is an alarm."""
    detect_gain: float = 0.02
    """Gain (fraction) that a calibrated reading should be able to detect."""
    detect_power: float = 0.8
    """Probability of acceptance that counts as "able to detect"."""
    calibration_e: float = 20.0
    """Two-sided e-value at which identical designs are taken to differ, so that the device is refused."""
    max_detectable_gain: float = 0.1
    """A device whose minimum detectable gain (fraction) exceeds this is refused: it cannot tell."""
    suspect_floor_margin: float = 0.1
    """A reading below ``floor * (1 - margin)`` seconds is suspect: faster than the bytes can move."""
    suspect_jump: float = 30.0
    """A single step's ratio (times faster) above this is suspect."""
    probe_pairs: int = 3
    """Pairs of the short probe before a comparison."""
    probe_slower: float = 0.15
    """The probe drops a candidate that took longer than the best by at least this fraction in each of its pairs."""
    veto_audit_share: float = 0.2
    """Share (0 to 1) of the vetoes by learned rules that go to the compiler anyway, to measure how often rules are right."""
    veto_min_precision: float = 0.9
    """A rule whose audits were right less often (share) than this is narrowed or retired."""
    family_losses: int = 2
    """Decided comparisons without a gain after which one value of a lever counts as closed."""
    estimate_slower: float = 0.1
    """An estimate speaks against a candidate that it predicts slower than the best by at least this fraction."""
    estimate_min_pairs: int = 8
    """Pairs of estimate and reading in a class of change before an estimate may drop a candidate."""
    estimate_sign_share: float = 0.85
    """Share (0 to 1) of right signs among them that it takes."""
    estimate_audit_share: float = 0.15
    """Share (0 to 1) of the candidates that an estimate would drop which are read anyway."""

    def __post_init__(self) -> None:
        """Refuse values out of range."""
        for name, (accepts, expected) in _RANGES.items():
            value = getattr(self, name)
            values = value if isinstance(value, tuple) else (value,)
            if not values or not all(math.isfinite(v) and accepts(v) for v in values):
                raise PolicyError(f"policy {name}: expected {expected}, got {value!r}")
        if self.pair_cap < self.min_pairs:
            raise PolicyError(f"policy pair_cap: expected at least min_pairs ({self.min_pairs}), got {self.pair_cap}")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Policy:
        """A policy from plain data (a TOML table, a stored event); what is not named keeps its default.

        Raises :class:`PolicyError` for an unknown key (with the nearest known one) or a value of the wrong type.
        """
        fields: dict[str, Any] = {key: _coerced(key, value) for key, value in values.items()}
        return cls(**fields)

    def with_overrides(self, overrides: Sequence[str]) -> Policy:
        """This policy with ``key=value`` texts applied in order; a tuple is written ``a,b,c``.

        Raises :class:`PolicyError` as :meth:`from_mapping` does, and for a text without ``=``.
        """
        changes: dict[str, Any] = {}
        for text in overrides:
            key, equals, value = text.partition("=")
            if not equals:
                raise PolicyError(f"policy override {text!r}: expected key=value")
            changes[key.strip()] = _parsed(key.strip(), value.strip())
        return dataclasses.replace(self, **changes)

    def as_dict(self) -> dict[str, float | int | list[float]]:
        """Plain data (JSON types) from which :meth:`from_mapping` makes an equal policy."""
        values = dataclasses.asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    @property
    def digest(self) -> str:
        """16 hex digits that name the thresholds together with the rule (:data:`RULE`) that reads them."""
        text = json.dumps({"rule": RULE, **self.as_dict()}, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


_Range = tuple[Callable[[float], bool], str]
_ABOVE_ONE: _Range = (lambda v: v > 1, "a number above 1")
_POSITIVE: _Range = (lambda v: v > 0, "a number above 0")
_SHARE: _Range = (lambda v: 0 < v < 1, "a number between 0 and 1")
_PART: _Range = (lambda v: 0 <= v <= 1, "a share from 0 to 1")
_COUNT: _Range = (lambda v: v >= 1, "a count of at least 1")

_RANGES: dict[str, _Range] = {
    "accept_e": _ABOVE_ONE,
    "futile_e": _ABOVE_ONE,
    "futile_gain": (lambda v: 0 <= v < 1, "a fraction of at least 0 and below 1"),
    "min_pairs": _COUNT,
    "pair_cap": _COUNT,
    "broad_weight": (lambda v: 0 <= v < 1, "a share of at least 0 and below 1"),
    "shifts": (lambda v: v > 0, "one or more numbers above 0"),
    "scales": (lambda v: v > 0, "one or more numbers above 0"),
    "tail_weight": _SHARE,
    "tail_scale": _POSITIVE,
    "idle_weight": (lambda v: 0 <= v < 1, "a share of at least 0 and below 1"),
    "confirm_pairs": _COUNT,
    "confidence": _SHARE,
    "pairs_per_process": _COUNT,
    "anchor_every": _COUNT,
    "anchor_pairs": _COUNT,
    "anchor_confidence": _SHARE,
    "detect_gain": _POSITIVE,
    "detect_power": _SHARE,
    "calibration_e": _ABOVE_ONE,
    "max_detectable_gain": _POSITIVE,
    "suspect_floor_margin": (lambda v: 0 <= v < 1, "a fraction of at least 0 and below 1"),
    "suspect_jump": _ABOVE_ONE,
    "probe_pairs": _COUNT,
    "probe_slower": _POSITIVE,
    "veto_audit_share": _PART,
    "veto_min_precision": _PART,
    "family_losses": _COUNT,
    "estimate_slower": _POSITIVE,
    "estimate_min_pairs": _COUNT,
    "estimate_sign_share": _PART,
    "estimate_audit_share": _PART,
}

_KINDS: dict[str, str] = {field.name: str(field.type) for field in dataclasses.fields(Policy)}
_EXPECTED = {"int": "a whole number", "float": "a number", "tuple[float, ...]": "a list of numbers"}


def _kind(key: str) -> str:
    if key in _KINDS:
        return _KINDS[key]
    near = difflib.get_close_matches(key, _KINDS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(_KINDS)}"
    raise PolicyError(f"policy {key!r}: unknown key; {hint}")


def _coerced(key: str, value: object) -> int | float | tuple[float, ...]:
    """A value of plain data as the type of the field; an int serves as float, a bool as neither."""
    kind = _kind(key)
    if kind == "tuple[float, ...]" and isinstance(value, (list, tuple)) and all(_is_number(v) for v in value):
        return tuple(float(v) for v in value)
    if kind == "int" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "float" and _is_number(value):
        return float(value)  # type: ignore[arg-type]  # _is_number has just shown it to be an int or a float
    raise PolicyError(f"policy {key}: expected {_EXPECTED[kind]} ({kind}), got {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _parsed(key: str, text: str) -> int | float | tuple[float, ...]:
    """The value that a text stands for, by the type of the field."""
    kind = _kind(key)
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            return float(text)
        return tuple(float(part) for part in text.strip("()[] ").split(",") if part.strip())
    except ValueError as error:
        raise PolicyError(f"policy {key}: expected {_EXPECTED[kind]} ({kind}), got {text!r}") from error
