"""The compiler's errors as the public notes quote them: parsed, told from crashes, and fingerprinted."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.visa.diagnostics import crashed, parse_diagnostics, readable
from kernelwright.knowledge.diagnostics import all_messages, diagnose, kind_of

SOURCE = "#[device(chip = 1)] pub fn forward(ctx: &mut Context) {}"
REAL = {
    "padding": (
        "error: furiosa-opt: ops::sliding_attention_output: visa: while lowering TensorUnit\n"
        "caused by: reduce axis should not have padding",
        "visa",
        "visa: while lowering tensorunit; caused by: reduce axis should not have padding",
    ),
    "alu": (
        "error: furiosa-opt: ops::sliding_attention_output: visa: while lowering TensorUnit\n"
        "caused by: 13 is not available for op Binary(MulF)",
        "visa",
        "visa: while lowering tensorunit; caused by: <n> is not available for op binary(mulf)",
    ),
    "indices": (
        "error: furiosa-opt: codegen::large_loop::forward: lir: CTensorAddr::Var() count must be <="
        " TENSOR_DYNAMIC_INDICIES_MAX, got 1187",
        "lir",
        "lir: ctensoraddr::var() count must be <= tensor_dynamic_indicies_max, got <n>",
    ),
    "overflow": (
        "error: furiosa-opt: codegen::empty_loop::forward: visa: internal compiler error: attempt to subtract with overflow",
        "visa",
        "visa: internal compiler error: attempt to subtract with overflow",
    ),
    "slots": (
        "error: furiosa-opt: ops::decoder_feedforward: mir: this node needs more slots than a VE pass has",
        "mir",
        "mir: this node needs more slots than a ve pass has",
    ),
    "unread": (
        "error: furiosa-opt: ops::sliding_project_qkv: visa: Fetch: a live input axis is left unread",
        "visa",
        "visa: fetch: a live input axis is left unread",
    ),
}


@pytest.mark.parametrize("name", sorted(REAL))
def test_real_messages(name: str) -> None:
    text, stage, normal = REAL[name]
    output = (
        f"   Compiling kernels v0.1.0\n{text}\n  --> src/ops.rs:12:5\n    Finished furiosa-opt compiled 0 kernels\n"
    )
    (found,) = parse_diagnostics(output)
    assert found.stage == stage
    assert "::" in found.kernel
    assert found.place == "src/ops.rs:12:5"
    assert found.crash == crashed(output) == (name == "overflow")
    kind = kind_of(Outcome.BUILD_CRASHED if found.crash else Outcome.BUILD_FAILED, output)
    assert kind == ("compiler-crash" if found.crash else "compile-error")
    assert diagnose(kind, output, SOURCE)[0] == normal
    assert all_messages(kind, output, SOURCE) == (normal,)


def test_fingerprints_tell_causes_apart_and_not_kernels_or_numbers() -> None:
    prints = {name: diagnose("compile-error", text, SOURCE)[1] for name, (text, _, _) in REAL.items()}
    assert len(set(prints.values())) == len(prints)
    other = REAL["alu"][0].replace("sliding_attention_output", "decoder_feedforward").replace("13", "6")
    assert diagnose("compile-error", other, SOURCE)[1] == prints["alu"]


def test_chains_of_causes() -> None:
    (found,) = parse_diagnostics(
        "error: furiosa-opt: a::b: visa: while lowering Dma\ncaused by:\n    0: merge failed\n    1: strides differ\n\nnote: x"
    )
    assert found.causes == ("merge failed", "strides differ")
    assert found.headline == "visa: while lowering Dma; caused by: merge failed; caused by: strides differ"


def test_json_messages_are_read_as_text_and_summaries_are_no_errors() -> None:
    rendered = "error: furiosa-opt: ops::f: mir: this node needs more slots than a VE pass has\n  --> src/ops.rs:3:1\n"
    lines = [
        json.dumps({"reason": "compiler-artifact", "target": {"name": "kernels"}}),
        json.dumps({"reason": "compiler-message", "message": {"level": "error", "message": "m", "rendered": rendered}}),
        json.dumps({"$message_type": "diagnostic", "level": "warning", "message": "unused", "rendered": None}),
        "{ this is no JSON",
        "error: could not compile `kernels` (lib) due to 1 previous error",
        "\x1b[1m\x1b[91merror\x1b[0m: a rustc error",
    ]
    found = parse_diagnostics("\n".join(lines))
    assert [each.headline for each in found] == [
        "mir: this node needs more slots than a VE pass has",
        "a rustc error",
    ]
    assert "compiler-artifact" not in readable("\n".join(lines))


def test_a_panic_of_the_driver_is_a_crash() -> None:
    said = "thread 'rustc' (12) panicked at src/lower.rs:9:1:\nindex out of bounds\nerror: the compiler unexpectedly panicked"
    assert crashed(said)


words = st.text(st.characters(categories=("L", "N"), include_characters=" _()"), min_size=1, max_size=30).map(str.strip)
messages = words.filter(bool)


@given(messages, st.lists(messages, max_size=4), st.sampled_from(("mir", "visa", "lir")), st.booleans())
def test_what_is_printed_is_parsed(message: str, causes: list[str], stage: str, rendered: bool) -> None:
    lines = [f"error: furiosa-opt: ops::kernel: {stage}: {message}", *(f"caused by: {cause}" for cause in causes)]
    text = "\n".join(lines)
    if rendered:
        text = json.dumps({"reason": "compiler-message", "message": {"level": "error", "rendered": text}})
    (found,) = [each for each in parse_diagnostics(text) if each.stage]
    assert (found.kernel, found.stage, found.message, found.causes) == ("ops::kernel", stage, message, tuple(causes))


@given(st.text())
def test_any_output_is_read(text: str) -> None:
    parse_diagnostics(text)
    all_messages("compile-error", text, SOURCE)
