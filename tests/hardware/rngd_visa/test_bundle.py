"""Sources of one file and of several, and files that a design may not bring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernelwright.hardware.rngd.visa.bundle import MAIN, BundleError, join_bundle, split_bundle

names = st.from_regex(r"src/device/[a-z][a-z0-9_]{0,8}(/[a-z][a-z0-9_]{0,8})?\.rs", fullmatch=True)
bodies = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=60).map(lambda text: text + "\n")


@given(st.dictionaries(st.one_of(st.just(MAIN), names), bodies, min_size=1, max_size=6))
def test_files_go_in_and_come_out(files: dict[str, str]) -> None:
    try:
        text = join_bundle(files)
    except BundleError:
        assert any(line.startswith("//// file: ") for body in files.values() for line in body.splitlines())
        return
    assert split_bundle(text) == files


def test_a_text_without_marks_is_the_main_file() -> None:
    assert split_bundle("fn a() {}\n") == {MAIN: "fn a() {}\n"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("//// file: build.rs\n", "nothing else"),
        ("//// file: Cargo.toml\n", "nothing else"),
        ("//// file: tests/test_kernels.rs\n", "nothing else"),
        ("//// file: src/device/../../build.rs\n", "plain relative path"),
        ("//// file: /etc/passwd\n", "plain relative path"),
        ("//// file: src/device/.hidden.rs\n", "plain relative path"),
        ("//// file: src/device/a.sh\n", "nothing else"),
        ("//// file: src/ops.rs\na\n//// file: src/ops.rs\nb\n", "comes twice"),
        ("use x;\n//// file: src/ops.rs\n", "text before the first line"),
    ],
)
def test_what_a_design_may_not_bring(text: str, why: str) -> None:
    with pytest.raises(BundleError, match=why):
        split_bundle(text)
