"""Every kind of failure by real compilers and real runs: a rule of its kind, witnesses that show it, vetoes, rechecks."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.events.log import EventLog
from kernelwright.events.views.items import RuleItem
from kernelwright.events.views.knowledge import load_knowledge
from kernelwright.events.views.run import RunView
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.hardware.outcome import Outcome
from kernelwright.knowledge.rules import Failure, identify
from support.compilers import NEWER, VerifyingTarget, c_spec, design, missing
from support.simulated import Script
from support.toy_kernel import SETTINGS

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"two compilers are needed: {missing()}")

HANG_SECONDS = 8.0
"""After so long a build counts as hung; the builds of this module that end take a fraction of a second."""


def ten(name: str, of: str) -> str:
    return f"#define {name} {' '.join([of] * 10)}"


def doubled(levels: int) -> str:
    """A condition that takes the preprocessor 2^levels steps, and no memory to speak of."""
    lines = ["#define A0 1", *(f"#define A{n} (A{n - 1} + A{n - 1})" for n in range(1, levels + 1))]
    return "\n".join([*lines, f"#if A{levels} > 0", "#endif"])


NESTED = "\n".join(
    ten(f"{p}{n}", f"{p}{n - 1}" if n > 1 else bracket) for p, bracket in ("P(", "Q)") for n in range(1, 7)
)
"""A million parentheses: the parser's recursion overflows its stack."""
OWN_STORE = 'static __thread __attribute__((tls_model("initial-exec"))) volatile float mine[{size}];'
"""Thread-local data that the loader must find room for, which it cannot."""
UNALIGNED = """    typedef float v8 __attribute__((vector_size(32)));
    v8 *aligned = (v8 *)(y + 1 - ((size_t)y / sizeof *y) % 2);
    *aligned = (v8){0};"""
"""A store of a whole vector to where vectors must not begin: it traps."""
MASKED = """/* seconds: {seconds} */
#include "kernel.h"
#include <stddef.h>

void twice(const float *restrict x, float *restrict y)
{{
    for (size_t i = 1; i < N; i++)
        y[i] = x[i] + x[i];
    y[0] = 0.0f;
#pragma omp parallel num_threads(2)
    {{
#pragma omp masked
        {{
#pragma omp critical
            y[0] += x[0] + x[0];
        }}
    }}
}}
"""
"""Right where `masked` is known; the older compiler passes over it, and both threads add."""

DESIGNS = {
    "good": design(12e-3, "    (void)x;"),
    "compiler-crash": design(9e-3, "    y[0] = P6 x[0] Q6;", NESTED),
    "compiler-hang": design(8e-3, "    (void)x;", doubled(42)),
    "link-refusal": design(7e-3, "    mine[0] = x[0];", OWN_STORE.format(size="1 << 14")),
    "run-time-trap": design(6e-3, UNALIGNED),
    "wrong-value": MASKED.format(seconds=5e-3),
    "the crash again": design(4e-3, "    y[1] = P6 x[1] Q6;", NESTED),
    "the store again": design(3e-3, "    mine[0] = x[0];", OWN_STORE.format(size="1 << 15")),
    "the trap again": design(2.5e-3, UNALIGNED),
    "last": design(11e-3, "    (void)y;"),
}
KINDS = ("compiler-crash", "compiler-hang", "link-refusal", "run-time-trap", "wrong-value")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VerifyingTarget:
    # Few questions and no clock: the outcome must not depend on how busy the machine is.
    monkeypatch.setattr("kernelwright.knowledge.rules.BUILD_TRIES", 24)
    monkeypatch.setattr("kernelwright.knowledge.rules.HANG_TRIES", 3)
    monkeypatch.setattr("kernelwright.knowledge.rules.RUN_TRIES", 6)
    monkeypatch.setattr("kernelwright.knowledge.rules.REDUCE_SECONDS", inf)
    return VerifyingTarget(cache=tmp_path / "cache", options={"settings": SETTINGS, "build_seconds": HANG_SECONDS})


def work(log: EventLog, target: VerifyingTarget, *, first: bool = False) -> RunView:
    if first:
        policy = Policy(veto_audit_share=0.0)
        start_run(log, Plan("r", "simulated", ("twice",), policy, 0, 60.0, {}, "test"))
    with workbench(log, "r", target, {"twice": c_spec()}, Script(tuple(DESIGNS.values()))) as wb:
        if not first:
            resume(wb, 60.0, "search")
        drive(wb, lambda *_: None)
        return wb.view


def rules_of(log: EventLog) -> dict[str, RuleItem]:
    return {rule.derived.kind: rule for rule in load_knowledge(log, "simulated").rules.values()}


@pytest.mark.timeout(600)
def test_each_kind_gives_a_rule_that_vetoes_and_is_rechecked(log: EventLog, target: VerifyingTarget) -> None:
    view = work(log, target, first=True)
    by_title = dict(zip(DESIGNS, list(view.trees["twice"].designs.values())[1:], strict=True))
    outcomes = {name: found.outcome for name, found in by_title.items()}
    assert outcomes == {
        "good": "ok",
        "compiler-crash": Outcome.BUILD_CRASHED,
        "compiler-hang": Outcome.BUILD_HUNG,
        "link-refusal": Outcome.LOAD_FAILED,
        "run-time-trap": Outcome.CRASHED,
        "wrong-value": Outcome.WRONG_VALUE,
        "the crash again": Outcome.VETOED,
        "the store again": Outcome.VETOED,
        "the trap again": Outcome.VETOED,
        "last": "ok",
    }
    rules = rules_of(log)
    assert sorted(rules) == sorted(KINDS)
    for name, kind in (("the crash again", KINDS[0]), ("the store again", KINDS[2]), ("the trap again", KINDS[3])):
        failed = by_title[name].failed
        assert failed is not None
        assert failed.check == "review"
        assert failed.details["rule"] == rules[kind].id
    for kind, rule in rules.items():
        failing, passing = log.blobs.text(rule.derived.failing), log.blobs.text(rule.derived.passing)
        assert shows(target, passing) is None
        if kind != "compiler-hang":  # which has been waited for often enough by now
            assert shows(target, failing) == kind
        if not rule.derived.by_run:
            assert len(failing) <= len(DESIGNS[kind])

    # Under another compiler each is tried again; the value that it gets right opens the design, which is the best then.
    target.use(NEWER)
    after = work(log, target)
    known = load_knowledge(log, "simulated")
    new = after.toolchain.fingerprint if after.toolchain else ""
    statuses = {rule.derived.kind: rule.standing(new, known.toolchains).status for rule in known.rules.values()}
    assert statuses == {**dict.fromkeys(KINDS, "valid"), "wrong-value": "retired"}
    tree = after.trees["twice"]
    assert tree.best == by_title["wrong-value"].id
    assert [reopened.why for reopened in tree.designs[tree.best].reopened] == ["rule"]


def shows(target: VerifyingTarget, source: str) -> str | None:
    """Which kind of failure a source has with the compiler in use, when it is built and run."""
    built = target.build(c_spec(), source)
    outcome, said = built.outcome, built.diagnostics
    if built.ok:
        with target.open(c_spec(), 5) as bench:
            report = bench.verify(built, 6)
        outcome, said = report.outcome, report.reason
    found = identify(Failure(source, outcome, said, ""))
    return None if found is None else found[0]
