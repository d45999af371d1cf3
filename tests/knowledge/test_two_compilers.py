"""Two real compilers: constructs that only one of them takes are learned, rechecked, retired, and open designs again."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest
from kernelwright.acceptance.policy import Policy
from kernelwright.events.log import EventLog
from kernelwright.events.views.knowledge import left_at, load_knowledge
from kernelwright.events.views.load import load_run
from kernelwright.events.views.run import RunView
from kernelwright.graph.runner import Plan, drive, resume, start_run, workbench
from kernelwright.hardware.cpu import CpuTarget
from kernelwright.hardware.outcome import Outcome
from kernelwright.knowledge.checking import check_claim
from kernelwright.knowledge.expectation import Expectation
from kernelwright.knowledge.tokens import tokenize
from support.compilers import NEWER, OLDER, CompilingTarget, c_spec, design, missing
from support.simulated import Script

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"two compilers are needed: {missing()}")

CONSTRUCTS = {
    "_Float16": "    _Float16 half = 2;\n    (void)half;",
    "__builtin_assoc_barrier": "    y[0] = __builtin_assoc_barrier(x[0] + x[1]);",
    "__builtin_dynamic_object_size": "    y[0] = (float)__builtin_dynamic_object_size(y, 0);",
    "#elifdef": "#define HERE\n#ifdef ELSEWHERE\n#elifdef HERE\n#else\n    } }\n#endif",
    "reproducible": "#pragma omp for order(reproducible:concurrent)\n    for (int k = 0; k < N; k++)\n        y[k] = 0;",
    "compare": "    int a = 0;\n#pragma omp atomic compare\n    if (a == 0) { a = 1; }",
}
"""What the older compiler refuses and the newer one takes, by the word that tells."""
WITHDRAWN = '    int a = 1;\n#pragma omp error at(compilation) severity(fatal) message("no")\n    (void)a;'
"""What the older one passes over, and the newer one refuses, as OpenMP 5.1 asks it to."""
SHUFFLE = (
    "    v4 a = {0}, b = {0};\n    a = __builtin_shufflevector(a, b, 0, 5, 2, 7);\n    y[0] = a[0];",
    "typedef float v4 __attribute__((vector_size(16)));",
)


def designs() -> tuple[str, ...]:
    """Refused constructs of the older compiler, ever faster; the best that it takes; one more refusal of a known kind."""
    bodies = [design(10e-3 - n * 1e-3, body) for n, body in enumerate(CONSTRUCTS.values())]
    return (
        design(12e-3, "    (void)x;"),
        *bodies,
        design(3.5e-3, *SHUFFLE),
        design(3e-3, WITHDRAWN),
        design(2.8e-3, CONSTRUCTS["_Float16"] + "\n    /* again */\n    (void)y;"),
    )


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    opened = EventLog.open(str(tmp_path / "log.sqlite"), create=True)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def short_reductions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few builds and no clock: the outcome must not depend on how busy the machine is."""
    monkeypatch.setattr("kernelwright.knowledge.rules.BUILD_TRIES", 24)
    monkeypatch.setattr("kernelwright.knowledge.rules.REDUCE_SECONDS", inf)


def work(log: EventLog, target: CompilingTarget, *, first: bool = False) -> RunView:
    policy = Policy(veto_audit_share=0.0)
    if first:
        start_run(log, Plan("r", "simulated", ("twice",), policy, 0, 60.0, {}, "test"))
    with workbench(log, "r", target, {"twice": c_spec()}, Script(designs())) as wb:
        if not first:
            resume(wb, 60.0, "search")
        drive(wb, lambda *_: None)
        return wb.view


def test_rules_of_one_compiler_are_retired_by_another_and_come_back_with_it(log: EventLog, cache: Path) -> None:
    target = CompilingTarget(cache=cache)
    before = work(log, target, first=True)
    old = before.toolchain.fingerprint if before.toolchain else ""
    tree = before.trees["twice"]
    refused = [d for d in tree.designs.values() if d.failed is not None]
    assert {d.failed.outcome for d in refused if d.failed} <= {"build-failed", "bad-symbols", "vetoed"}
    known = load_knowledge(log, "simulated")
    rules = {rule.id: rule for rule in known.rules.values()}
    assert len(rules) >= 5, [r.derived.diagnostic for r in rules.values()]
    assert {rule.derived.kind for rule in rules.values()} == {"compile-error", "link-refusal"}

    # Each rule has a small witness that fails and a near one that passes, and was told by the construct.
    told = {word for rule in rules.values() for run in rule.pattern for word in run}
    assert {"_Float16", "__builtin_assoc_barrier", "__builtin_dynamic_object_size"} <= told
    for rule in rules.values():
        failing, passing = log.blobs.text(rule.derived.failing), log.blobs.text(rule.derived.passing)
        assert not target.build(c_spec(), failing).ok
        assert target.build(c_spec(), passing).ok
        source = log.blobs.text(tree.designs[rule.derived.design].proposed.source)
        assert len(tokenize(failing)) < len(tokenize(source))

    # The second use of a known construct was vetoed before the compiler, by the rule's name.
    again = list(tree.designs.values())[-1]
    assert again.failed is not None
    assert again.failed.check == "review"
    assert again.failed.outcome == "vetoed"
    assert str(again.failed.details["rule"]) in again.failed.reason
    assert ("gcc-11", log.blobs.text(again.proposed.source)) not in target.built

    # Under the newer compiler each is rechecked, and those that do not hold are retired; their designs are open again.
    target.use(NEWER)
    after = work(log, target)
    new = after.toolchain.fingerprint if after.toolchain else ""
    known = load_knowledge(log, "simulated")
    statuses = {rule.id: rule.standing(new, known.toolchains).status for rule in known.rules.values()}
    assert sum(status == "retired" for status in statuses.values()) >= 5
    newly = [rule for rule in known.rules.values() if rule.derived.toolchain == new]
    assert [rule.derived.design for rule in newly] == [_named(before, 3e-3, log)]
    assert statuses[newly[0].id] == "valid"
    new_tree = after.trees["twice"]
    assert new_tree.designs[_named(before, 3e-3, log)].outcome == "build-failed", "the old best does not build any more"
    assert {new_tree.designs[d.id].outcome for d in refused} <= {"ok", "too-slow", "duplicate"}
    assert new_tree.best != tree.best
    assert all(each.toolchain == new for each in new_tree.lineage)

    # As of the older compiler the old tree still stands, by replay.
    position = left_at(known, log, "simulated", old)
    assert position is not None
    then = load_run(log, "r", until=position)
    assert [a.design for a in then.trees["twice"].lineage] == [a.design for a in tree.lineage]

    # And back: nothing is rechecked that was checked there.
    target.use(OLDER)
    built = len(target.built)
    back = work(log, target)
    assert [a.design for a in back.trees["twice"].lineage] == [a.design for a in tree.lineage]
    known = load_knowledge(log, "simulated")
    assert {known.rules[name].standing(old, known.toolchains).status for name in rules} == {"valid"}
    asked = {text for _, text in target.built[built:]}
    assert not asked & {log.blobs.text(rule.derived.failing) for rule in rules.values()}


def _named(view: RunView, seconds: float, log: EventLog) -> str:
    return next(
        d.id
        for d in view.trees["twice"].designs.values()
        if log.blobs.text(d.proposed.source).startswith(f"/* seconds: {seconds} */")
    )


CLAIMS = [
    ("refused", "_float16", "_Float16 h = 1;\ny[0] = h;", True, False),
    ("refused", "__builtin_assoc_barrier", "y[0] = __builtin_assoc_barrier(x[0]);", True, False),
    ("builds", "", '#pragma omp error at(compilation) severity(fatal) message("no")\ny[0] = 0;', True, False),
    ("builds", "", "int a = 0;\n#pragma omp atomic compare\nif (a == 0) { a = 1; }", False, True),
    ("builds", "", "y[0] = (float)__has_builtin(__builtin_shufflevector);", True, True),
]


@pytest.mark.parametrize(("kind", "text", "snippet", "with_older", "with_newer"), CLAIMS)
def test_claims_hold_with_one_compiler_and_not_with_the_other(
    cache: Path, kind: str, text: str, snippet: str, with_older: bool, with_newer: bool
) -> None:
    target = CompilingTarget(cache=cache)
    expectation = Expectation.from_dict({"kind": kind, "text": text})
    for compiler, holds in ((OLDER, with_older), (NEWER, with_newer)):
        target.use(compiler)
        found = check_claim(target, snippet, expectation, {}, 1)
        assert found.outcome == ("held" if holds else "failed"), found.reason


MASKED = """for (int i = 0; i < N; i++)
    y[i] = 0.0f;
#include <omp.h>
#pragma omp parallel num_threads(2)
{
#pragma omp masked
    y[omp_get_thread_num()] = 1.0f;
}
"""


def test_the_same_source_gives_other_values_with_another_compiler(cache: Path) -> None:
    """The older compiler passes over a directive that it does not know: it builds, and every thread does the work."""
    found = {}
    for compiler in (OLDER, NEWER):
        target = CompilingTarget(cache=cache)
        target.use(compiler)
        real: CpuTarget = target.real()
        found[compiler] = check_claim(real, MASKED, Expectation("yields", "where(i == 0, 1, 0)"), {}, 1)
    assert found[OLDER].outcome == "failed"
    assert found[OLDER].reason.startswith(Outcome.WRONG_VALUE)
    assert found[NEWER].outcome == "held", found[NEWER].reason
