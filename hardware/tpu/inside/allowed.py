"""What a candidate's source may name, decided from its syntax tree alone: used outside to review it, and inside again.

A module is only ever the base of an attribute, so that no other name can stand for it; of each module a source may use
what the tables say. No attribute begins with an underscore, none leads out of the arrays (to files, to foreign code), and
none is set. What is left is arithmetic, and the calls that make kernels.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

MODULES = (
    "jax",
    "jax.numpy",
    "jax.lax",
    "jax.nn",
    "jax.experimental",
    "jax.experimental.pallas",
    "jax.experimental.pallas.tpu",
    "numpy",
    "math",
    "functools",
    "itertools",
)
"""Modules that a source may name, whether by importing them or as attributes of one that it imported."""
ONLY: Mapping[str, frozenset[str]] = {
    "jax": frozenset(
        {"Array", "ShapeDtypeStruct", "jit", "vmap", "named_call", "typeof", "eval_shape"}
    ),
    "jax.experimental": frozenset(),
    "functools": frozenset({"partial", "reduce"}),
    "numpy": frozenset(
        {
            "abs", "all", "any", "arange", "array", "asarray", "bool_", "broadcast_to", "ceil", "concatenate", "copy",
            "cos", "cumsum", "dtype", "e", "empty", "empty_like", "exp", "eye", "finfo", "flip", "float16", "float32",
            "float64", "floor", "full", "full_like", "iinfo", "inf", "int16", "int32", "int64", "int8", "issubdtype",
            "linspace", "log", "log2", "max", "maximum", "mean", "min", "minimum", "mod", "moveaxis", "nan", "ndarray",
            "newaxis", "ones", "ones_like", "outer", "pad", "pi", "prod", "ravel", "repeat", "reshape", "roll", "round",
            "sign", "sin", "size", "sqrt", "stack", "sum", "tanh", "tile", "transpose", "uint16", "uint32", "uint64",
            "uint8", "where", "zeros", "zeros_like",
        }
    ),
}  # fmt: skip
"""All that may be used of a module; a module that is not here is limited by :data:`NEVER` alone."""
NEVER: Mapping[str, str] = {
    **dict.fromkeys(
        ("load", "save", "savez", "fromfile", "tofile", "dump", "dumps", "loads", "from_dlpack", "memmap"),
        "reads or writes files or foreign memory",
    ),
    **dict.fromkeys(
        ("pure_callback", "io_callback", "debug_callback", "debug_print", "debug_check", "debug", "delay"),
        "calls back to the host, prints or waits",
    ),
    **dict.fromkeys(
        (
            "InterpretParams", "force_tpu_interpret_mode", "set_tpu_interpret_mode", "reset_tpu_interpret_mode_state",
            "enable_debug_checks", "config", "lower_as_mlir", "register_kernel_type",
        ),
        "changes how kernels are interpreted or compiled",
    ),
    **dict.fromkeys(
        ("prng_seed", "prng_random_bits", "stateful_uniform", "stateful_bits", "stateful_normal", "random", "rng_uniform",
         "rng_bit_generator", "sample_block"),
        "random state",
    ),
    **dict.fromkeys(
        ("make_async_remote_copy", "async_remote_copy", "infeed", "outfeed", "DeviceIdType", "get_barrier_semaphore"),
        "another device",
    ),
    **dict.fromkeys(
        ("ctypes", "tobytes", "data_ptr", "unsafe_buffer_pointer", "addressable_data", "devices", "device_put",
         "delete", "os", "sys", "builtins", "importlib", "subprocess", "modules", "gc", "inspect", "named_scope",
         "f_globals", "f_back", "tb_frame", "gi_frame", "cr_frame", "trace", "capture_stdout"),
        "leads out of the kernel",
    ),
}  # fmt: skip
"""Attributes that nothing in a source may name, and why."""
BUILTINS = (
    "abs", "all", "any", "bool", "bytes", "callable", "complex", "dict", "divmod", "enumerate", "filter", "float",
    "frozenset", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "pow",
    "property", "range", "reversed", "round", "set", "slice", "sorted", "staticmethod", "str", "sum", "tuple", "type",
    "zip", "super", "classmethod", "None", "True", "False", "Ellipsis", "NotImplemented", "ArithmeticError",
    "AssertionError", "Exception", "IndexError", "KeyError", "NotImplementedError", "OverflowError", "RuntimeError",
    "StopIteration", "TypeError", "ValueError", "ZeroDivisionError",
)  # fmt: skip
"""The built-in names that a source finds."""


@dataclass(frozen=True)
class Violation:
    """A rule that a source breaks, why that is one, and the line."""

    rule: str
    reason: str
    line: int


@dataclass(frozen=True)
class Use:
    """A name of a module that a source uses: ``jax.numpy`` and ``dot``, say."""

    module: str
    name: str
    line: int


def _imports(tree: ast.Module) -> tuple[dict[str, str], dict[str, Use], Violation | None]:
    """Names that stand for modules, names imported from modules, and the first import that is not allowed."""
    aliases: dict[str, str] = {}
    names: dict[str, Use] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name not in MODULES:
                    return aliases, names, Violation("allowed-imports", f"import of {alias.name!r}", node.lineno)
                aliases[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module == "__future__":
                continue
            if node.level or module not in MODULES:
                return aliases, names, Violation("allowed-imports", f"import from {module or '.'!r}", node.lineno)
            for alias in node.names:
                whole = f"{module}.{alias.name}"
                if alias.name == "*":
                    return aliases, names, Violation("allowed-imports", f"everything of {module!r}", node.lineno)
                if whole in MODULES:
                    aliases[alias.asname or alias.name] = whole
                else:
                    names[alias.asname or alias.name] = Use(module, alias.name, node.lineno)
    return aliases, names, None


def _refused(use: Use) -> str:
    """Why a name of a module may not be used; empty when it may."""
    if use.name.startswith("_"):
        return "a private name"
    if use.name in NEVER:
        return NEVER[use.name]
    only = ONLY.get(use.module)
    return "" if only is None or use.name in only else f"not among what may be used of {use.module}"


class _Walker(ast.NodeVisitor):
    """Finds every use of a module, and what no source may do."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self.aliases = aliases
        self.uses: list[Use] = []
        self.found: list[Violation] = []

    def _module(self, node: ast.expr) -> str:
        """The module that an expression is; empty when it is none."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, "")
        if isinstance(node, ast.Attribute):
            base = self._module(node.value)
            whole = f"{base}.{node.attr}"
            return whole if base and whole in MODULES else ""
        return ""

    def visit_Attribute(self, node: ast.Attribute) -> None:  # the name is ast's
        if node.attr.startswith("_"):
            self.found.append(Violation("no-private-names", f"attribute {node.attr!r}", node.lineno))
        elif node.attr in NEVER:
            self.found.append(Violation("no-way-out", f"{node.attr!r} {NEVER[node.attr]}", node.lineno))
        elif not isinstance(node.ctx, ast.Load):
            self.found.append(Violation("no-attribute-is-set", f"attribute {node.attr!r} is set", node.lineno))
        base = self._module(node.value)
        if base and f"{base}.{node.attr}" not in MODULES:
            self.uses.append(Use(base, node.attr, node.lineno))
        if base:
            if isinstance(node.value, ast.Attribute):
                self._inner(node.value)
            return
        self.generic_visit(node)

    def _inner(self, node: ast.expr) -> None:
        """Attributes between a module and the name used of it."""
        while isinstance(node, ast.Attribute):
            if node.attr.startswith("_"):
                self.found.append(Violation("no-private-names", f"attribute {node.attr!r}", node.lineno))
            node = node.value

    def visit_Name(self, node: ast.Name) -> None:  # the name is ast's
        if node.id in self.aliases:
            what = "is bound anew" if not isinstance(node.ctx, ast.Load) else "is used as a value"
            self.found.append(Violation("modules-are-not-values", f"the module {node.id!r} {what}", node.lineno))
        elif node.id.startswith("__"):
            self.found.append(Violation("no-private-names", f"name {node.id!r}", node.lineno))

    def visit_Global(self, node: ast.Global) -> None:  # the name is ast's
        self.found.append(Violation("no-state", "global", node.lineno))

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:  # the name is ast's
        self.found.append(Violation("no-state", "nonlocal", node.lineno))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:  # the name is ast's
        self.found.append(Violation("plain-python", "an async function", node.lineno))

    def visit_Constant(self, node: ast.Constant) -> None:  # the name is ast's
        if isinstance(node.value, str) and ("__" in node.value or "*/" in node.value):
            self.found.append(Violation("plain-text", "a text with '__' or '*/'", node.lineno))

    def _parameters(self, arguments: ast.arguments) -> None:
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if each.arg in self.aliases:
                self.found.append(Violation("modules-are-not-values", f"{each.arg!r} is bound anew", each.lineno))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:  # the name is ast's
        self._parameters(node.args)
        body = list(node.body)
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]  # a docstring is no text that goes anywhere
        for part in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d), *body):
            self.visit(part)

    def visit_Lambda(self, node: ast.Lambda) -> None:  # the name is ast's
        self._parameters(node.args)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:  # the name is ast's
        if node.arg == "interpret":
            self.found.append(Violation("no-interpret", "interpret= is the target's", node.value.lineno))
        elif node.arg in ("debug", "name", "metadata") and not _harmless(node):
            self.found.append(Violation("plain-text", f"{node.arg}= that is no plain name", node.value.lineno))
        self.generic_visit(node)


def _harmless(node: ast.keyword) -> bool:
    """A name that is an identifier: it goes into the compiler's dump as it is."""
    value = node.value
    return node.arg == "name" and isinstance(value, ast.Constant) and str(value.value).isidentifier()


def uses(source: str) -> tuple[list[Use], Violation | None]:
    """Every name of a module that a source uses, and the first rule that it breaks (in the order of its lines)."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], None  # the compiler says it better
    aliases, names, wrong = _imports(tree)
    if wrong is not None:
        return [], wrong
    walker = _Walker(aliases)
    try:
        body = tree.body
        docstring = body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
        for node in body[1:] if docstring else body:
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                walker.visit(node)
    except RecursionError:
        return [], Violation("plain-python", "nested too deeply", 1)
    found = list(walker.found)
    every = [*names.values(), *walker.uses]
    for use in every:
        why = _refused(use)
        if why:
            found.append(Violation("allowed-names", f"{use.module}.{use.name}: {why}", use.line))
    return every, min(found, key=lambda each: each.line) if found else None
