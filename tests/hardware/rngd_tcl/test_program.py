"""TCL as far as it is understood: what the emitters write is taken apart; anything else is refused in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.rngd.tcl.program import ProgramError, parse, without_comments
from kernelwright.hardware.rngd.tcl.template import filled
from kernelwright.hardware.target import TargetError
from kernelwright.kernels import registry
from support.rngd.tcc import SUM


def test_a_program_is_taken_apart() -> None:
    program = parse("# says\n@compiler_config({})\n" + SUM)
    assert program.name == "tiny_sum"
    assert program.axes == {"N": 256, "K": 512}
    assert [(t.name, t.axes, t.dtype) for t in program.arguments] == [("a", ("N", "K"), "bf16"), ("b", ("N",), "bf16")]
    (only,) = program.statements
    assert only.operation == "ReduceByVe"
    assert only.reads == ("a", "b")
    assert program.worked_on(only) == 256 * 512
    assert program.returned == "total"


@pytest.mark.parametrize("kernel", [*registry.BUILT_IN])
@pytest.mark.parametrize("made", [registry.BUILT_IN, registry.TINY])
def test_baselines_are_understood_at_every_size(kernel: str, made: dict[str, object]) -> None:
    spec = made[kernel]()  # type: ignore[operator]  # both registries map names to functions
    program = parse(filled(spec.baselines["rngd"], spec.dimensions))
    assert program.name == kernel
    assert all(statement.reads or statement.operation == "arange" for statement in program.statements)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "begins with `def`"),
        ("def f(N: Axis = 4, x: [N]/f32) -> [N]/f32:\n", "returns nothing"),
        ("def f(N: Axis = 0, x: [N]/f32) -> [N]/f32:\n    return x\n", "at least one element"),
        ("def f(N: Axis = M, x: [N]/f32) -> [N]/f32:\n    return x\n", "M is not an axis"),
        ("def f(N: Axis = 4, N: Axis = 4, x: [N]/f32) -> [N]/f32:\n    return x\n", "twice"),
        ("def f(N: Axis = 4, x: [M]/f32) -> [N]/f32:\n    return x\n", "M is not declared"),
        ("def f(N: Axis = 4, x: [N]/f32) -> [N]/f32:\n    return x\n    return x\n", "nothing may follow"),
        ("def f(N: Axis = 4, x: [N]/f32) -> [N]/f32:\n    y: [N]/f32 = tk.Elementwise(\n    return y\n", "not closed"),
        ("def f(N: Axis = 4, x: [N]/f32) -> [N]/f32:\n    import os\n    return x\n", "line 2"),
    ],
)
def test_what_is_not_understood_is_said_with_its_line(text: str, says: str) -> None:
    with pytest.raises(ProgramError, match=r"line \d+: ") as caught:
        parse(text)
    assert says in str(caught.value)


def _refusal(text: str) -> str:
    """Why a text is refused; empty when it is a program. Anything else that it raises is a mistake."""
    try:
        parse(text)
    except ProgramError as error:
        return str(error)
    return ""


@given(st.text(alphabet="def f(N:Axis=4,x[]/f32)->%0tk.\n #@return y", max_size=200))
def test_no_text_does_anything_else_than_parse_or_be_refused(text: str) -> None:
    said = _refusal(text)
    assert said == "" or said.startswith("line ")


@given(st.integers(0, len(SUM)), st.text(max_size=6))
def test_a_damaged_program_parses_or_is_refused(place: int, inserted: str) -> None:
    said = _refusal(SUM[:place] + inserted + SUM[place:])
    assert said == "" or said.startswith("line ")


def test_comments_do_not_identify_a_program() -> None:
    assert without_comments("# one\n" + SUM + "\n# two\n") == without_comments(SUM)


@given(st.integers(1, 9999), st.integers(1, 999))
def test_templates_are_filled(a: int, b: int) -> None:
    sizes = {"A": a, "B": b}
    assert filled("${A} ${A*B} ${A+B} ${A-1} x", sizes) == f"{a} {a * b} {a + b} {a - 1} x"
    quotient = filled("${A/B}", sizes)
    assert float(quotient) == a / b
    assert ("." in quotient or "e" in quotient) == (a % b != 0)


def test_a_template_asks_for_dimensions_that_there_are() -> None:
    with pytest.raises(TargetError, match="NOTHING"):
        filled("${NOTHING}", {"A": 1})


def test_comments_are_no_part_of_what_rules_are_told_by() -> None:
    from kernelwright.knowledge.tokens import tokenize

    told = [(token.text, token.kind) for token in tokenize("# Product by widen\n" + SUM + "# define\n")]
    assert told == [(token.text, token.kind) for token in tokenize(SUM)]
    assert tokenize("#define A 1\n")[0].text == "#define"
