"""What is in a built artifact, as instructions: by the disassembler that comes with the assembler, where there is one."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 20.0
"""Wall-clock limit of one disassembly."""
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
_JUMP = re.compile(r"^(?:j[a-z]+|b(?:\.[a-z]+)?|cbn?z|tbn?z|loop)$")
_TARGET = re.compile(r"(?:0x)?([0-9a-f]+)(?:\s|$)")


@dataclass(frozen=True)
class Instruction:
    """One instruction: address, mnemonic, operands as text."""

    address: int
    mnemonic: str
    operands: str

    @property
    def target(self) -> int | None:
        """Where a jump within the code goes, None for anything else."""
        if not _JUMP.match(self.mnemonic):
            return None
        found = _TARGET.search(self.operands.rpartition(",")[2].strip())
        return int(found.group(1), 16) if found else None


def disassemble(artifact: bytes) -> tuple[Instruction, ...]:
    """The instructions of an artifact's code; none where there is no disassembler, or it cannot read the artifact."""
    program = shutil.which("objdump") or shutil.which("llvm-objdump")
    if program is None:
        return ()
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(artifact)
        file.flush()
        command = [program, "-d", "--no-show-raw-insn", "-j", ".text", str(Path(file.name))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:  # as good as none: what rests on it then has nothing to rest on
            return ()
    if done.returncode != 0:
        return ()
    return tuple(
        Instruction(int(match.group(1), 16), match.group(2), match.group(3).partition("#")[0].strip())
        for match in map(_LINE.match, done.stdout.splitlines())
        if match
    )


def innermost_loops(code: Sequence[Instruction]) -> list[tuple[Instruction, ...]]:
    """The bodies of the loops that hold no other loop: what lies between a jump backwards and where it goes."""
    spans = []
    addresses = {instruction.address: index for index, instruction in enumerate(code)}
    for index, instruction in enumerate(code):
        target = instruction.target
        if target is not None and target <= instruction.address and target in addresses:
            spans.append((addresses[target], index))
    inner = [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
    return [tuple(code[first : last + 1]) for first, last in sorted(set(inner))]
