"""Metamorphic relations are run on the device, also those that change weights, and a false one is told by its name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.outcome import Outcome
from kernelwright.kernels import decoder_feedforward, sliding_attention_output, sliding_project_qkv
from kernelwright.kernels.spec import Expected, Inputs, KernelSpec, Relation
from support.toy_kernel import RIGHT, toy


def negated(inputs: Inputs) -> Inputs:
    return {**inputs, "x": -inputs["x"]}


def doubled_weights(inputs: Inputs) -> Inputs:
    return {**inputs, "w": 2 * inputs["w"]}


def times(factor: float) -> Relation:
    def predict(_inputs: Inputs, outputs: Inputs) -> Expected:
        return {"y": factor * outputs["y"].astype(np.float64)}

    change = doubled_weights if factor > 1 else negated
    return Relation(f"y times {factor:g}", change, predict)


def same(_inputs: Inputs, outputs: Inputs) -> Expected:
    return {"y": outputs["y"].astype(np.float64)}


def verified(target: CpuTarget, *relations: Relation) -> tuple[str, str, int]:
    spec = replace(toy(), relations=relations)
    with target.open(spec, 8) as bench:
        report = bench.verify(target.build(spec, RIGHT), 9)
    return report.outcome, report.reason, int(report.details.get("calls", 0))


def test_true_relations_hold_and_cost_a_call_each(target: CpuTarget) -> None:
    inapplicable = Relation("of no input", lambda _inputs: None, same)
    outcome, reason, _ = verified(target, times(-1), inapplicable, times(2))
    assert outcome == Outcome.OK, reason


@pytest.mark.parametrize(
    "false",
    [
        Relation("the sign does not matter", negated, same),
        Relation("the size of weights does not matter", doubled_weights, same),
    ],
    ids=lambda relation: relation.name,
)
def test_a_false_relation_is_told_by_its_name(target: CpuTarget, false: Relation) -> None:
    outcome, reason, _ = verified(target, times(-1), times(2), false)
    assert outcome == Outcome.WRONG_VALUE
    assert false.name in reason
    assert "y[" in reason


@pytest.mark.parametrize("module", [sliding_project_qkv, sliding_attention_output, decoder_feedforward])
def test_every_declared_relation_of_a_kernel_is_run(target: CpuTarget, module: object) -> None:
    spec: KernelSpec = module.tiny()  # type: ignore[attr-defined]
    for each in spec.relations:
        wrong = replace(each, predict=lambda _inputs, outputs: {n: 3 + v.astype(float) for n, v in outputs.items()})
        changed = replace(spec, relations=(wrong,))
        with target.open(changed, 5) as bench:
            report = bench.verify(target.build(changed, target.baseline(changed)), 6)
        assert report.outcome is Outcome.WRONG_VALUE
        assert each.name in report.reason
