"""Hostile sources: each tries one way out, and is stopped by the review, by its confined process, or by what is compared."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from kernelwright.hardware.outcome import Outcome
from kernelwright.hardware.target import Build
from kernelwright.hardware.tpu import TpuTarget
from kernelwright.hardware.tpu.build import request
from kernelwright.hardware.tpu.workshop import Workshop

from .designs import DOUBLE, HEAD, scale_spec

VETOED = {
    "imports the system": ("import os\n" + DOUBLE, "allowed-imports"),
    "imports in a function": (DOUBLE + "\ndef f():\n    from socket import socket\n", "allowed-imports"),
    "imports by call": (DOUBLE + "\nx = __import__('os')\n", "no-private-names"),
    "reads a private name": (DOUBLE + "\nx = pl.pallas_call.__globals__\n", "no-private-names"),
    "reads a private name of a value": (DOUBLE + "\nx = (1).__class__\n", "no-private-names"),
    "exchanges a function of jax": (DOUBLE + "\njnp.sum = jnp.max\n", "no-attribute-is-set"),
    "exchanges a function of numpy": ("import numpy as np\n" + DOUBLE + "\nnp.sum = np.max\n", "no-attribute-is-set"),
    "gives a module another name": (DOUBLE + "\nother = jax\n", "modules-are-not-values"),
    "hands a module on": (DOUBLE + "\ndef f(m):\n    return m\nf(jnp)\n", "modules-are-not-values"),
    "binds a module's name": (DOUBLE + "\nfor jax in (1,):\n    pass\n", "modules-are-not-values"),
    "calls back to the host": (
        DOUBLE.replace("x[...] *", "jax.pure_callback(lambda v: v, x[...], x[...]) *"),
        "no-way-out",
    ),
    "prints": (DOUBLE.replace("    y[...] = ", "    pl.debug_print('x')\n    y[...] = "), "no-way-out"),
    "reads files by numpy": ("import numpy as np\n" + DOUBLE + "\nx = np.fromfile('/etc/passwd')\n", "no-way-out"),
    "reads files by jax": (DOUBLE + "\nx = jnp.load('/etc/passwd')\n", "no-way-out"),
    "asks for interpreting": (DOUBLE.replace("grid=", "interpret=True, grid="), "no-interpret"),
    "sets how all kernels are interpreted": (DOUBLE + "\npltpu.set_tpu_interpret_mode()\n", "no-way-out"),
    "configures jax": (DOUBLE + "\njax.config.update('jax_enable_x64', True)\n", "no-way-out"),
    "keeps state": (DOUBLE + "\ndef f():\n    global kernel\n", "no-state"),
    "ends a comment of the dump": (DOUBLE.replace("grid=", "name='a */ b', grid="), "plain-text"),
    "names scopes": (
        DOUBLE.replace("    y[...] = ", "    with jax.named_scope('a'):\n        pass\n    y[...] = "),
        "no-way-out",
    ),
    "uses no kernel": (HEAD + "def scale(x, w):\n    return x * w\n", "pallas-call"),
}


@pytest.mark.parametrize("name", VETOED)
def test_the_review_names_the_rule(name: str) -> None:
    source, rule = VETOED[name]
    report = TpuTarget().review(scale_spec(), source)
    assert report.outcome is Outcome.VETOED
    assert report.details["rule"] == rule, report.reason


def test_a_design_that_keeps_to_the_contract_passes() -> None:
    assert TpuTarget().review(scale_spec(), DOUBLE).ok


@pytest.mark.parametrize("name", [n for n, (_, rule) in VETOED.items() if rule != "pallas-call"])
def test_the_review_stands_inside_too(target: TpuTarget, name: str) -> None:
    source, _ = VETOED[name]
    assert target.build(scale_spec(), source).outcome is Outcome.VETOED


def _build(target: TpuTarget, source: str) -> Build:
    target.shop.lower_seconds = 12.0
    return target.build(scale_spec(), source)


def test_an_endless_loop_ends_with_its_time(target: TpuTarget) -> None:
    target.shop.lower_seconds = 4.0
    made = target.build(scale_spec(), DOUBLE + "\nwhile True:\n    pass\n")
    target.shop.lower_seconds = 60.0
    assert made.outcome is Outcome.BUILD_HUNG


def test_a_hundred_gibibytes_are_not_to_be_had(target: TpuTarget) -> None:
    made = _build(target, DOUBLE + "\nx = [0] * (100 << 27)\n")
    assert made.outcome is Outcome.OUT_OF_MEMORY


def test_matrix_products_belong_into_kernels(target: TpuTarget) -> None:
    made = _build(target, DOUBLE.replace("w.reshape(1, COLUMNS))", "w.reshape(1, COLUMNS)) @ jnp.eye(COLUMNS)"))
    assert made.outcome is Outcome.VETOED
    assert "dot_general" in made.diagnostics


def test_a_kernel_beside_the_work_is_not_enough(target: TpuTarget) -> None:
    """A kernel that is called and whose result is not used leaves no kernel in the program."""
    source = DOUBLE.replace("    return pl.pallas_call(", "    unused = pl.pallas_call(") + "    return x * w\n"
    made = _build(target, source)
    assert made.outcome is Outcome.VETOED
    assert "no kernel" in made.diagnostics


ESCAPES = {
    "opens a file": "open('/etc/passwd').read()",
    "writes a file": "open('/tmp/kernelwright-was-here', 'w').write('x')",
    "lists the spool": "print(__import__('os').listdir('/spool'))",
    "opens a socket": "__import__('socket').socket()",
    "forks": "__import__('os').fork()",
    "starts a program": "__import__('os').execv('/bin/sh', ['sh'])",
    "starts a program by subprocess": "__import__('subprocess').run(['/bin/true'])",
    "signals the fork server": "__import__('os').kill(__import__('os').getppid(), 9)",
    "reads the fork server's memory": "open('/proc/%d/mem' % __import__('os').getppid(), 'r+b')",
    "reads the fork server's descriptors": "__import__('os').listdir('/proc/%d/fd' % __import__('os').getppid())",
    "ends without a word": "__import__('os')._exit(0)",
    "crashes": "__import__('ctypes').string_at(0)",
    "pretends to answer": "[__import__('os').write(d, b'\\0' * 64) for d in range(3, 12)]",
    "dumps for the compiler": "open('/dump/1-TLP-00-final_bundles.txt', 'w').write('x')",
}
"""What a source could do if it got past the review and around the built-in names."""
UNGUARDED = (
    "import builtins, sys; sys.path.insert(0, sys.argv[1]); from inside import candidate, zygote;"
    " candidate._check_names = lambda source: None; candidate._guarded = lambda: vars(builtins);"
    " zygote.main(*sys.argv[2:])"
)
"""The fork server without its review and with every built-in name."""


@pytest.fixture(scope="module")
def naked(target: TpuTarget, tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """A workshop whose fork server runs sources unreviewed with all of Python: what is left are the walls themselves."""
    made = Workshop(target.found, target.chip, target.jail, tmp_path_factory.mktemp("naked"))
    made.zygote.program = UNGUARDED
    return made


@pytest.mark.parametrize("name", ESCAPES)
def test_the_walls_hold_without_the_review(naked: Workshop, name: str) -> None:
    spec = scale_spec()
    source = DOUBLE + f"\n{ESCAPES[name]}\n"
    answer = naked.ask_candidate(request(spec, source, naked.chip, "lower", 20.0))
    # Reading what the jail shows anyway is no escape; then the design itself goes on.
    if name not in ("opens a file", "lists the spool"):
        assert answer.outcome is not Outcome.OK, answer.text
    after = naked.ask_candidate(request(spec, DOUBLE, naked.chip, "lower", 20.0))
    assert after.outcome is Outcome.OK, "the next candidate is not touched by it"
    assert naked.zygote.starts <= 2, "the fork server survived (it is replaced when it does not)"
    assert not Path("/tmp/kernelwright-was-here").exists()


def test_what_a_candidate_does_to_jax_ends_with_it(naked: Workshop) -> None:
    spec = scale_spec()
    clean = naked.ask_candidate(request(spec, DOUBLE, naked.chip, "lower", 20.0))
    patched = DOUBLE + "\nimport jax._src.numpy.lax_numpy as inner\njnp.multiply = inner.add\njax.jit = None\n"
    naked.ask_candidate(request(spec, patched, naked.chip, "lower", 20.0))
    again = naked.ask_candidate(request(spec, DOUBLE, naked.chip, "lower", 20.0))
    assert clean.outcome is again.outcome is Outcome.OK
    assert clean.frames[-1][1] == again.frames[-1][1]


def test_sleeping_costs_the_candidate_its_time_alone(naked: Workshop) -> None:
    spec = scale_spec()
    start = time.monotonic()
    answer = naked.ask_candidate(request(spec, DOUBLE + "\n__import__('time').sleep(600)\n", naked.chip, "lower", 2.0))
    assert answer.outcome is Outcome.HUNG
    assert time.monotonic() - start < 300


def test_no_network_in_the_jail(naked: Workshop) -> None:
    """Even a socket that the filter would allow leads nowhere: the jail's network is empty."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = DOUBLE + f"\n__import__('socket').create_connection(('127.0.0.1', {port}))\n"
        answer = naked.ask_candidate(request(scale_spec(), source, naked.chip, "lower", 20.0))
        assert answer.outcome is not Outcome.OK
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()
