"""The screen of Rust sources before any compiler."""

from __future__ import annotations

import pytest
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.rngd.visa.review import review
from support.rngd.workshop import design, spec

from .conftest import Make


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('#[link_section = ".init_array"] static X: fn() = f;', "no-load-time-code"),
        ("#[unsafe(no_mangle)] fn malloc() {}", "no-foreign-symbols"),
        ('extern "C" { fn system(); }', "no-foreign-symbols"),
        ('const S: &str = include_str!("/etc/passwd");', "no-build-machine"),
        ('const P: &str = env ! ("HOME");', "no-build-machine"),
        ("use std::process::Command;", "no-host-calls"),
        ("use std :: fs;", "no-host-calls"),
        ("use std::{cmp::min, process};", "no-host-calls"),
        ("use ::std::*;", "no-host-calls"),
        ("use std as s;", "no-host-calls"),
        ("extern crate std as s;", "no-host-calls"),
        ("extern crate libc;", "no-host-calls"),
        ("use core::{include_str as text};", "no-build-machine"),
        ('#[path = "/etc/passwd"] mod leak;', "no-build-machine"),
        ('#[cfg_attr(all(), path = "/etc/passwd")] mod leak;', "no-build-machine"),
        ('const A: &str = "//"; use std::process::Command;', "no-host-calls"),
        ("const B: char = '\"'; use std::fs; const C: char = '\"';", "no-host-calls"),
        ('const D: &str = r#"/*"#; use std::net; // */', "no-host-calls"),
        ("/* /* */ use std::thread; */", "no-host-calls"),
        ('fn f() { println!("    cycles=1"); }', "no-own-output"),
    ],
)
def test_refused(text: str, rule: str) -> None:
    report = review(spec(), "ops", design() + text)
    assert report.outcome is Outcome.VETOED
    assert report.reason.startswith(f"{rule}: src/ops.rs, near line 3")
    if "/*" not in text:
        assert review(spec(), "ops", f"{design()}// {text}\n").ok
    parts = f"//// file: src/ops.rs\n{design()}//// file: src/device/a.rs\n{text}\n"
    assert "src/device/a.rs, near line 1" in review(spec(), "ops", parts).reason


def test_the_entry_must_be_there(make: Make) -> None:
    assert "has no function double" in review(spec(), "ops", "#[device(chip = 1)] pub fn triple() {}").reason
    assert "no #[device] function" in review(spec(), "ops", "pub fn double() {}").reason
    assert "source-files" in review(spec(), "ops", "//// file: build.rs\n").reason
    target = make()
    assert target.review(spec(), target.baseline(spec())).ok
    assert "ops::double" in target.contract(spec())


def test_what_device_code_says_is_let_through() -> None:
    text = """#![feature(adt_const_params)]
extern crate furiosa_opt_std;
use furiosa_opt_std::prelude::*;
use std::ops::Range;
axes![A = 8, B = 512];
#[device(chip = 1)]
pub fn double(device: &mut Device, x: &HbmTensor<bf16, m![1], m![A, B]>) -> HbmTensor<bf16, m![1], m![A, B]> {
    let y = unsafe { x.view().reshape() };
    parts::environment(device, y)
}
"""
    report = review(spec(), "ops", text)
    assert report.ok, report.reason
