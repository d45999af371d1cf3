"""Checks the arrows between folders: each may import only what is built before it, and always relatively."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ALLOWED: dict[str, set[str]] = {
    "kernels": set(),
    "acceptance": set(),
    "events": {"kernels", "acceptance", ""},
    "hardware": {"kernels"},
    "knowledge": {"events", "hardware", "kernels", "acceptance"},
    "agents": {"kernels", "knowledge", "events", "hardware", "acceptance"},
    "graph": {"kernels", "acceptance", "events", "hardware", "knowledge", "agents"},
    "cli": {"kernels", "acceptance", "events", "hardware", "knowledge", "agents", "graph", "config", "defaults", ""},
    "web": {"kernels", "acceptance", "events", "hardware", "knowledge", "agents", "graph", "config", "defaults", ""},
}
"""For each folder the others that it may import from; "" is the root package itself."""
TOP_MODULES: dict[str, set[str]] = {"config": {"acceptance", "agents", "defaults"}, "defaults": set()}
TOP = Path(__file__).resolve().parent.parent


def imported_folders(path: Path, depth: int) -> list[tuple[int, str]]:
    """(line, folder) of each import that leaves the folder of ``path``, which lies ``depth`` folders below the top."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level > depth:
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            found.extend((node.lineno, name if name in ALLOWED or name in TOP_MODULES else "") for name in names)
    return found


def absolute_imports(path: Path) -> list[tuple[int, str]]:
    """(line, name) of each import that would make a second copy of our own modules."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.extend(
                (node.lineno, a.name) for a in node.names if a.name.split(".")[0] in {*ALLOWED, "kernelwright"}
            )
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            name = node.module or ""
            if name.split(".")[0] in {*ALLOWED, "kernelwright"}:
                found.append((node.lineno, name))
    return found


def violations() -> list[str]:
    """Everything that breaks a rule, as lines for a person."""
    problems = []
    for folder, allowed in {**ALLOWED, **TOP_MODULES}.items():
        root = TOP / folder
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [TOP / f"{folder}.py"]:
            if not path.is_file():
                continue
            where = path.relative_to(TOP)
            depth = len(where.parts) - 1
            for line, name in imported_folders(path, depth):
                if name not in allowed and name != folder:
                    problems.append(f"{where}:{line}: {folder}/ may not import {name or 'the root package'}")
            for line, name in absolute_imports(path):
                problems.append(f"{where}:{line}: import {name} relatively, or there will be two copies of it")
    return problems


if __name__ == "__main__":
    found = violations()
    sys.stdout.writelines(f"{problem}\n" for problem in found)
    sys.exit(bool(found))
